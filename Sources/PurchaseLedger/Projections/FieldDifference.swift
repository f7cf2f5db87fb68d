#if canImport(FoundationEssentials)
  import FoundationEssentials
#else
  import Foundation
#endif

/// A field whose value differs between the store's list and the ledger, with the dates of both values.
package struct FieldDifference: Sendable, Hashable {
  /// A side of the comparison.
  package enum Side: String, Sendable, Hashable {
    /// The store's list.
    case store
    /// The ledger.
    case ours
    /// Both are of the same moment.
    case neither
  }

  /// As exports spell it.
  package var field: String
  /// The store's value; nil if the store's list has none.
  package var theirs: String?
  /// The ledger's value; nil if it has none.
  package var ours: String?
  /// When the store stated its value, in milliseconds since 1970.
  package var theirDate: Int64
  /// When the ledger's value was stated, in milliseconds since 1970.
  package var ourDate: Int64

  /// The side whose value was stated later.
  package var newer: Side { theirDate == ourDate ? .neither : theirDate > ourDate ? .store : .ours }
}

extension TransactionRow {
  /// A field's value as text for reports.
  private func text(_ field: DescribedField) -> String? {
    guard states(field) else { return nil }
    return switch field {
    case .originalID: originalID
    case .productID: productID
    case .productType: productType.rawValue
    case .purchaseDate: Self.dateText(purchaseDate)
    case .expiresDate: expiresDate.map(Self.dateText)
    case .quantity: "\(quantity)"
    case .ownership: ownership
    case .price: price.map { "\($0.decimal) \($0.currency)" }
    case .reason: reason
    case .purchaseToken: purchaseToken
    }
  }

  /// ISO 8601 with milliseconds, computed from integers because a binary fraction of seconds is not exact.
  private static func dateText(_ milliseconds: Int64) -> String {
    let rest = (milliseconds % 1000 + 1000) % 1000
    let second = Date(timeIntervalSince1970: Double((milliseconds - rest) / 1000)).formatted(.iso8601)
    return "\(second.dropLast()).\(String(1000 + rest).dropFirst())Z"
  }

  private func difference(_ field: DescribedField, from theirs: TransactionRow) -> FieldDifference {
    FieldDifference(
      field: field.name, theirs: theirs.text(field), ours: text(field), theirDate: theirs.version(field).date,
      ourDate: version(field).date)
  }

  /// Whether the store's row contradicts this row in any descriptive field.
  func contradicts(_ theirs: TransactionRow) -> Bool { DescribedField.allCases.contains { contradicts(theirs, $0) } }

  /// All differences: of the state, the account token and the descriptive fields.
  func differences(from theirs: TransactionRow) -> [FieldDifference] {
    var all = DescribedField.allCases.filter { contradicts(theirs, $0) || isUnstated(by: theirs, $0) }
      .map { difference($0, from: theirs) }
    func add<Value: Equatable>(
      _ field: String, _ their: Value?, _ our: Value?, _ theirDate: Int64, _ ourDate: Int64, _ text: (Value) -> String
    ) {
      guard their != our else { return }
      all.append(
        FieldDifference(
          field: field, theirs: their.map(text), ours: our.map(text), theirDate: theirDate, ourDate: ourDate))
    }
    func addState<Value: Equatable>(
      _ field: String, _ value: (TransactionRow) -> Value?, _ text: (Value) -> String = { "\($0)" }
    ) {
      add(field, value(theirs), value(self), theirs.signedDate, signedDate, text)
    }
    addState("statement", { $0.statement == .reversed ? Statement.purchased : $0.statement })
    addState("revocationDate", \.refund?.date, Self.dateText)
    addState("revocationReason", \.refund?.reason)
    addState("revocationPercentageMilli", \.refund?.percentageMilli)
    addState("revocationType", \.refund?.type)
    addState("revocationQuantity", \.refund?.quantity)
    if let theirToken = theirs.token {
      add("appAccountToken", theirToken, token, theirs.tokenDate ?? theirs.signedDate, tokenDate ?? signedDate) {
        AccountToken($0).description
      }
    }
    return all
  }

  /// Whether the ledger has a value that the store's copy could state and does not. This is no contradiction, so there
  /// is nothing to correct.
  func saysMore(than theirs: TransactionRow) -> Bool {
    DescribedField.allCases.contains { isUnstated(by: theirs, $0) }
  }

  /// Apple's signed transactions state price and expiry; receipts and old answers, which name no product type, do not.
  private func isUnstated(by theirs: TransactionRow, _ field: DescribedField) -> Bool {
    [.price, .expiresDate].contains(field) && states(field) && !theirs.states(field)
      && theirs.key.store == Store.apple.code && theirs.trust == .signed && theirs.productType != .unknown
  }

  /// A source without the field does not contradict it, nor does a source with a less exact value.
  private func contradicts(_ theirs: TransactionRow, _ field: DescribedField) -> Bool {
    guard theirs.states(field) else { return false }
    guard states(field), theirs.version(field).isWeak, !version(field).isWeak else { return !isEqual(theirs, field) }
    switch field {
    case .purchaseDate: return !theirs.productID.isEmpty && theirs.purchaseDate / 1000 != purchaseDate / 1000
    case .expiresDate: return (theirs.expiresDate ?? 0) / 1000 != (expiresDate ?? 0) / 1000
    default: return false
    }
  }

  private func isEqual(_ other: TransactionRow, _ field: DescribedField) -> Bool {
    switch field {
    case .originalID: originalID == other.originalID
    case .productID: productID == other.productID
    case .productType: productType == other.productType
    case .purchaseDate: purchaseDate == other.purchaseDate
    case .expiresDate: expiresDate == other.expiresDate
    case .quantity: quantity == other.quantity
    case .ownership: ownership == other.ownership
    case .price: price == other.price
    case .reason: reason == other.reason
    case .purchaseToken: purchaseToken == other.purchaseToken
    }
  }

  /// The decision that makes a fact's values win, for the fields in which versions alone do not decide.
  ///
  /// - Parameters:
  ///   - fact: The fact that is to win.
  ///   - goal: The intended row; only fields in which the fact equals it are considered.
  ///   - fields: The fields to consider.
  /// - Returns: Nil if no field has another value with the same date and trust.
  func revision(toFollow fact: TransactionRow, in goal: TransactionRow, _ fields: [DescribedField]) -> Revision? {
    let open = fields.filter { field in
      let (own, other) = (version(field), fact.version(field))
      return fact.states(field) && states(field) && !isEqual(fact, field) && fact.isEqual(goal, field)
        && own.isWeak == other.isWeak && own.date == other.date && own.trust == other.trust
    }
    return open.map { version($0).revision + 1 }.max().map { Revision($0, of: Set(open)) }
  }
}
