import Support

/// Migrates files of older versions, each step in one transaction.
enum LedgerUpgrade {
  /// Brings an open file into the form of this version. Several processes may do so at the same time.
  ///
  /// - Parameter path: The ledger's file, for messages.
  static func migrate(_ db: SQLiteConnection, path: String) throws {
    // Looked at without a lock first: a file of this version is not written.
    while try LedgerSchema.version(of: db) < LedgerSchema.version {
      try db.transaction(.immediate) {
        switch try LedgerSchema.version(of: db) {
        case ..<2: try fromFirstVersion(db)
        case 2: try fromSecondVersion(db, path: path)
        default: break
        }
      }
    }
    if try hasMigrationTable(db) {
      try db.transaction(.immediate) { try db.execute("DROP TABLE IF EXISTS \(migrationTable)") }
    }
  }

  /// A table that lists migrations, in files that were written before the version in the file's header took its place.
  static let migrationTable = "grdb_migrations"

  private static func hasMigrationTable(_ db: SQLiteConnection) throws -> Bool {
    try db.prepare("SELECT 1 FROM sqlite_schema WHERE type = 'table' AND name = '\(migrationTable)'").first { _ in true
    }
      ?? false
  }

  /// Marks evidence that no event names as pulled: version 1 does not tell whether it was recorded, so it is recorded
  /// as new when it is presented again. The rest is the same as in version 2.
  static func fromFirstVersion(_ db: SQLiteConnection) throws {
    try db.execute(
      """
      UPDATE evidence SET outcome = 4
      WHERE outcome = 1 AND sha256 NOT IN (SELECT evidence FROM event WHERE evidence IS NOT NULL);
      PRAGMA user_version = 2
      """)
  }

  /// 1. Evidence gets the number of the first event recorded from it. Evidence without such an event is recorded as new
  ///    when it is presented again; so is evidence of which `reconcile --apply` may have recorded only a part: a
  ///    notification without its own event, and every receipt if anything was ever applied.
  /// 2. File names of imports are removed, because they may contain personal data.
  /// 3. Quarantined evidence gets the transactions that its event names.
  /// 4. Projections and the snapshot's digests are recomputed: version 2 kept the greater value of a field regardless
  ///    of its date, and version 1's digests cover fewer fields.
  /// 5. Queries to the stores get a rank and a source.
  static func fromSecondVersion(_ db: SQLiteConnection, path: String) throws {
    try db.execute(
      """
      ALTER TABLE evidence ADD COLUMN event INTEGER;
      UPDATE evidence SET event = named.seq FROM
        (SELECT evidence AS sha256, min(seq) AS seq FROM event
          WHERE type IN \(EventType.list(EventType.vouching)) AND evidence IS NOT NULL GROUP BY evidence) AS named
      WHERE evidence.sha256 = named.sha256 AND outcome = 1;
      UPDATE evidence SET outcome = 4, event = NULL WHERE outcome = 1 AND (event IS NULL
        OR (kind = 2 AND sha256 NOT IN (SELECT evidence FROM event WHERE type = 2 AND evidence IS NOT NULL))
        OR (kind = 4 AND EXISTS (SELECT 1 FROM event WHERE type = 9)));
      UPDATE progress SET input = '', position = '' WHERE command = 'import';
      """)
    try nameQuarantined(db, path: path)
    try digestSnapshot(db)
    for (table, _) in LedgerSchema.projections { try db.execute("DROP TABLE \(table)") }
    try LedgerSchema.createProjections(db)
    let replay = try EventReplay(db, path: path)
    let projections = try Projections(db, policy: replay.finalPolicy())
    try replay.run(into: projections, progress: { _, _ in }, event: { try LedgerEvent($0, in: path) })
    try rankLookUps(db)
    try db.execute("PRAGMA user_version = \(LedgerSchema.version)")
  }

  /// Fills `quarantined_transaction` from the events of imported evidence.
  private static func nameQuarantined(_ db: SQLiteConnection, path: String) throws {
    try db.execute(LedgerSchema.quarantinedTransactions)
    let select = try db.cached(
      """
      SELECT \(LedgerEvent.columns) FROM event WHERE type = \(EventType.quarantine.rawValue)
      AND evidence IN (SELECT sha256 FROM evidence WHERE outcome = 2)
      """)
    let insert = try db.cached(EvidenceStore.insertName)
    for event in try select.all({ try LedgerEvent($0, in: path) }) {
      guard let key = event.content.transactionKey.flatMap({ RowKey($0) }) else { continue }
      insert.bind(1, key)
      insert.bind(4, event.evidence)
      try insert.run()
    }
  }

  /// Ranks queued queries as first queries of messages, because their sources are not known.
  private static func rankLookUps(_ db: SQLiteConnection) throws {
    try db.execute(
      """
      ALTER TABLE lookup ADD COLUMN rank INTEGER NOT NULL DEFAULT 0;
      ALTER TABLE lookup ADD COLUMN source INTEGER NOT NULL DEFAULT 0;
      \(LedgerSchema.lookupIndex);
      UPDATE lookup SET rank = CASE WHEN EXISTS (
        SELECT 1 FROM store_transaction AS t
        WHERE (t.store, t.environment, t.transaction_id) = (lookup.store, lookup.environment, lookup.transaction_id)
      ) THEN 1 ELSE 1001 END;
      """)
  }

  private static func digestSnapshot(_ db: SQLiteConnection) throws {
    let select = try db.cached(
      """
      SELECT store, environment, transaction_id, fact, evidence FROM store_snapshot
      WHERE (store, environment, transaction_id) > (?, ?, ?) ORDER BY store, environment, transaction_id LIMIT 4096
      """)
    let update = try db.cached(
      "UPDATE store_snapshot SET digest = ? WHERE store = ? AND environment = ? AND transaction_id = ?")
    var last: RowKey? = RowKey(store: 0, environment: 0, id: "")
    while let from = last {
      select.bind(1, from)
      let page = try select.all { row in
        (
          RowKey(row), try? SnapshotFacts(bodies: row.blob(3), digests: row.blob(4))
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
