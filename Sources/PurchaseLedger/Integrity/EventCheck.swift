import Support

/// Checks each event against those before it: the hash chain, and whether the ledger would have recorded the event
/// then. Who appends to the file can make hashes that fit, but not events that the rules allow.
struct EventCheck {
  private let path: String
  private let head: [UInt8]?
  private var chain = EventChain()
  private var hasHead: Bool
  /// Digests of evidence that left quarantine, by the kind of audit event that records it.
  private(set) var leftQuarantine: [String: Set<String>] = [:]
  /// The policies at the current position of the chain, and the event that set each.
  private var policy = LedgerPolicy()
  private var policyEvents: [String: (seq: Int64, value: String)] = [:]
  /// Events with unsigned facts that the policy refused at their time, by transaction. An event of `reconcile --apply`
  /// for the transaction removes them.
  private var refused: [TransactionKey: [Int64]] = [:]
  /// The fold of the events so far.
  private let projections: Projections
  private let selectKind: SQLiteStatement

  /// - Parameter projections: Receives each event after its check.
  init(_ db: SQLiteConnection, after projections: Projections, path: String, head: [UInt8]?) throws {
    self.projections = projections
    self.path = path
    self.head = head
    hasHead = head == nil || head == chain.hash
    selectKind = try db.cached("SELECT kind FROM evidence WHERE sha256 = ?")
  }

  /// - Returns: The event of a row; nil if it cannot be decoded or folded.
  mutating func event(_ row: SQLiteStatement, _ report: inout VerifyReport) throws -> LedgerEvent? {
    let location = "event \(row.int64(0))"
    let last = chain.seq
    let (isNext, isChained) = chain.advance(over: row)
    if !isNext { report.find(location, "follows event \(last): the events in between are missing") }
    if !isChained { report.find(location, "its hash does not match its content and the previous hash") }
    let isAfterHead = head != nil && hasHead
    if chain.hash == head { hasHead = true }
    guard let event = try? LedgerEvent(row, in: path) else {
      report.find(location, "its body cannot be read")
      return nil
    }
    if event.content.key(body: row.blob(6)).bytes != row.blob(4) {
      report.find(location, "its key does not match its body")
    }
    if isAfterHead { report.count(afterHead: event.content) }
    let fault = try fault(of: event)
    if let fault { report.find(location, fault.message) }
    note(event, &report)
    return fault?.preventsFold == true ? nil : event
  }

  private mutating func note(_ event: LedgerEvent, _ report: inout VerifyReport) {
    switch event.content {
    case .transaction(let fact) where fact.trust == .unsigned, .amendment(let fact, _) where fact.trust == .unsigned:
      report.unsigned += 1
      if policy.unsignedEvidence == .refuse { refused[fact.key, default: []].append(event.seq) }
    case .correction(_, _, let key) where event.evidence != nil: refused[key] = nil
    case .policy(let name, let value, _):
      try? policy.set(name, to: value)
      policyEvents[name] = (event.seq, value)
    case .audit(let kind, _, let subject?, _, _, _) where EvidenceRecorder.leavesQuarantine(kind):
      leftQuarantine[kind, default: []].insert(subject)
    default: break
    }
  }

  func finish(_ report: inout VerifyReport) {
    for seq in refused.values.joined().sorted() {
      report.find("event \(seq)", "states an unsigned fact, which the policy unsigned-evidence refused at that time")
    }
    if !hasHead { report.find("head", "is not in the chain, which was truncated or rewritten") }
    report.events = Int(chain.seq)
    report.head = chain.hash
  }
}

// MARK: - Rules

extension EventCheck {
  /// Why the ledger would not have recorded an event.
  private struct Fault {
    var message: String
    /// Whether the projections have no room for it.
    var preventsFold = false

    init(_ message: String) { self.message = message }
  }

