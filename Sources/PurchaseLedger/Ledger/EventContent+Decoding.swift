extension EventContent {
  /// Reads a body by its type and version.
  ///
  /// - Throws: `CanonicalDecoder.Damaged` for bytes that this version of the program did not write.
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
    }
  }
}
