import Foundation

/// A field in which the store's book and ours say different things, and which of them said it later.
public struct FieldDifference: Sendable, Hashable {
  public enum Side: String, Sendable, Hashable { case store, ours, neither }

  /// As exports spell it.
  public var field: String
  /// Nil where the book does not say it.
  public var theirs: String?
  public var ours: String?
  /// When it was said, in milliseconds since 1970.
  public var theirDate: Int64
  public var ourDate: Int64

  public var newer: Side { theirDate == ourDate ? .neither : theirDate > ourDate ? .store : .ours }
}

extension DescribedField {
  /// As exports and reports spell it.
  var name: String {
    switch self {
    case .originalID: "originalTransactionId"
    case .productID: "productId"
    case .productType: "productType"
    case .purchaseDate: "purchaseDate"
    case .expiresDate: "expiresDate"
    case .quantity: "quantity"
    case .ownership: "ownership"
    case .price: "price"
    case .reason: "transactionReason"
    case .purchaseToken: "purchaseToken"
    }
  }
}

extension TransactionRow {
  /// What the row says of a field, for people; equal texts are equal values.
  private func text(_ field: DescribedField) -> String? {
    guard states(field) else { return nil }
    return switch field {
    case .originalID: originalID
    case .productID: productID
    case .productType: productType.rawValue
    case .purchaseDate: Self.text(purchaseDate)
    case .expiresDate: expiresDate.map(Self.text)
    case .quantity: "\(quantity)"
    case .ownership: ownership
    case .price: price.map { "\(Posting.decimal($0)) \($0.currency)" }
    case .reason: reason
    case .purchaseToken: purchaseToken
    }
  }

  private static func text(_ milliseconds: Int64) -> String {
    Date(timeIntervalSince1970: Double(milliseconds) / 1000).formatted(
      Date.ISO8601FormatStyle(includingFractionalSeconds: true))
  }

  private func difference(_ field: DescribedField, from theirs: TransactionRow) -> FieldDifference {
    FieldDifference(
      field: field.name, theirs: theirs.text(field), ours: text(field), theirDate: theirs.stamp(field).date,
      ourDate: stamp(field).date)
  }

  /// Whether the store's row says something else in any field of the description.
  func contradicts(_ theirs: TransactionRow) -> Bool { DescribedField.allCases.contains { contradicts(theirs, $0) } }

  /// All that differs: what the state says, the token, the description.
  func differences(from theirs: TransactionRow) -> [FieldDifference] {
    var all = DescribedField.allCases.filter { contradicts(theirs, $0) }.map { difference($0, from: theirs) }
    func add(_ field: String, _ theirText: String?, _ ourText: String?, _ theirDate: Int64, _ ourDate: Int64) {
      guard theirText != ourText else { return }
      all.append(
        FieldDifference(field: field, theirs: theirText, ours: ourText, theirDate: theirDate, ourDate: ourDate))
    }
    let states = [theirs, self].map { ($0.statement == .reversed ? Statement.purchased : $0.statement) }
    add("statement", "\(states[0])", "\(states[1])", theirs.signedDate, signedDate)
    add(
      "revocationDate", theirs.refund.map { Self.text($0.date) }, refund.map { Self.text($0.date) }, theirs.signedDate,
      signedDate)
    if let theirToken = theirs.token {
      add(
        "appAccountToken", AccountToken(theirToken).description, token.map { AccountToken($0).description },
        theirs.tokenDate ?? theirs.signedDate, tokenDate ?? signedDate)
    }
    return all
  }

  /// A source that has no room for a field does not contradict it, nor does one that knows it less exactly.
  private func contradicts(_ theirs: TransactionRow, _ field: DescribedField) -> Bool {
    guard theirs.states(field) else {
      // Apple's signed transactions state what was paid and when it ends; receipts and old answers, which name no type, do not.
      return [.price, .expiresDate].contains(field) && states(field) && theirs.key.store == Store.apple.code
        && theirs.trust == .signed && theirs.productType != .unknown
    }
    guard states(field), theirs.stamp(field).isWeak, !stamp(field).isWeak else { return !isEqual(theirs, field) }
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

  /// The revision with which a person's decision for a fact takes hold.
  ///
  /// - Parameter goal: What the fact is part of; a field counts in which both say the same.
  /// - Returns: Nil where nothing that was said at the same time, and as surely, stands against the fact: only then is there something to decide.
  func revision(toFollow fact: TransactionRow, in goal: TransactionRow, _ fields: [DescribedField]) -> Int64? {
    fields.filter { field in
      let (own, other) = (stamp(field), fact.stamp(field))
      return fact.states(field) && states(field) && !isEqual(fact, field) && fact.isEqual(goal, field)
        && own.isWeak == other.isWeak && own.date == other.date && own.trust == other.trust
    }.map { stamp($0).revision + 1 }.max()
  }
}