  /// Why the ledger would not have recorded the event after those before it; nil if it would have.
  ///
  /// What follows from evidence is compared with it by `verifySignatures(with:into:progress:)`.
  private func fault(of event: LedgerEvent) throws -> Fault? {
    switch event.content {
    case .transaction, .notification, .quarantine, .trait: return nil
    case .act(let act): return try actFault(act)
    case .amendment(let fact, let revision): return try amendmentFault(fact, revision)
    case .claim(let key, let account, let isTransfer, let after):
      return try claimFault(key, account, isTransfer, after, evidence: event.evidence)
    case .accountOpened(let account, let token):
      let known = try projections.accounts.account(id: account) ?? projections.accounts.account(token: token.uuid)
      guard known != nil else { return nil }
      var fault = Fault("opens an account whose id or token an earlier account has")
      fault.preventsFold = true
      return fault
    case .accountErased(let account):
      return try isOpen(account) ? nil : Fault("erases an account that is not open")
    case .policy(let name, let value, let after):
      let known = policyEvents[name]
      if after != known?.seq ?? 0 { return Fault("does not follow the event that set the policy \(name) before") }
      guard let known, name == "environment", known.value != value else { return nil }
      return Fault("changes the ledger's environment, which never changes")
    case .decision(let key, _, _, _, _):
      let expected = try row(key).flatMap { EvidenceRecorder.decision(on: $0, policy) }
      return expected == event.content
        ? nil : Fault("is not what the facts of the transaction and the policy at that time call for")
    case .correction(_, let kind, let key):
      guard try row(key) != nil, event.evidence != nil, [.storeOnly, .stateDiffers].contains(kind) else {
        return Fault("corrects nothing: no fact from evidence precedes it")
      }
      return nil
    case .acknowledgement(let key):
      return try row(key) == nil ? Fault("acknowledges a transaction that no earlier event states") : nil
    case .audit(let kind, _, let subject, _, _, _) where EvidenceRecorder.leavesQuarantine(kind):
      let sha256 = subject.flatMap { Hexadecimal.bytes($0) } ?? []
      return try self.kind(of: sha256) == nil ? Fault("takes evidence out of quarantine that is not there") : nil
    case .audit: return nil
    }
  }

  private func claimFault(
    _ key: TransactionKey, _ account: AccountID, _ isTransfer: Bool, _ after: Int64, evidence: [UInt8]?
  ) throws -> Fault? {
    let isOfApp = try key.isApp && RowKey(key).map { try !projections.traits.traits(of: $0).isEmpty } ?? false
    guard let claimed = try row(key)?.key ?? (isOfApp ? RowKey(key) : nil) else {
      return Fault("claims a transaction that no earlier event states")
    }
    guard let evidence else { return Fault("names no evidence for its claim") }
    guard let claimant = try projections.accounts.account(id: account), claimant.erasedSeq == nil else {
      return Fault("claims for an account that is not open")
    }
    if isTransfer, policy.secondClaim != .transfer {
      return Fault("moves a purchase to another account, which the policy second-claim refused at that time")
    }
    let previous =
      try projections.claims.claims(of: claimed).last { $0.account == claimant.number && $0.mode != ClaimRow.assigned }?
      .seq ?? 0
    if after != previous { return Fault("does not follow the account's previous claim of the transaction") }
    if policy.unsignedEvidence == .refuse, let kind = try kind(of: evidence), !kind.isSigned {
      return Fault("claims by unsigned evidence, which the policy unsigned-evidence refused at that time")
    }
    return nil
  }

  private func actFault(_ act: Act) throws -> Fault? {
    for account in [act.account, act.other].compactMap(\.self) {
      guard try projections.accounts.account(id: account) != nil else {
        return Fault("acts for an account that was never opened")
      }
    }
    guard let key = act.transaction, !key.isGranted, !key.isApp, act.action != .answer, try row(key) == nil else {
      return nil
    }
    return Fault("acts on a transaction that no earlier event states")
  }

  /// An amendment settles a tie between a fact and the row, in exactly the fields that have one.
  private func amendmentFault(_ fact: StoreTransaction, _ revision: Revision) throws -> Fault? {
    let stated = TransactionRow(fact)
    let fields = DescribedField.allCases.filter(revision.fields.contains)
    guard let row = try row(fact.key), row.revision(toFollow: stated, in: stated, fields) == revision else {
      return Fault("decides between values where there was nothing to decide")
    }
    return nil
  }

  private func row(_ key: TransactionKey) throws -> TransactionRow? {
    try RowKey(key).flatMap { try projections.row($0) }
  }

  private func isOpen(_ account: AccountID) throws -> Bool {
    try projections.accounts.account(id: account).map { $0.erasedSeq == nil } ?? false
  }

  /// The kind of stored evidence; nil if it is not stored.
  private func kind(of sha256: [UInt8]) throws -> EvidenceKind? {
    selectKind.bind(1, sha256)
    return try selectKind.first { EvidenceKind(rawValue: UInt8(truncatingIfNeeded: $0.int64(0))) } ?? nil
  }
}
