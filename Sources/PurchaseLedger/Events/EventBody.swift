// MARK: - Writing

extension EventContent {
  /// The current version of every type's body.
  static let version: UInt16 = 1

  /// The canonical bytes of the event's body.
  var body: [UInt8] {
    var encoder = CanonicalEncoder()
    switch self {
    case .transaction(let fact): fact.encodeBody(into: &encoder)
    case .notification(let fact):
      encoder.u8(fact.store.code)
      encoder.u8(fact.environment?.code ?? 1)
      encoder.text(fact.uuid)
      encoder.text(fact.type)
      encoder.optional(fact.subtype) { $0.text($1) }
      encoder.i64(fact.signedDate)
      encoder.optional(fact.transaction) { $0.transaction($1) }
    case .claim(let key, let account, let isTransfer, let after):
      encoder.transaction(key)
      encoder.id16(account.uuid)
      encoder.u8(isTransfer ? 1 : 0)
      encoder.i64(after)
    case .accountOpened(let account, let token):
      encoder.id16(account.uuid)
      encoder.id16(token.uuid)
    case .accountErased(let account): encoder.id16(account.uuid)
    case .policy(let name, let value, let after):
      encoder.text(name)
      encoder.text(value)
      encoder.i64(after)
    case .quarantine(let kind, let reason, let transaction, let signedDate, let note):
      encoder.u8(kind.rawValue)
      encoder.text(reason)
      encoder.optional(transaction) { $0.transaction($1) }
      encoder.optional(signedDate) { $0.i64($1) }
      encoder.optional(note) { $0.text($1) }
    case .decision(let key, let date, let percentage, let policy, let value):
      encoder.transaction(key)
      encoder.i64(date)
      encoder.i64(percentage)
      encoder.text(policy)
      encoder.text(value)
    case .correction(let run, let kind, let key):
      encoder.i64(run)
      encoder.u8(kind.rawValue)
      encoder.transaction(key)
    case .acknowledgement(let key): encoder.transaction(key)
    case .audit(let kind, let account, let subject, let outcome, let detail, let nonce):
      encoder.text(kind)
      encoder.optional(account) { $0.id16($1.uuid) }
      encoder.optional(subject) { $0.text($1) }
      encoder.text(outcome)
      encoder.optional(detail) { $0.text($1) }
      encoder.id16(nonce.uuid)
    case .amendment(let fact, let revision):
      encoder.i64(revision.number)
      encoder.u16(revision.mask)
      fact.encodeBody(into: &encoder)
    case .trait(let trait):
      encoder.transaction(trait.key)
      encoder.text(trait.name.rawValue)
      encoder.text(trait.value)
      encoder.i64(trait.date)
    case .act(let act): act.encodeBody(into: &encoder)
    }
    return encoder.bytes
  }

  /// The fields that identify the event, so that it is recorded once; nil if the whole body does.
  private var keyFields: [UInt8]? {
    var encoder = CanonicalEncoder()
    switch self {
    case .transaction, .claim, .policy, .quarantine, .correction, .acknowledgement, .accountErased, .amendment, .trait:
      return nil
    case .notification(let fact):
      encoder.u8(fact.store.code)
      encoder.u8(fact.environment?.code ?? 1)
      encoder.text(fact.uuid)
    case .accountOpened(let account, _): encoder.id16(account.uuid)
    case .decision(let key, let date, let percentage, _, _):
      encoder.transaction(key)
      encoder.i64(date)
      encoder.i64(percentage)
    case .audit(_, _, _, _, _, let nonce): encoder.id16(nonce.uuid)
    case .act(let act): encoder.id16(act.nonce.uuid)
    }
    return encoder.bytes
  }

  /// The event's unique key.
  func key(body: [UInt8]) -> EventKey { EventKey(type: type, fields: keyFields ?? body) }
}

