extension EventContent {
  /// The newest version of every type.
  static let version: UInt16 = 1

  /// The bytes of the event's body.
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
    }
    return encoder.bytes
  }

  /// The fields that make two events one; nil where it is the whole body.
  private var keyFields: [UInt8]? {
    var encoder = CanonicalEncoder()
    switch self {
    case .transaction, .claim, .policy, .quarantine, .correction, .acknowledgement, .accountErased, .amendment:
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
    }
    return encoder.bytes
  }

  /// The event's unique key, of decoded fields only.
  func key(body: [UInt8]) -> EventKey { EventKey(type: type, fields: keyFields ?? body) }
}

extension CanonicalEncoder {
  /// `tx`. An environment without a code is written as 0: such a transaction is named only by what is quarantined.
  mutating func transaction(_ key: TransactionKey) {
    u8(key.store.code)
    u8(key.environment.code ?? 0)
    text(key.id)
  }
}
