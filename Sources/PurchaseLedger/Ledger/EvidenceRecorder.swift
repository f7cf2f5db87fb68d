package import Support

/// Turns submissions into events, appends them to the chain and folds them into the projections.
/// Lives within one write transaction; call `finish` before the commit.
package final class EvidenceRecorder {
  package let db: SQLiteConnection
  var events: EventWriter
  var evidence: EvidenceStore
  let projections: Projections
  package let now: Int64
  /// Receives what is submitted.
  var spool: SpoolWriter
  /// The first app of each store, as far as it was looked up.
  var firstApps: [Store: String] = [:]
  /// Created when the first query is queued.
  private var queue: LookupQueue?

  var policy: LedgerPolicy { projections.policy }

  /// - Parameter spool: The path of the spool; nil where nothing is submitted.
  init(_ db: SQLiteConnection, now: Int64, spool: String? = nil) throws {
    self.db = db
    self.now = now
    self.spool = SpoolWriter(path: spool, now: now)
    events = try EventWriter(db, recordedAt: now)
    evidence = try EvidenceStore(db, recordedAt: now)
    projections = try Projections(db, policy: Self.policy(db))
  }

  static func policy(_ db: SQLiteConnection) throws -> LedgerPolicy {
    var policy = LedgerPolicy()
    for (name, value) in try db.cached("SELECT name, value FROM policy").all({ ($0.text(0), $0.text(1)) }) {
      // Values written by later versions stay in the table and are ignored.
      try? policy.set(name, to: value)
    }
    return policy
  }

  /// Appends an event and folds it.
  ///
  /// - Returns: Its sequence number; nil if the event exists already.
  @discardableResult
  package func append(_ content: EventContent, evidence: [UInt8]? = nil) throws -> Int64? {
    guard let seq = try events.append(content, evidence: evidence) else { return nil }
    try projections.apply(content, seq: seq)
    try spool.append(content)
    return seq
  }

  func lookups() throws -> LookupQueue {
    if let queue { return queue }
    let made = try LookupQueue(db, now: now)
    queue = made
    return made
  }

  package func account(id: AccountID) throws -> AccountRow? { try projections.accounts.account(id: id) }

  package func account(token: AccountToken) throws -> AccountRow? {
    try projections.accounts.account(token: token.uuid)
  }

  func finish() throws { try projections.flush() }

  /// Runs `work` in a write transaction of a ledger. What it submits is in the spool, on the disk, before the commit.
  static func record<Value>(
    in database: LedgerDatabase, now: Int64, spool: String?, _ work: (EvidenceRecorder) throws -> Value
  ) throws -> Value {
    try database.write { db in
      let recorder = try EvidenceRecorder(db, now: now, spool: spool)
      do {
        let value = try work(recorder)
        try recorder.finish()
        try recorder.spool.finish()
        return value
      } catch {
        recorder.spool.abandon()
        throw error
      }
    }
  }

  /// Records the facts of a piece; returns which of them are new.
  func book(_ facts: [PreparedFact], evidence: [UInt8]?) throws -> [Bool] {
    try facts.map { fact in
      guard try events.append(.transaction, key: fact.key, body: fact.body, evidence: evidence) != nil else {
        return false
      }
      try projections.join(fact.row, digest: fact.digest)
      let decision = try projections.row(fact.row.key).flatMap { Self.decision(on: $0, policy) }
      if let decision { try append(decision, evidence: evidence) }
      return true
    }
  }

  /// Records an operator's decision for a fact, in the fields in which only the tie-break or an earlier decision
  /// favours another value.
  ///
  /// - Parameters:
  ///   - goal: The intended row.
  ///   - fields: The fields to decide.
  /// - Returns: Whether there was something to decide.
  func follow(
    _ fact: PreparedFact, in goal: TransactionRow, _ fields: [DescribedField] = DescribedField.allCases,
    evidence: [UInt8]?
  ) throws -> Bool {
    guard let row = try projections.row(fact.row.key),
      let revision = row.revision(toFollow: fact.row, in: goal, fields)
    else { return false }
    return try append(.amendment(fact.transaction, revision: revision), evidence: evidence) != nil
  }

  /// The event that records how the policy treats a partial refund, computed from all facts so far; nil if there is
  /// nothing to decide.
  static func decision(on row: TransactionRow, _ policy: LedgerPolicy) -> EventContent? {
    guard row.statement == .revoked, let refund = row.refund, !refund.isWhole(of: row.quantity) else { return nil }
    return .decision(
      row.key.transactionKey, revocationDate: refund.date, percentageMilli: refund.sharedMilli(of: row.quantity),
      policy: "partial-refund", value: policy.partialRefund.rawValue)
  }

  /// Records the policies that differ from the current ones.
  func record(_ wanted: LedgerPolicy) throws {
    let select = try db.cached("SELECT value, seq FROM policy WHERE name = ?")
    let defaults = LedgerPolicy().settings
    for (name, value) in wanted.settings {
      select.bind(1, name)
      let known = try select.first { ($0.text(0), $0.int64(1)) }
      if known?.0 == value { continue }
      // Ledgers of earlier versions lack these: what is not recorded has its default.
      if known == nil, ["formerly-paid", "subscriptions", "sandbox-grant-days"].contains(name),
        defaults.contains(where: { $0 == (name, value) })
      {
        continue
      }
      if let known, name == "environment" {
        throw LedgerError(
          .configuration, at: "policy environment",
          "is \(known.0) and cannot be changed", remedy: "use another ledger for \(value)")
      }
      try append(.policy(name: name, value: value, after: known?.1 ?? 0))
    }
  }
}

