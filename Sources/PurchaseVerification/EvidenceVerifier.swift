import Support

/// Verifies evidence of any store: the entry point from bytes to facts.
///
/// 1. Reject pieces above the size cap.
/// 2. Detect the format from the bytes (`EvidenceFormat`), unless the caller states the kind.
/// 3. Let the store's verifier (`AppleVerifier`, `GoogleVerifier`) check signatures, chains and identity, and decode
///    the facts.
public struct EvidenceVerifier: Sendable {
  private let apple: AppleVerifier
  private let others: [any StoreEvidenceVerifier]
  /// Takes JSON that format detection has already parsed, so that it is parsed once.
  private let google: GoogleVerifier?
  private let bytesMax: Int

  /// A verifier of what both stores sign for an app.
  ///
  /// - Throws: `VerificationError` (`configuration`) for a root certificate or a licensing key that cannot be read.
  public init(identity: StoreIdentity) throws(VerificationError) {
    try self.init(identity: identity, others: [GoogleVerifier(identity: identity)])
  }

  /// - Parameter others: Verifiers of stores other than Apple's.
  /// - Throws: `VerificationError` (`configuration`) that names the root certificate that cannot be read.
  package init(identity: StoreIdentity, others: [any StoreEvidenceVerifier]) throws(VerificationError) {
    apple = try AppleVerifier(identity: identity)
    self.others = others
    google = others.first as? GoogleVerifier
    bytesMax = identity.evidenceBytesMax
  }

  /// The kind of evidence that the bytes look like, or nil if the format is unknown. Verifies nothing.
  /// - Complexity: O(bytes): JSON and the payload of a JWS are parsed.
  public static func detect(_ bytes: [UInt8]) -> EvidenceKind? {
    (try? EvidenceForm.piece(in: bytes)).flatMap { EvidenceFormat($0).kind }
  }

  /// Verifies and decodes one piece of evidence that a store has signed.
  ///
  /// - Parameters:
  ///   - bytes: A compact JWS, a PKCS#7 receipt (ASN.1 or base64), or Google's purchase with its signature, also in the
  ///     forms in which client libraries hand them over (docs/reference/ledger.md, Forms).
  ///   - kind: The expected kind, or nil to detect it.
  ///   - context: Values from the request that the response does not repeat.
  ///   - now: Milliseconds since 1970. Used only to detect dates in the future.
  /// - Throws: `VerificationError`, with code `unsigned` for answers and messages that nobody has signed. Quarantined
  ///   evidence is returned, with `quarantine` set.
  /// - Complexity: O(bytes), plus one signature check per layer if the chain is cached.
  public func verify(
    _ bytes: [UInt8], as kind: EvidenceKind? = nil, context: EvidenceContext = .init(), at now: Int64
  ) async throws(VerificationError) -> VerifiedEvidence {
    let found = try await read(bytes, as: kind, context: context, at: now)
    guard found.kind.isSigned else {
      throw VerificationError(
        .unsigned, "a \(found.kind.name) has no signature: anybody can write one", remedy: "ask the store itself")
    }
    return found
  }

  /// Decodes an answer or message that no store has signed, such as one of `verifyReceipt` or `purchases.products`.
  /// Nothing in the bytes proves that a store wrote them: call it only with what came from the store itself over a
  /// connection that you opened, or from an archive that you vouch for.
  ///
  /// - Throws: `VerificationError`, with code `wrong-kind` for signed evidence. Quarantined evidence is returned, with
  ///   `quarantine` set.
  /// - Complexity: O(bytes).
  public func decodeUnsigned(
    _ bytes: [UInt8], as kind: EvidenceKind? = nil, context: EvidenceContext = .init(), at now: Int64
  ) async throws(VerificationError) -> VerifiedEvidence {
    let found = try await read(bytes, as: kind, context: context, at: now)
    guard !found.kind.isSigned else {
      throw VerificationError(.wrongKind, "a \(found.kind.name) has a signature", remedy: "verify it")
    }
    return found
  }

