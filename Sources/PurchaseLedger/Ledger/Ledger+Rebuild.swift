import GRDB

extension Ledger {
  /// Makes the projections anew from the events, and every index from its table, in one transaction; they come out byte for byte as they were.
  ///
  /// - Throws: `LedgerError` with code `damaged` naming an event that cannot be read; nothing is changed then.
  public func rebuild(progress: (Int, Int) -> Void = { _, _ in }) throws {
    try LedgerDatabase.reporting(path) {
      try pool.write { db in
        for table in ["evidence_prefix", "evidence", "event", "credential", "session"] {
          try db.execute(sql: "REINDEX \(table)")
        }
        let replay = try EventReplay(db, path: path)
        for (table, _) in LedgerSchema.projections { try db.execute(sql: "DELETE FROM \(table)") }
        let projections = try Projections(db, policy: try replay.finalPolicy())
        try replay.run(into: projections, progress: progress) { try LedgerEvent($0, in: path) }
      }
    }
  }
}
