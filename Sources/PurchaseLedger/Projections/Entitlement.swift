import Support

#if canImport(FoundationEssentials)
  import FoundationEssentials
#else
  import Foundation
#endif

/// What a grant (a purchase with its restored copies) entitles its owner to.
public struct Entitlement: Sendable, Hashable {
  /// Whether the owner may use the product. The integers are stored in the database: never renumber.
  public enum Status: UInt8, Sendable, CaseIterable {
    /// The store waits for an approval or a payment.
    case pending = 0
    /// Owned.
    case active = 1
    /// Refunded, or revoked by the store.
    case revoked = 2
    /// A consumable or subscription: assigned to its account, grants nothing.
    case held = 3
    /// Of another environment than the ledger's, or withheld by a policy.
    case withheld = 4
    /// It ended: a subscription that was not renewed, or what a reviewer or tester had for a while. Never stored.
    case expired = 5
  }

  /// The grant's key, with the id of the original transaction.
  public var grant: TransactionKey
  /// The owner; nil while no account has claimed it.
  public var account: AccountID?
  /// The product's id in its store; nil if the evidence does not say.
  public var productID: String?
  /// What kind of product it is.
  public var productType: ProductType
  /// Whether the owner may use it.
  public var status: Status
  /// The reason of the status, if it needs one: `sandbox`, `refunded`, `family-sharing`...
  public var reason: String
  /// Milliseconds since 1970.
  public var since: Int64
  /// The partially refunded share in thousandths of a percent.
  package var refundedMilli: Int64
  /// When it ends, in milliseconds since 1970; nil for what does not end.
  package var until: Int64?

  /// An entitlement; `since` in milliseconds since 1970.
  package init(
    grant: TransactionKey, account: AccountID?, productID: String?, productType: ProductType, status: Status,
    reason: String, since: Int64, refundedMilli: Int64, until: Int64? = nil
  ) {
    self.grant = grant
    self.account = account
    self.productID = productID
    self.productType = productType
    self.status = status
    self.reason = reason
    self.since = since
    self.refundedMilli = refundedMilli
    self.until = until
  }
}

extension Entitlement {
  /// - Parameters:
  ///   - account: The id of the row's account.
  ///   - now: What has ended by then is expired.
  init(_ row: EntitlementRow, account: AccountID?, at now: Int64) {
    let hasEnded = row.status == .active && row.until.map { $0 <= now } ?? false
    self.init(
      grant: row.key.transactionKey, account: account, productID: row.productID.isEmpty ? nil : row.productID,
      productType: row.productType, status: hasEnded ? .expired : row.status, reason: row.reason, since: row.since,
      refundedMilli: row.refundedMilli, until: row.until)
  }
}

/// A row of `entitlement`.
struct EntitlementRow: Sendable, Equatable {
  var key: RowKey
  var account: Int64?
  var productID: String
  var productType: ProductType
  var status: Entitlement.Status
  var reason: String
  var since: Int64
  var refundedMilli: Int64
  /// The grant's account token while no account has it; an account opened later with this token becomes the owner.
  var orphan: UUID?
  /// When it ends.
  var until: Int64?
}

extension EntitlementRow {
  static let columns = """
    store, environment, original_id, account, product_id, product_type, status, reason, since, refunded_milli, token, until
    """

  static let upsert = """
    INSERT INTO entitlement (\(columns)) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
    ON CONFLICT (store, environment, original_id) DO UPDATE SET
      account = excluded.account, product_id = excluded.product_id, product_type = excluded.product_type,
      status = excluded.status, reason = excluded.reason, since = excluded.since,
      refunded_milli = excluded.refunded_milli, token = excluded.token, until = excluded.until
    """

  func bind(to statement: SQLiteStatement) {
    statement.bind(1, key)
    statement.bind(4, account)
    statement.bind(5, productID)
    statement.bind(6, productType.rawValue)
    statement.bind(7, status.rawValue)
    statement.bind(8, reason)
    statement.bind(9, since)
    statement.bind(10, refundedMilli)
    statement.bind(11, orphan)
    statement.bind(12, until)
  }

