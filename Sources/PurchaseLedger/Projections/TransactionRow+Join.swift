#if canImport(FoundationEssentials)
  import FoundationEssentials
#else
  import Foundation
#endif

extension TransactionRow {
  /// Takes the greater value of each part, so that the result does not depend on the order and repetition of facts.
  ///
  /// - Precondition: Both rows are of the same transaction.
  mutating func join(_ other: TransactionRow) {
    let before = stateVersion
    if precedes(other) {
      signedDate = other.signedDate
      statement = other.statement
      trust = other.trust
      revocation = other.revocation
    }
    voided.join(other.voided)
    joinToken(other)
    joinDescription(other, before: before)
    isAcknowledged = isAcknowledged || other.isAcknowledged
  }

  /// Whether the other row's state is greater: compares date, statement, trust, then the revocation's fields.
  func precedes(_ other: TransactionRow) -> Bool {
    if signedDate != other.signedDate { return signedDate < other.signedDate }
    if statement != other.statement { return statement < other.statement }
    if trust != other.trust { return trust < other.trust }
    return Self.absentFirst(revocation, other.revocation) { $0.precedes($1) }
  }

  private mutating func joinToken(_ other: TransactionRow) {
    guard let token = other.token, let date = other.tokenDate else { return }
    if let own = self.token, let ownDate = tokenDate, !own.tokenPrecedes(ownDate, token, date) { return }
    self.token = token
    tokenDate = date
  }

  static func absentFirst<Value>(_ a: Value?, _ b: Value?, by precedes: (Value, Value) -> Bool) -> Bool {
    guard let b else { return false }
    guard let a else { return true }
    return precedes(a, b)
  }
}

extension UUID {
  /// Orders the tokens of a transaction or grant by the date of the fact that named them, then by their bytes.
  func tokenPrecedes(_ date: Int64, _ other: UUID, _ otherDate: Int64) -> Bool {
    if date != otherDate { return date < otherDate }
    return withUnsafeBytes(of: uuid) { a in
      withUnsafeBytes(of: other.uuid) { b in a.lexicographicallyPrecedes(b) }
    }
  }
}

extension Revocation {
  fileprivate func precedes(_ other: Self) -> Bool {
    if date != other.date { return date < other.date }
    if percentageMilli != other.percentageMilli {
      return TransactionRow.absentFirst(percentageMilli, other.percentageMilli, by: <)
    }
    if reason != other.reason { return Self.textPrecedes(reason, other.reason) }
    if type != other.type { return Self.textPrecedes(type, other.type) }
    return TransactionRow.absentFirst(quantity, other.quantity, by: <)
  }

  private static func textPrecedes(_ a: String?, _ b: String?) -> Bool {
    TransactionRow.absentFirst(a, b) { $0.utf8.lexicographicallyPrecedes($1.utf8) }
  }

  /// Whether the whole purchase of `quantity` items is revoked.
  func isWhole(of quantity: Int64) -> Bool {
    if type == "FAMILY_REVOKE" { return true }
    if let percentageMilli { return percentageMilli >= 100_000 }
    if let revoked = self.quantity { return revoked >= quantity }
    return true
  }

  /// The refunded share in thousandths of a percent; computed from quantities it is rounded down.
  func sharedMilli(of quantity: Int64) -> Int64 {
    if isWhole(of: quantity) { return 100_000 }
    if let percentageMilli { return max(0, percentageMilli) }
    let (product, overflow) = max(0, self.quantity ?? 0).multipliedReportingOverflow(by: 100_000)
    return overflow || quantity <= 0 ? 100_000 : product / quantity
  }
}

// MARK: - Descriptive fields

extension TransactionRow {
  /// The version of fields without a version of their own.
  var stateVersion: FieldVersion { FieldVersion(date: signedDate, trust: trust) }

  func version(_ field: DescribedField) -> FieldVersion { versions[field] ?? stateVersion }

  /// Whether the row has a value for a field.
  func states(_ field: DescribedField) -> Bool {
    switch field {
    case .originalID: !isOriginal
    case .productID: !productID.isEmpty
    case .productType: productType != .unknown
    case .purchaseDate, .quantity: true
    case .expiresDate: expiresDate != nil
    case .ownership: !ownership.isEmpty
    case .price: price != nil
    case .reason: !reason.isEmpty
    case .purchaseToken: purchaseToken != nil
    }
  }

