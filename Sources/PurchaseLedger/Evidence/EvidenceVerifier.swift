/// Takes any evidence: finds out what the bytes are and has the store's verifier check and decode them.
public struct EvidenceVerifier: Sendable {
  private let apple: AppleVerifier
  private let others: [any StoreEvidenceVerifier]
  /// Takes JSON that was parsed to find out what it is.
  private let google: GoogleVerifier?
  private let bytesMax: Int

  /// - Throws: `LedgerError` (`configuration`) that names the root certificate which is none.
  public init(identity: StoreIdentity) throws(LedgerError) {
    try self.init(identity: identity, others: [GoogleVerifier(identity: identity)])
  }

  /// - Parameter others: The verifiers of other stores than Apple's; each is asked for the kinds of its store.
  /// - Throws: `LedgerError` (`configuration`) that names the root certificate which is none.
  package init(identity: StoreIdentity, others: [any StoreEvidenceVerifier]) throws(LedgerError) {
    apple = try AppleVerifier(identity: identity)
    self.others = others
    google = others.first as? GoogleVerifier
    bytesMax = identity.evidenceBytesMax
  }

  /// What bytes look like; nil when they are nothing that is known. Nothing is verified.
  /// - Complexity: O(bytes): JSON and the payload of a JWS are parsed.
  public static func detect(_ bytes: [UInt8]) -> EvidenceKind? { EvidenceFormat(bytes).kind }

  /// Verifies and decodes one piece of evidence.
  ///
  /// - Parameters:
  ///   - bytes: Compact JWS, PKCS#7 receipt in ASN.1 or base64, JSON of a store.
  ///   - kind: What it has to be; nil to find out.
  ///   - context: What the bytes cannot say because it stood in the question.
  ///   - now: Milliseconds since 1970; decides only whether a date lies in the future.
  ///   - trusted: The very bytes were accepted before: signatures and chains are not checked again.
  /// - Throws: `Refusal`. Evidence that has to wait is returned with `quarantine` set.
  /// - Complexity: O(bytes) and, with a chain that is known, one check of a signature for each layer.
  public func verify(
    _ bytes: [UInt8], as kind: EvidenceKind? = nil, context: EvidenceContext = .init(), at now: Int64,
    trusted: Bool = false
  ) async throws(Refusal) -> VerifiedEvidence {
    guard bytes.count <= bytesMax else {
      throw Refusal(.tooLarge, "\(bytes.count) bytes; at most \(bytesMax) are taken (evidence-size-cap)")
    }
    if let kind { return try await verify(bytes, is: kind, context, now, trusted) }
    switch EvidenceFormat(bytes) {
    case .signed: return try await apple.verifySigned(bytes, as: nil, at: now, trusted: trusted)
    case .document(.verifyReceipt, let answer):
      if let repetition = answer.repetition { throw repetition }
      return try apple.decode(answer: answer, context: context, at: now)
    case .document(let kind, let answer):
      guard kind.store == .google, let google else { return try await verify(bytes, is: kind, context, now, trusted) }
      return try google.verify(answer, as: kind, context: context, at: now, trusted: trusted)
    case .receipt(let kind): return try await verify(bytes, is: kind, context, now, trusted)
    case .unknown(let reason): throw Refusal(.malformed, reason)
    }
  }

  private func verify(
    _ bytes: [UInt8], is kind: EvidenceKind, _ context: EvidenceContext, _ now: Int64, _ trusted: Bool
  ) async throws(Refusal) -> VerifiedEvidence {
    if kind.store == .apple {
      return try await apple.verify(bytes, as: kind, context: context, at: now, trusted: trusted)
    }
    guard let other = others.first else {
      throw Refusal(.unsupportedFormat, "no verifier of \(kind.store) is configured")
    }
    return try await other.verify(bytes, as: kind, context: context, at: now, trusted: trusted)
  }
}

extension EvidenceKind {
  /// Whose evidence it is.
  package var store: Store {
    switch self {
    case .transaction, .notification, .renewal, .receipt, .verifyReceipt, .notificationV1: .apple
    case .googlePurchase, .googleProduct, .googleVoided, .googleNotification: .google
    }
  }
}