  /// Reads a row selected as `columns`.
  init(_ row: SQLiteStatement) {
    key = RowKey(row)
    account = row.optionalInt64(3)
    productID = row.text(4)
    productType = ProductType(rawValue: row.text(5))
    status = Entitlement.Status(rawValue: UInt8(truncatingIfNeeded: row.int64(6))) ?? .withheld
    reason = row.text(7)
    since = row.int64(8)
    refundedMilli = row.int64(9)
    orphan = row.uuid(10)
    until = row.optionalInt64(11)
  }
}

/// Computes a grant's entitlement from its transactions and the policies alone (docs/explanation/ledger.md, Grants).
struct GrantFold {
  let key: RowKey
  /// Never empty.
  let members: [TransactionRow]
  let policy: LedgerPolicy
  /// Whether the store has called the purchase a test.
  var isTest = false
  /// Whether an operator took it away.
  var isTaken = false
  /// Until when test purchases of its owner count.
  var reviewUntil: Int64?
  /// What the store says of the original transaction beside the fact.
  var said: [TransactionTrait.Name: String] = [:]

  /// Whether it is a test purchase in a ledger of real ones.
  var isTestHere: Bool { isTest || key.environment != policy.environment.code }

  /// The original transaction, of which the others are copies; nil if it is not known.
  private var original: TransactionRow? { members.first { $0.key.id == key.id } }

  var token: UUID? {
    if let token = original?.token { return token }
    var greatest: (date: Int64, token: UUID)?
    for member in members {
      guard let token = member.token, let date = member.tokenDate else { continue }
      if let known = greatest, !known.token.tokenPrecedes(known.date, token, date) { continue }
      greatest = (date, token)
    }
    return greatest?.token
  }

  func entitlement(account: Int64?, orphan: UUID?) -> EntitlementRow {
    let type = described { $0.productType == .unknown ? nil : $0.productType } ?? .unknown
    let expires = members.contains { $0.expiresDate != nil }
    let isSubscription = type.isSubscription || (type == .unknown && expires)
    let refundedAt = isSubscription ? nil : original.flatMap { isRevoked($0) ? $0.revocation?.date : nil }

    func isDead(_ row: TransactionRow) -> Bool {
      if let refundedAt, row.key.id != key.id, row.purchaseDate <= refundedAt { return true }
      return isRevoked(row)
    }
    let standing = members.filter { !isDead($0) }
    let living = standing.filter { $0.statement != .pending }
    let shown = living.isEmpty ? standing : living
    var (status, reason) = status(of: type, isSubscription: isSubscription, shown: shown, isLiving: !living.isEmpty)
    var product = described { $0.productID.isEmpty ? nil : $0.productID } ?? ""
    let since = (living.isEmpty ? members : living).map(\.purchaseDate).min() ?? 0
    var until: Int64?
    if isSubscription, policy.subscriptions == .grant, status == .held, let period = Period(living, said) {
      (status, reason, until) = (.active, period.isInRetry ? "billing-retry" : "subscription", period.until)
      if !period.product.isEmpty { product = period.product }
    }
    if isTestHere, status != .revoked {
      let ends = [
        reviewUntil, policy.sandboxGrantDays == 0 ? nil : since + Int64(policy.sandboxGrantDays) * 86_400_000,
      ]
      if [.active, .pending].contains(status), let end = ends.compactMap(\.self).max() {
        (status, reason, until) = (status, "review", min(end, until ?? end))
      } else {
        (status, reason, until) = (.withheld, testReason, nil)
      }
    }
    if isTaken, [.active, .pending].contains(status) { (status, reason) = (.revoked, "support") }
    return EntitlementRow(
      key: key, account: account, productID: product, productType: type, status: status, reason: reason, since: since,
      refundedMilli: living.compactMap { row in row.refund?.sharedMilli(of: row.quantity) }.max() ?? 0,
      orphan: orphan, until: until)
  }

  private var testReason: String {
    isTest ? "sandbox" : StoreEnvironment(code: key.environment)?.rawValue.lowercased() ?? ""
  }

  /// The last period of a subscription that was paid for.
  private struct Period {
    var product: String
    var until: Int64
    var isInRetry: Bool