extension EvidenceRecorder {
  /// Records an account's claim of a fact unless it changes nothing (docs/explanation/ledger.md, Owners).
  ///
  /// - Returns: Whether an event was appended.
  func claim(_ fact: PreparedFact, by account: AccountRow, isTransfer: Bool, evidence: [UInt8]) throws -> Bool {
    // Recorded also if the evidence carries the account's own token: a later fact may have another token, and the order
    // of the two must not matter.
    guard let row = try projections.row(fact.row.key) else { return false }
    // The account's claims of this transaction, not of its grant: later evidence may change which transactions form a
    // grant.
    let claims = try projections.claims.claims(of: row.key).filter {
      $0.account == account.number && $0.mode != ClaimRow.assigned
    }
    if let own = claims.last(where: { $0.mode >= (isTransfer ? 1 : 0) })?.seq, projections.accounts.lastErasure <= own {
      let wasTakenSince = try projections.members(of: row.grant).contains { member in
        try projections.claims.claims(of: member.key).contains {
          $0.account != account.number && $0.mode >= 1 && $0.seq > own
        }
      }
      if !wasTakenSince { return false }
    }
    let previous = claims.last?.seq ?? 0
    return try append(
      .claim(fact.transaction.key, account: AccountID(account.id), isTransfer: isTransfer, after: previous),
      evidence: evidence) != nil
  }

  /// Whether another account had claimed the grant here after a merged submission was made.
  func wasClaimedLater(_ fact: PreparedFact, than submission: Submission, by account: AccountRow) throws -> Bool {
    guard let merged = submission.merged, let row = try projections.row(fact.row.key) else { return false }
    let select = try db.cached("SELECT recorded_at FROM event WHERE seq = ?")
    return try projections.members(of: row.grant).contains { member in
      try projections.claims.claims(of: member.key).contains { claim in
        guard claim.account != account.number, claim.seq <= merged.base else { return false }
        select.bind(1, claim.seq)
        return try select.first { $0.int64(0) } ?? 0 > merged.time
      }
    }
  }

  /// Why a transaction does not belong to the account; nil if it does.
  func refusal(of key: RowKey, to account: AccountRow) throws -> VerificationError? {
    guard let grant = try projections.row(key)?.grant, let (fold, owners) = try projections.folds(of: grant) else {
      return nil
    }
    if try projections.entitlement(of: grant)?.account == account.number { return nil }
    if owners.tokenAccount.map({ $0.erasedSeq == nil }) ?? (fold.token != nil && policy.unknownToken == .refuse) {
      return VerificationError(
        .tokenOfAnotherAccount,
        "transaction \(key.id) was bought for another account", remedy: "sign in to that one")
    }
    return VerificationError(
      .claimedByAnotherAccount,
      "transaction \(key.id) belongs to another account already", remedy: "sign in to that one")
  }
}
