import Support

/// What stores say beside the facts, what operators did, and the grants that follow from these and not from a purchase.
extension Projections {
  // MARK: Events

  func add(_ trait: TransactionTrait) throws {
    guard let key = RowKey(trait.key) else { return }
    try traits.add(trait, to: key)
    if trait.key.isApp {
      try touchGrants(ofApp: key)
    } else if let row = try row(key) {
      touch(row.grant)
    }
  }

  func apply(_ act: Act, seq: Int64) throws {
    // The queries below find this batch's grants only after they are written.
    try flush()
    let account = try act.account.flatMap { try accounts.account(id: $0) }?.number
    let other = try act.other.flatMap { try accounts.account(id: $0) }?.number
    try acts.add(act, seq: seq, account: account, other: other)
    let key = act.transaction.flatMap { RowKey($0) }
    switch act.action {
    case .transfer, .grant:
      guard let key, let account else { return }
      try claims.add(ClaimRow(seq: seq, account: account, mode: ClaimRow.assigned), to: key)
      try touchGrant(named: key)
    case .revoke: if let key { try touchGrant(named: key) }
    case .reviewer, .merge: if let account { try touchGrants(around: account) }
    case .link:
      for key in try traits.keys(.accountID, act.subject ?? "") { try touchGrant(named: key) }
    default: break
    }
    if act.action == .answer, let uuid = act.subject { try RefundQuestion.answer(uuid, seq: seq, in: db) }
  }

  /// A grant by one of its transactions, or by its own key where no purchase makes it.
  private func touchGrant(named key: RowKey) throws {
    if let row = try row(key) { touch(row.grant) } else { touch(key) }
  }

  /// All grants that an account has or claims.
  private func touchGrants(around account: Int64) throws {
    let select = try db.cached(
      """
      SELECT store, environment, original_id FROM entitlement WHERE account = ?1
      UNION SELECT store, environment, transaction_id FROM claim WHERE account = ?1
      """)
    select.bind(1, account)
    for key in try select.all({ RowKey($0) }) {
      try touchGrant(named: key)
      if key.transactionKey.isApp { try touchGrants(ofApp: key) }
    }
  }

  /// What follows from an app transaction: the products of a formerly paid app, and the purchases of the same person.
  func touchGrants(ofApp key: RowKey) throws {
    for product in policy.formerlyPaid.map(\.product) { touch(key.with(id: "\(key.id)/\(product)")) }
    let id = String(key.id.drop { $0 != ":" }.dropFirst())
    for transaction in try traits.keys(.appTransactionID, id) where transaction.environment == key.environment {
      try touchGrant(named: transaction)
    }
  }

  // MARK: Grants without a purchase

  /// - Returns: Nil if the key is not one of these, or nothing follows.
  func entitlementWithoutPurchase(_ key: RowKey) throws -> EntitlementRow? {
    let grant = key.transactionKey
    return grant.isGranted ? try granted(key) : grant.isApp ? try formerlyPaid(key) : nil
  }

  private func granted(_ key: RowKey) throws -> EntitlementRow? {
    let acts = try acts.acts(on: key)
    guard let grant = acts.first(where: { $0.action == .grant }), let product = grant.subject else { return nil }
    let owners = try owners(token: nil, keys: [key])
    let isTaken = acts.last { [.grant, .transfer, .revoke].contains($0.action) }?.action == .revoke
    return EntitlementRow(
      key: key, account: owners.owner, productID: product, productType: .nonConsumable,
      status: isTaken ? .revoked : .active, reason: "support", since: grant.date, refundedMilli: 0,
      until: grant.until)
  }

  /// Those who paid for the app before a version have what a policy says.
  private func formerlyPaid(_ key: RowKey) throws -> EntitlementRow? {
    let parts = key.id.split(separator: "/", omittingEmptySubsequences: false)
    guard parts.count >= 2, let product = parts.last.map(String.init) else { return nil }
    let app = key.with(id: parts.dropLast().joined(separator: "/"))
    let said = try traits.traits(of: app)
    guard let version = said[.originalVersion], let rule = policy.formerlyPaid.first(where: { $0.product == product }),
      AppVersion(version) < rule.before
    else { return nil }
    let owners = try owners(token: nil, keys: [app])
    let acts = try acts.acts(on: key)
    let isTaken = acts.last { [.transfer, .revoke].contains($0.action) }?.action == .revoke
    var row = EntitlementRow(
      key: key, account: owners.owner, productID: product, productType: .nonConsumable,
      status: isTaken ? .revoked : .active, reason: isTaken ? "support" : "formerly-paid",
      since: said[.originalPurchaseDate].flatMap { Int64($0) } ?? 0, refundedMilli: 0)
    // The sandbox calls every first version 1.0.
    if key.environment != policy.environment.code, !isTaken { (row.status, row.reason) = (.withheld, "sandbox") }
    return row
  }

  // MARK: Owners

  /// The fold of owners of some transactions.
  ///
  /// - Parameter token: The account token that the store states.
  func owners(token: AccountRow?, keys: [RowKey], refusesClaims: Bool = false) throws -> OwnerFold {
    let claims = try keys.flatMap { try self.claims.claims(of: $0) }.map { claim in
      var claim = claim
      claim.account = acts.heir(of: claim.account)
      return claim
    }
    return OwnerFold(
      tokenAccount: try token.map(heir), claims: claims,
      claimants: try claims.compactMap { try accounts.account(number: $0.account) }, refusesClaims: refusesClaims)
  }

  /// The account that has everything of an account, as if it had been opened in its place.
  private func heir(of account: AccountRow) throws -> AccountRow {
    let number = acts.heir(of: account.number)
    guard number != account.number, var heir = try accounts.account(number: number) else { return account }
    heir.openedSeq = min(heir.openedSeq, account.openedSeq)
    return heir
  }

  /// The account to which an id of the app's own is linked, which the store states in place of a token.
  func linkedAccount(_ members: [TransactionRow]) throws -> AccountRow? {
    for member in members {
      guard let id = try traits.traits(of: member.key)[.accountID], let number = try acts.account(linkedTo: id) else {
        continue
      }
      return try accounts.account(number: number)
    }
    return nil
  }

  /// Whether an operator took a purchase away, and gave it to nobody since.
  func isTaken(_ members: [TransactionRow]) throws -> Bool {
    let done = try members.flatMap { try acts.acts(on: $0.key) }.sorted { $0.seq < $1.seq }
    return done.last { [.transfer, .revoke].contains($0.action) }?.action == .revoke
  }

  /// The owner that follows from the person's copy of the app, for purchases that nobody has claimed.
  func ownerByApp(_ members: [TransactionRow]) throws -> Int64? {
    for member in members {
      guard let id = try traits.traits(of: member.key)[.appTransactionID] else { continue }
      let app = RowKey(TransactionKey.app(id, in: StoreEnvironment(code: member.key.environment) ?? .production))
      if let app, let owner = try owners(token: nil, keys: [app]).owner { return owner }
    }
    return nil
  }
}
