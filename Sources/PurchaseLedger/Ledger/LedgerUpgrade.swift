import GRDB

/// Brings the file of an older version into the present form, within the transaction of its migration.
enum LedgerUpgrade {
  /// 1. Of evidence that no event names nobody can say any more whether it was booked or only pulled: it is booked as if new when it is presented again.
  /// 2. The snapshot's digests cover more fields.
  /// 3. The projections have other columns, and are folded anew.
  static func fromFirstVersion(_ db: Database, path: String) throws {
    try db.execute(
      sql: """
        UPDATE evidence SET outcome = 4
        WHERE outcome = 1 AND sha256 NOT IN (SELECT evidence FROM event WHERE evidence IS NOT NULL);
        """)
    try digestSnapshot(db)
    for (table, _) in LedgerSchema.projections { try db.execute(sql: "DROP TABLE \(table)") }
    try LedgerSchema.createProjections(db)
    let replay = try EventReplay(db, path: path)
    let projections = try Projections(db, policy: replay.finalPolicy())
    try replay.run(into: projections, progress: { _, _ in }, event: { try LedgerEvent($0, in: path) })
    try db.execute(sql: "PRAGMA user_version = \(LedgerSchema.version)")
  }

  /// Who asked is not known of what waits already: all count as first questions of messages.
  static func rankLookUps(_ db: Database) throws {
    try db.execute(
      sql: """
        ALTER TABLE lookup ADD COLUMN rank INTEGER NOT NULL DEFAULT 0;
        \(LedgerSchema.lookupIndex);
        UPDATE lookup SET rank = CASE WHEN EXISTS (
          SELECT 1 FROM store_transaction AS t
          WHERE (t.store, t.environment, t.transaction_id) = (lookup.store, lookup.environment, lookup.transaction_id)
        ) THEN 1 ELSE 1001 END;
        """)
  }

  private static func digestSnapshot(_ db: Database) throws {
    let select = try SQLStatement(
      db,
      """
      SELECT store, environment, transaction_id, fact, evidence FROM store_snapshot
      WHERE (store, environment, transaction_id) > (?, ?, ?) ORDER BY store, environment, transaction_id LIMIT 4096
      """)
    let update = try SQLStatement(
      db, "UPDATE store_snapshot SET digest = ? WHERE store = ? AND environment = ? AND transaction_id = ?")
    var last: RowKey? = RowKey(store: 0, environment: 0, id: "")
    while let from = last {
      select.bind(1, from)
      let page = try select.all { row in
        (
          RowKey(
            store: UInt8(truncatingIfNeeded: row.int(0)), environment: UInt8(truncatingIfNeeded: row.int(1)),
            id: row.text(2)), try? SnapshotFacts(bodies: row.blob(3), digests: row.blob(4))
        )
      }
      for (key, facts) in page {
        guard let facts else { continue }
        update.bind(1, facts.row.digest)
        update.bind(2, key)
        try update.run()
      }
      last = page.last?.0
    }
  }
}
