import Foundation

extension TransactionRow {
  /// Takes the greater of each part, so order, repetition and interleaving of facts cannot matter.
  ///
  /// - Precondition: Both are of one transaction.
  mutating func join(_ other: TransactionRow) {
    let before = stateStamp
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

  /// Whether the state of the other row is the greater one: date, statement, trust, then the revocation's fields.
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
  /// Orders tokens of one transaction or grant by the date of the fact that named them, then by their bytes.
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

  /// Whether nothing of the purchase is left, `quantity` pieces having been bought.
  func isWhole(of quantity: Int64) -> Bool {
    if type == "FAMILY_REVOKE" { return true }
    if let percentageMilli { return percentageMilli >= 100_000 }
    if let revoked = self.quantity { return revoked >= quantity }
    return true
  }

  /// Thousandths of a percent that went back; of quantities, rounded down.
  func sharedMilli(of quantity: Int64) -> Int64 {
    if isWhole(of: quantity) { return 100_000 }
    if let percentageMilli { return max(0, percentageMilli) }
    let (product, overflow) = max(0, self.quantity ?? 0).multipliedReportingOverflow(by: 100_000)
    return overflow || quantity <= 0 ? 100_000 : product / quantity
  }
}