  /// The versions of a single fact's row.
  ///
  /// A fact without a product (an entry of a voided list) states no quantity, and an inexact purchase date. Receipts,
  /// which name no product type, have dates in whole seconds, which are inexact too.
  static func versions(of row: TransactionRow, revision: Revision?) -> FieldVersions {
    var versions = FieldVersions()
    func isRounded(_ date: Int64?) -> Bool {
      row.key.store == Store.apple.code && row.productType == .unknown && (date ?? 1) % 1000 == 0
    }
    let isBare = row.productID.isEmpty
    let weakDate = isBare || isRounded(row.purchaseDate)
    let weakEnd = isRounded(row.expiresDate)
    guard revision != nil || isBare || weakDate || weakEnd else { return versions }
    for field in DescribedField.allCases where row.states(field) {
      var version = row.stateVersion
      if let revision, revision.fields.contains(field) { version.revision = revision.number }
      version.isWeak =
        switch field {
        case .purchaseDate: weakDate
        case .expiresDate: weakEnd
        case .quantity: isBare
        default: false
        }
      if version != row.stateVersion { versions.append(field, version) }
    }
    return versions
  }

  /// Takes the value with the greater version for each field, and the greater value if the versions are equal, so that
  /// the order of facts does not matter.
  ///
  /// - Parameter before: The version of this row's state before the states were joined.
  mutating func joinDescription(_ other: TransactionRow, before: FieldVersion) {
    var join = StampJoin(
      own: versions, ownState: before, other: other.versions, otherState: other.stateVersion, joined: stateVersion)
    // Of original ids with equal versions the smallest wins.
    if join.takes(
      .originalID, states(.originalID), other.states(.originalID),
      {
        other.originalID.utf8.lexicographicallyPrecedes(originalID.utf8)
      })
    {
      originalID = other.originalID
    }
    if join.takes(
      .productID, states(.productID), other.states(.productID),
      {
        productID.utf8.lexicographicallyPrecedes(other.productID.utf8)
      })
    {
      productID = other.productID
    }
    if join.takes(.productType, states(.productType), other.states(.productType), { productType < other.productType }) {
      productType = other.productType
    }
    if join.takes(.purchaseDate, true, true, { purchaseDate < other.purchaseDate }) {
      purchaseDate = other.purchaseDate
    }
    if join.takes(
      .expiresDate, states(.expiresDate), other.states(.expiresDate),
      {
        Self.absentFirst(expiresDate, other.expiresDate, by: <)
      })
    {
      expiresDate = other.expiresDate
    }
    if join.takes(.quantity, true, true, { quantity < other.quantity }) { quantity = other.quantity }
    if join.takes(
      .ownership, states(.ownership), other.states(.ownership),
      {
        ownership.utf8.lexicographicallyPrecedes(other.ownership.utf8)
      })
    {
      ownership = other.ownership
    }
    if join.takes(.price, states(.price), other.states(.price), { Self.absentFirst(price, other.price, by: <) }) {
      price = other.price
    }
    if join.takes(
      .reason, states(.reason), other.states(.reason),
      {
        reason.utf8.lexicographicallyPrecedes(other.reason.utf8)
      })
    {
      reason = other.reason
    }
    if join.takes(
      .purchaseToken, states(.purchaseToken), other.states(.purchaseToken),
      {
        Self.absentFirst(purchaseToken, other.purchaseToken) { $0.utf8.lexicographicallyPrecedes($1.utf8) }
      })
    {
      purchaseToken = other.purchaseToken
    }
    versions = join.versions
  }
}

/// Decides field by field, in the order of their numbers, and collects the versions of the winning values.
private struct StampJoin {
  let own: FieldVersions
  let ownState: FieldVersion
  let other: FieldVersions
  let otherState: FieldVersion
  let joined: FieldVersion
  private(set) var versions = FieldVersions()

  init(
    own: FieldVersions, ownState: FieldVersion, other: FieldVersions, otherState: FieldVersion, joined: FieldVersion
  ) {
    self.own = own
    self.ownState = ownState
    self.other = other
    self.otherState = otherState
    self.joined = joined
  }

  /// Whether the other row's value wins.
  ///
  /// - Parameter isSmaller: Whether the own value loses if the versions are equal.
  mutating func takes(
    _ field: DescribedField, _ isOwn: Bool, _ isOther: Bool, _ isSmaller: () -> Bool
  ) -> Bool {
    guard isOwn || isOther else { return false }
    let mine = isOwn ? own[field] ?? ownState : nil
    let theirs = isOther ? other[field] ?? otherState : nil
    guard let mine, let theirs else {
      note(field, mine ?? theirs)
      return mine == nil
    }
    note(field, max(mine, theirs))
    return mine == theirs ? isSmaller() : mine < theirs
  }

  private mutating func note(_ field: DescribedField, _ version: FieldVersion?) {
    if let version, version != joined { versions.append(field, version) }
  }
}
