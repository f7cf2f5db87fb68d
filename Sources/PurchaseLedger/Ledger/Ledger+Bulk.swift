import GRDB

extension Ledger {
  /// Gives the writer room for all pages that a large commit changes, so that none of them is written twice.
  func beginBulk() throws {
    try LedgerDatabase.reporting(path) {
      try pool.writeWithoutTransaction { try LedgerDatabase.setCache($0, isBulk: true) }
    }
  }

  /// Gives the room back, and writes the log into the file as far as nobody is in the way: from there look-ups read in place.
  func endBulk() {
    // What was committed is durable without either.
    try? pool.writeWithoutTransaction { db in
      try LedgerDatabase.setCache(db, isBulk: false)
      db.releaseMemory()
      _ = try db.checkpoint(.passive)
    }
  }
}