    /// Nil where no end is stated.
    init?(_ living: [TransactionRow], _ said: [TransactionTrait.Name: String]) {
      // After an upgrade the later purchase counts, also if it ends earlier.
      let last = living.filter { $0.expiresDate != nil }.max {
        ($0.purchaseDate, $0.expiresDate ?? 0, $0.key) < ($1.purchaseDate, $1.expiresDate ?? 0, $1.key)
      }
      guard let last, let expires = last.expiresDate else { return nil }
      product = last.productID
      until = max(expires, said[.graceUntil].flatMap { Int64($0) } ?? 0)
      isInRetry = said[.billingRetry] == "true"
    }
  }

  private func status(
    of type: ProductType, isSubscription: Bool, shown: [TransactionRow], isLiving: Bool
  ) -> (Entitlement.Status, String) {
    if shown.isEmpty {
      let revoked = members.filter { $0.statement == .revoked }
      return (.revoked, revoked.allSatisfy { $0.revocation?.type == "FAMILY_REVOKE" } ? "family-revoke" : "refunded")
    }
    if policy.familySharing == .withhold,
      shown.allSatisfy({ $0.ownership == OwnershipType.familyShared.rawValue })
    {
      return (.withheld, "family-sharing")
    }
    if isSubscription { return (.held, "subscription") }
    switch type {
    case .nonConsumable: break
    case .unknown:
      if policy.untypedProducts == .withhold { return (.withheld, "untyped-products") }
    case .consumable: return (.held, "consumable")
    default: return (.held, "product-type")
    }
    return isLiving ? (.active, "") : (.pending, "")
  }

  private func isRevoked(_ row: TransactionRow) -> Bool {
    guard row.statement == .revoked else { return false }
    return policy.partialRefund == .revoke || row.refund?.isWhole(of: row.quantity) ?? true
  }

  /// The original transaction's value, else that of the transaction with the smallest id that has one.
  private func described<Value>(_ value: (TransactionRow) -> Value?) -> Value? {
    if let original, let said = value(original) { return said }
    return members.filter { value($0) != nil }.min { $0.key < $1.key }.flatMap(value)
  }
}

/// Computes who owns a grant from claims, openings and erasures of accounts in their recorded order
/// (docs/explanation/ledger.md, Owners).
struct OwnerFold {
  /// The account with the grant's token, also an erased one.
  let tokenAccount: AccountRow?
  /// The claims of all transactions of the grant, in any order.
  let claims: [ClaimRow]
  /// The accounts of the claims.
  let claimants: [AccountRow]
  /// Whether a token without an account voids every claim (policy `unknown-token` = `refuse`).
  let refusesClaims: Bool

  private enum Step {
    case opened
    case claim(ClaimRow)
    case erased(Int64)
  }

  /// The owner's account number; nil if the grant has no owner.
  var owner: Int64? {
    if claims.isEmpty { return tokenAccount.flatMap { $0.erasedSeq == nil ? $0.number : nil } }
    if tokenAccount == nil, refusesClaims, !claims.contains(where: { $0.mode == ClaimRow.assigned }) { return nil }
    var steps: [(seq: Int64, step: Step)] = claims.map { ($0.seq, .claim($0)) }
    if let tokenAccount { steps.append((tokenAccount.openedSeq, .opened)) }
    var seen: Set<Int64> = []
    for account in claimants + (tokenAccount.map { [$0] } ?? []) where seen.insert(account.number).inserted {
      if let erased = account.erasedSeq { steps.append((erased, .erased(account.number))) }
    }
    steps.sort { $0.seq < $1.seq }

    var owner: Int64?
    var isTokenLive = false
    /// Whether an operator decided; only another decision changes that.
    var isAssigned = false
    for (_, step) in steps {
      switch step {
      case .opened:
        if !isAssigned { owner = tokenAccount?.number }
        isTokenLive = true
      case .erased(let number):
        if number == tokenAccount?.number { isTokenLive = false }
        if owner == number { (owner, isAssigned) = (nil, false) }
      case .claim(let claim) where claim.mode == ClaimRow.assigned: (owner, isAssigned) = (claim.account, true)
      case .claim(let claim):
        if isAssigned { continue }
        if isTokenLive && claim.account != tokenAccount?.number { continue }
        if owner == nil || claim.mode == 1 { owner = claim.account }
      }
    }
    return owner
  }
}
