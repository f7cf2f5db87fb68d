extension StoreTransaction {
  /// Reads the body of a `transaction` event, version 1.
  init(from decoder: inout CanonicalDecoder) throws {
    let key = try decoder.key()
    let original = try decoder.text()
    let product = try decoder.text()
    self.init(
      store: key.store, environment: key.environment, transactionID: key.id, originalTransactionID: original,
      productID: product.isEmpty ? nil : product, productType: ProductType(rawValue: try decoder.text()),
      purchaseDate: try decoder.i64(), expiresDate: try decoder.optional { try $0.i64() },
      quantity: try decoder.i64(), ownership: OwnershipType(rawValue: try decoder.text()),
      appAccountToken: try decoder.optional { AccountToken(try $0.id16()) },
      price: try decoder.optional { Money(milliunits: try $0.i64(), currency: try $0.text()) },
      reason: try decoder.text(), purchaseToken: try decoder.optional { try $0.text() },
      isAcknowledged: try decoder.bool(), signedDate: try decoder.i64(),
      trust: try Self.value(Trust(rawValue: try decoder.u8())),
      statement: try Self.value(Statement(rawValue: try decoder.u8())),
      revocation: try decoder.optional { try Revocation(from: &$0) })
  }

  private static func value<Value>(_ value: Value?) throws -> Value {
    guard let value else { throw CanonicalDecoder.Damaged() }
    return value
  }
}

extension Revocation {
  init(from decoder: inout CanonicalDecoder) throws {
    self.init(
      date: try decoder.i64(), reason: try decoder.optional { try $0.text() },
      percentageMilli: try decoder.optional { try $0.i64() }, type: try decoder.optional { try $0.text() },
      quantity: try decoder.optional { try $0.i64() })
  }
}