  /// Verifies signed evidence, and decodes unsigned evidence, for callers that decide about it themselves.
  ///
  /// - Parameter trusted: True if the same bytes were accepted before. Signatures and chains are then not checked
  ///   again.
  package func read(
    _ bytes: [UInt8], as kind: EvidenceKind? = nil, context: EvidenceContext = .init(), at now: Int64,
    trusted: Bool = false
  ) async throws(VerificationError) -> VerifiedEvidence {
    guard bytes.count <= bytesMax else {
      throw VerificationError(.tooLarge, "\(bytes.count) bytes; at most \(bytesMax) are taken (evidence-size-cap)")
    }
    if let kind { return try await verify(bytes, is: kind, context, now, trusted) }
    let bytes = try EvidenceForm.piece(in: bytes)
    switch EvidenceFormat(bytes) {
    case .signed: return try await apple.verifySigned(bytes, as: nil, at: now, trusted: trusted)
    case .document(.verifyReceipt, let answer):
      if let repetition = answer.repetition { throw repetition }
      return try apple.decode(answer: answer, context: context, at: now)
    case .document(let kind, let answer):
      guard kind.store == .google, let google else { return try await verify(bytes, is: kind, context, now, trusted) }
      return try google.verify(answer, as: kind, context: context, at: now, trusted: trusted)
    case .receipt(let kind): return try await verify(bytes, is: kind, context, now, trusted)
    case .unknown(let refusal): throw refusal
    }
  }

  private func verify(
    _ bytes: [UInt8], is kind: EvidenceKind, _ context: EvidenceContext, _ now: Int64, _ trusted: Bool
  ) async throws(VerificationError) -> VerifiedEvidence {
    if kind.store == .apple {
      return try await apple.verify(bytes, as: kind, context: context, at: now, trusted: trusted)
    }
    guard let other = others.first else {
      throw VerificationError(.unsupportedFormat, "no verifier of \(kind.store) is configured")
    }
    return try await other.verify(bytes, as: kind, context: context, at: now, trusted: trusted)
  }
}

/// The format of a piece of evidence, detected from its first bytes and its fields, never from a file name.
enum EvidenceFormat {
  /// A compact JWS. Its payload says which kind it is.
  case signed([UInt8])
  /// A store's JSON document, parsed.
  case document(EvidenceKind, JSONValue)
  /// A PKCS#7 receipt, in ASN.1 or base64.
  case receipt(EvidenceKind)
  case unknown(VerificationError)

  init(_ bytes: [UInt8]) {
    let range = bytes.trimmedRange
    guard let first = bytes[range].first else {
      self = .unknown(VerificationError(.malformed, "empty"))
      return
    }
    if AppleFormat.isDER(bytes[range]) {
      self = .receipt(.receipt)
    } else if first == UInt8(ascii: "{") {
      self = Self.object(bytes, range)
    } else if bytes[range].starts(with: Self.headerStart) || bytes[range].contains(UInt8(ascii: ".")) {
      self = .signed(bytes)
    } else {
      self = .receipt(.receipt)
    }
  }

  /// Base64url of `{"`. Nearly every JWS header starts with it, and no receipt does.
  private static let headerStart = Array("eyJ".utf8)

  private static func object(_ bytes: [UInt8], _ range: Range<Int>) -> Self {
    do throws(JSONReader.Failure) {
      let document = try JSONReader.read(bytes, duplicates: .kept)
      if let kind = kind(of: document) { return .document(kind, document) }
      return .unknown(VerificationError(.unknownKind, "JSON, but not in a format of a store", remedy: "state its kind"))
    } catch {
      // Receipts of iOS 6 are property lists, which also start with a brace. The receipt verifier rejects them with a
      // reason.
      if AppleFormat.isPropertyList(bytes[range]) { return .receipt(.receipt) }
      return .unknown(VerificationError(.malformed, "not JSON: \(error)"))
    }
  }

  /// Google's documents have fields that Apple's never have, so the order matters only for speed.
  private static func kind(of document: JSONValue) -> EvidenceKind? {
    // A recorded HTTP exchange is of the kind of its response body.
    if document["http_status"]?.integer != nil { return (try? GoogleAnswer(document))?.kind ?? .googleProduct }
    if document["voidedPurchases"] != nil { return .googleVoided }
    if GoogleAnswer.isOrder(document) { return .googleOrder }
    if document["purchaseState"] != nil || document["purchaseTimeMillis"] != nil
      || document["purchaseStateContext"] != nil
      || document["kind"]?.string?.hasPrefix("androidpublisher#productPurchase") == true
    {
      return .googleProduct
    }
    if document["signature"]?.string != nil || GoogleAnswer.signed(document) != nil { return .googlePurchase }
    if GoogleAnswer.isToken(document) { return .googleToken }
    if document["message"]?["data"] != nil || document["eventTimeMillis"] != nil { return .googleNotification }
    return AppleFormat.kind(ofDocument: document)
  }

  var kind: EvidenceKind? {
    switch self {
    case .signed(let bytes):
      guard let payload = try? CompactJWS(bytes).decodedPayload() else { return nil }
      return AppleFormat.kind(of: payload)
    case .document(let kind, _): return kind
    case .receipt(let kind): return kind
    case .unknown: return nil
    }
  }
}
