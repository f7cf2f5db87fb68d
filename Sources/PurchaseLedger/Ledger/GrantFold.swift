import Foundation

/// An account as the fold sees it. `number` stands in the tables, in the order of opening.
struct AccountRow: Sendable, Equatable {
  var number: Int64
  var id: UUID
  var token: UUID
  var openedSeq: Int64
  var erasedSeq: Int64?
}

/// An account presented evidence of a transaction.
struct ClaimRow: Sendable, Equatable {
  var seq: Int64
  var account: Int64
  /// 0 bind, 1 transfer.
  var mode: UInt8
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
  /// The grant's token while it is no account's, so that the account finds it when it is opened.
  var orphan: UUID?
}

/// A grant computed from its rows; a function of them and the policies alone (docs/ledger.md, Grants).
struct GrantFold {
  let key: RowKey
  /// Never empty.
  let members: [TransactionRow]
  let policy: LedgerPolicy

  /// The transaction that the others descend from, if it is known.
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
    let (status, reason) = status(of: type, isSubscription: isSubscription, shown: shown, isLiving: !living.isEmpty)
    return EntitlementRow(
      key: key, account: account, productID: described { $0.productID.isEmpty ? nil : $0.productID } ?? "",
      productType: type, status: status, reason: reason,
      since: (living.isEmpty ? members : living).map(\.purchaseDate).min() ?? 0,
      refundedMilli: living.compactMap { row in row.refund?.sharedMilli(of: row.quantity) }.max() ?? 0,
      orphan: orphan)
  }

  private func status(
    of type: ProductType, isSubscription: Bool, shown: [TransactionRow], isLiving: Bool
  ) -> (Entitlement.Status, String) {
    if shown.isEmpty {
      let revoked = members.filter { $0.statement == .revoked }
      return (.revoked, revoked.allSatisfy { $0.revocation?.type == "FAMILY_REVOKE" } ? "family-revoke" : "refunded")
    }
    if key.environment != policy.environment.code {
      return (.withheld, StoreEnvironment(code: key.environment)?.rawValue.lowercased() ?? "")
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

  /// What the original says, else the transaction with the smallest id that says it.
  private func described<Value>(_ value: (TransactionRow) -> Value?) -> Value? {
    if let original, let said = value(original) { return said }
    return members.filter { value($0) != nil }.min { $0.key < $1.key }.flatMap(value)
  }
}
