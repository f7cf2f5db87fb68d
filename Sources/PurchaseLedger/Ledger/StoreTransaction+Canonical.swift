extension StoreTransaction {
  /// The body of a `transaction` event, version 1.
  ///
  /// - Precondition: The environment has a code: others are quarantined before anything is booked.
  package func encodeBody(into encoder: inout CanonicalEncoder) {
    guard let environment = environment.code else { preconditionFailure("environment \(environment) is never booked") }
    encoder.u8(store.code)
    encoder.u8(environment)
    encoder.text(transactionID)
    encoder.text(originalTransactionID)
    encoder.text(productID ?? "")
    encoder.text(productType.rawValue)
    encoder.i64(purchaseDate)
    encoder.optional(expiresDate) { $0.i64($1) }
    encoder.u64(UInt64(bitPattern: quantity))
    encoder.text(ownership.rawValue)
    encoder.optional(appAccountToken) { $0.id16($1.uuid) }
    encoder.optional(price) {
      $0.i64($1.milliunits)
      $0.text($1.currency)
    }
    encoder.text(reason)
    encoder.optional(purchaseToken) { $0.text($1) }
    encoder.bool(isAcknowledged)
    encoder.i64(signedDate)
    encoder.u8(trust.rawValue)
    encoder.u8(statement.rawValue)
    encoder.optional(revocation) { $1.encode(into: &$0) }
  }
}

extension Revocation {
  package func encode(into encoder: inout CanonicalEncoder) {
    encoder.i64(date)
    encoder.optional(reason) { $0.text($1) }
    encoder.optional(percentageMilli) { $0.u64(UInt64(bitPattern: $1)) }
    encoder.optional(type) { $0.text($1) }
    encoder.optional(quantity) { $0.u64(UInt64(bitPattern: $1)) }
  }
}
