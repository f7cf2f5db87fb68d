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
    case .document(.verifyReceipt, let answer): return try apple.decode(answer: answer, context: context, at: now)
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

/// What bytes look like, found out by their first bytes and their fields, never by a file's name.
enum EvidenceFormat {
  /// A compact JWS; what it says it is stands in its payload.
  case signed([UInt8])
  /// JSON of a store.
  case document(EvidenceKind, JSONValue)
  /// ASN.1, or base64 of a receipt.
  case receipt(EvidenceKind)
  case unknown(String)

  init(_ bytes: [UInt8]) {
    let range = bytes.trimmedRange
    guard let first = bytes[range].first else {
      self = .unknown("empty")
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

  /// Base64url of `{"`, with which the header of nearly every JWS begins; no receipt does.
  private static let headerStart = Array("eyJ".utf8)

  private static func object(_ bytes: [UInt8], _ range: Range<Int>) -> Self {
    do throws(JSONReader.Failure) {
      let document = try JSONReader.read(bytes)
      if let kind = kind(of: document) { return .document(kind, document) }
      return .unknown("JSON, but of no form that a store answers with; say what it is with --format")
    } catch {
      // iOS 6's receipts begin as JSON does; the verifier says what is wrong with them.
      if AppleFormat.isPropertyList(bytes[range]) { return .receipt(.receipt) }
      return .unknown("not JSON: \(error)")
    }
  }

  /// Google's forms have fields that Apple's never have, so the order does not matter but for speed.
  private static func kind(of document: JSONValue) -> EvidenceKind? {
    // A recorded exchange is what was answered.
    if document["http_status"]?.integer != nil { return (try? GoogleAnswer(document))?.kind ?? .googleProduct }
    if document["voidedPurchases"] != nil { return .googleVoided }
    if document["purchaseState"] != nil || document["purchaseTimeMillis"] != nil
      || document["purchaseStateContext"] != nil
      || document["kind"]?.string?.hasPrefix("androidpublisher#productPurchase") == true
    {
      return .googleProduct
    }
    if document["signature"]?.string != nil { return .googlePurchase }
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
