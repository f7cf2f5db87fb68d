import Support

extension Projections {
  /// Folds one event. Quarantine, decisions, corrections and audits change no projection.
  func apply(_ content: EventContent, seq: Int64) throws {
    switch content {
    case .transaction(let fact): try join(TransactionRow(fact), digest: nil)
    case .amendment(let fact, let revision): try join(TransactionRow(fact, revision: revision), digest: nil)
    case .claim(let key, let account, let isTransfer, _): try claim(key, account, isTransfer, seq: seq)
    case .accountOpened(let account, let token): try open(account, token: token, seq: seq)
    case .accountErased(let account): try erase(account, seq: seq)
    case .policy(let name, let value, _): try setPolicy(name, value, seq: seq)
    case .acknowledgement(let key):
      if let key = RowKey(key) { try acknowledge(key) }
    case .trait(let trait): try add(trait)
    case .act(let act): try apply(act, seq: seq)
    case .notification(let fact): try RefundQuestion(fact)?.insert(into: db)
    case .quarantine, .decision, .correction, .audit: break
    }
  }

  func claim(_ key: TransactionKey, _ account: AccountID, _ isTransfer: Bool, seq: Int64) throws {
    guard let key = RowKey(key), let account = try accounts.account(id: account) else { return }
    try claims.add(ClaimRow(seq: seq, account: account.number, mode: isTransfer ? 1 : 0), to: key)
    if let row = try row(key) { touch(row.grant) }
    if key.transactionKey.isApp { try touchGrants(ofApp: key) }
  }

  /// Opens an account; grants with its token become its own.
  private func open(_ account: AccountID, token: AccountToken, seq: Int64) throws {
    // The query below finds this batch's grants only after they are written.
    try flush()
    try accounts.open(account, token: token, seq: seq)
    let orphans = try db.cached("SELECT store, environment, original_id FROM entitlement WHERE token = ?")
    orphans.bind(1, token.uuid)
    for grant in try orphans.all(Self.grantKey) { touch(grant) }
  }

  private func erase(_ account: AccountID, seq: Int64) throws {
    try flush()
    guard let row = try accounts.account(id: account) else { return }
    try accounts.erase(account, seq: seq)
    let owned = try db.cached("SELECT store, environment, original_id FROM entitlement WHERE account = ?")
    owned.bind(1, row.number)
    for grant in try owned.all(Self.grantKey) { touch(grant) }
  }

  private func setPolicy(_ name: String, _ value: String, seq: Int64) throws {
    let write = try db.cached(
      """
      INSERT INTO policy (name, value, seq) VALUES (?, ?, ?)
      ON CONFLICT (name) DO UPDATE SET value = excluded.value, seq = excluded.seq
      """)
    write.bind(1, name)
    write.bind(2, value)
    write.bind(3, seq)
    try write.run()
    if isReplaying { return }
    var changed = policy
    // An unknown value stays in the table and has no effect.
    try? changed.set(name, to: value)
    guard changed != policy else { return }
    let gained = changed.formerlyPaid != policy.formerlyPaid
    policy = changed
    if gained { for app in try traits.apps() { try touchGrants(ofApp: app) } }
    try foldAllGrants()
  }

  /// Computes every grant again, after a policy has changed.
  private func foldAllGrants() throws {
    try flush()
    var last: RowKey? = RowKey(store: 0, environment: 0, id: "")
    let page = try db.cached(
      """
      SELECT store, environment, original_id FROM entitlement
      WHERE (store, environment, original_id) > (?, ?, ?) ORDER BY store, environment, original_id LIMIT 4096
      """)
    while let from = last {
      page.bind(1, from)
      let keys = try page.all(Self.grantKey)
      keys.forEach(touch)
      try flush()
      last = keys.last
    }
  }

  private static func grantKey(_ row: SQLiteStatement) -> RowKey {
    RowKey(row)
  }
}

/// Reads the events from the first to the last and folds them into projections, of the ledger or of a scratch database.
struct EventReplay {
  /// The number of events after which the projections are flushed.
  private static let batch = 8192

  let db: SQLiteConnection
  let path: String
  let total: Int

  init(_ db: SQLiteConnection, path: String) throws {
    self.db = db
    self.path = path
    total = try db.cached("SELECT count(*) FROM event").first { Int($0.int64(0)) } ?? 0
  }

  /// The policies after the last event: replay folds every grant once, with these.
  func finalPolicy() throws -> LedgerPolicy {
    var policy = LedgerPolicy()
    let events = try db.cached(
      "SELECT \(LedgerEvent.columns) FROM event WHERE type = \(EventType.policy.rawValue) ORDER BY seq"
    ).all { try? LedgerEvent($0, in: path) }
    for case .policy(let name, let value, _)? in events.map(\.?.content) { try? policy.set(name, to: value) }
    return policy
  }

  /// Passes every row to `event` and folds the event it returns; nil skips the row.
  func run(
    into projections: Projections, progress: (Int, Int) -> Void,
    event: (SQLiteStatement) throws -> LedgerEvent?
  ) throws {
    projections.isReplaying = true
    let select = try db.cached("SELECT \(LedgerEvent.columns) FROM event ORDER BY seq")
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
