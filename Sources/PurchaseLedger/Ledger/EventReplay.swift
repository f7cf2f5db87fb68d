import GRDB

/// Reads the history from its beginning and folds it into projections, of the ledger itself or beside it.
struct EventReplay {
  /// Rows are joined in memory and written after this many events.
  private static let batch = 8192

  let db: Database
  let path: String
  let total: Int

  init(_ db: Database, path: String) throws {
    self.db = db
    self.path = path
    total = try SQLStatement(db, "SELECT count(*) FROM event").first { Int($0.int(0)) } ?? 0
  }

  /// The policies as the last events leave them: grants are folded once, by those.
  func finalPolicy() throws -> LedgerPolicy {
    var policy = LedgerPolicy()
    let events = try SQLStatement(
      db, "SELECT \(LedgerEvent.columns) FROM event WHERE type = \(EventType.policy.rawValue) ORDER BY seq"
    ).all { try? LedgerEvent($0, in: path) }
    for case .policy(let name, let value, _)? in events.map(\.?.content) { try? policy.set(name, to: value) }
    return policy
  }

  /// Hands out every row and folds what `event` makes of it; nil leaves the row out.
  func run(
    into projections: Projections, progress: (Int, Int) -> Void,
    event: (borrowing SQLStatement) throws -> LedgerEvent?
  ) throws {
    projections.isReplaying = true
    let select = try SQLStatement(db, "SELECT \(LedgerEvent.columns) FROM event ORDER BY seq")
    defer { select.reset() }
    var done = 0
    while try select.step() {
      if let event = try event(select) { try projections.apply(event.content, seq: event.seq) }
      done += 1
      if done % Self.batch == 0 {
        try projections.flush()
        progress(done, total)
      }
    }
    try projections.flush()
    progress(done, total)
  }
}
