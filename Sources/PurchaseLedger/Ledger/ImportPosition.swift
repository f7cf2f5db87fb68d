import GRDB

/// How far a run of a command came through its input; stored in the transaction that booked it.
package struct ImportPosition: Sendable, Hashable {
  package var run: Int64
  /// Whatever the command needs to go on from here.
  package var position: String
  package var isFinished: Bool

  package init(run: Int64, position: String, isFinished: Bool) {
    self.run = run
    self.position = position
    self.isFinished = isFinished
  }
}

extension Ledger {
  /// Begins a run, or takes up the latest one of the same command and input that was not finished.
  ///
  /// - Returns: Its position, which is empty for a new run.
  package func startRun(of command: String, input: String) throws -> ImportPosition {
    try write { booker in
      let select = try SQLStatement(
        booker.db,
        """
        SELECT run, position FROM progress WHERE command = ? AND input = ? AND finished_at IS NULL
        ORDER BY run DESC LIMIT 1
        """)
      select.bind(1, command)
      select.bind(2, input)
      if let known = try select.first({
        ImportPosition(run: $0.int(0), position: $0.text(1), isFinished: false)
      }) {
        return known
      }
      let insert = try SQLStatement(
        booker.db, "INSERT INTO progress (command, input, position, started_at) VALUES (?, ?, '', ?)")
      insert.bind(1, command)
      insert.bind(2, input)
      insert.bind(3, booker.now)
      try insert.run()
      return ImportPosition(run: booker.db.lastInsertedRowID, position: "", isFinished: false)
    }
  }
}

extension Booker {
  func record(_ progress: ImportPosition) throws {
    let update = try SQLStatement(db, "UPDATE progress SET position = ?, finished_at = ? WHERE run = ?")
    update.bind(1, progress.position)
    update.bind(2, progress.isFinished ? now : nil)
    update.bind(3, progress.run)
    try update.run()
  }
}