extension StoreTransaction {
  /// Writes the body of a `transaction` event, version 1.
  ///
  /// - Precondition: The environment has a code; evidence of others is quarantined.
  package func encodeBody(into encoder: inout CanonicalEncoder) {
    guard let environment = environment.code else {
      preconditionFailure("environment \(environment) is never recorded")
    }
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

extension CanonicalEncoder {
  /// A transaction's key (`tx`). An environment without a code is written as 0; only quarantined evidence names such
  /// transactions.
  mutating func transaction(_ key: TransactionKey) {
    u8(key.store.code)
    u8(key.environment.code ?? 0)
    text(key.id)
  }
}

// MARK: - Reading

extension EventContent {
  /// Decodes a body by its type and version.
  ///
  /// - Throws: `CanonicalDecoder.Damaged` for bytes that this version of the program cannot have written.
  init(type: EventType, version: Int64, body: [UInt8]) throws {
    guard version == 1 else { throw CanonicalDecoder.Damaged() }
    var decoder = CanonicalDecoder(body)
    self = try Self.read(type, from: &decoder)
    try decoder.end()
  }

  private static func read(_ type: EventType, from decoder: inout CanonicalDecoder) throws -> Self {
    switch type {
    case .transaction: return .transaction(try StoreTransaction(from: &decoder))
    case .notification:
      guard let store = Store(code: try decoder.u8()), let environment = StoreEnvironment(code: try decoder.u8())
      else { throw CanonicalDecoder.Damaged() }
      return .notification(
        NotificationFact(
          store: store, environment: environment, uuid: try decoder.text(), type: try decoder.text(),
          subtype: try decoder.optional { try $0.text() }, signedDate: try decoder.i64(),
          transaction: try decoder.optional { try $0.key() }))
    case .claim:
      return .claim(
        try decoder.key(), account: AccountID(try decoder.id16()), isTransfer: try decoder.bool(),
        after: try decoder.i64())
    case .accountOpened:
      return .accountOpened(AccountID(try decoder.id16()), token: AccountToken(try decoder.id16()))
    case .accountErased: return .accountErased(AccountID(try decoder.id16()))
    case .policy: return .policy(name: try decoder.text(), value: try decoder.text(), after: try decoder.i64())
    case .quarantine:
      guard let kind = EvidenceKind(rawValue: try decoder.u8()) else { throw CanonicalDecoder.Damaged() }
      return .quarantine(
        kind: kind, reason: try decoder.text(), transaction: try decoder.optional { try $0.key() },
        signedDate: try decoder.optional { try $0.i64() }, note: try decoder.optional { try $0.text() })
    case .decision:
      return .decision(
        try decoder.key(), revocationDate: try decoder.i64(), percentageMilli: try decoder.i64(),
        policy: try decoder.text(), value: try decoder.text())
    case .correction:
      let run = try decoder.i64()
      guard let kind = ReconcileClass(rawValue: try decoder.u8()) else { throw CanonicalDecoder.Damaged() }
      return .correction(run: run, class: kind, try decoder.key())
    case .acknowledgement: return .acknowledgement(try decoder.key())
    case .audit:
      return .audit(
        kind: try decoder.text(), account: try decoder.optional { AccountID(try $0.id16()) },
        subject: try decoder.optional { try $0.text() }, outcome: try decoder.text(),
        detail: try decoder.optional { try $0.text() }, nonce: AccountID(try decoder.id16()))
    case .amendment:
      guard let revision = Revision(try decoder.i64(), mask: try decoder.u16()) else {
        throw CanonicalDecoder.Damaged()
      }
      return .amendment(try StoreTransaction(from: &decoder), revision: revision)
    case .trait:
      let key = try decoder.key()
      let name = TransactionTrait.Name(rawValue: try decoder.text())
      return .trait(TransactionTrait(key: key, name, try decoder.text(), date: try decoder.i64()))
    case .act: return .act(try Act(from: &decoder))
    }
  }
}

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
