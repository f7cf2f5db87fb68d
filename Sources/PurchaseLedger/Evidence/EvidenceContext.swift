/// What the bytes of an answer do not say because it stood in the question (`purchases.products`).
public struct EvidenceContext: Sendable, Hashable {
  public var productID: String?
  public var purchaseToken: String?
  public var packageName: String?
  /// For evidence that names no environment.
  public var environment: StoreEnvironment?

  public init(
    productID: String? = nil, purchaseToken: String? = nil, packageName: String? = nil,
    environment: StoreEnvironment? = nil
  ) {
    self.productID = productID
    self.purchaseToken = purchaseToken
    self.packageName = packageName
    self.environment = environment
  }
}

/// Verifies evidence of one store. Apple's and Google's verifiers conform; `EvidenceVerifier` picks by format.
public protocol StoreEvidenceVerifier: Sendable {
  /// Verifies and decodes.
  ///
  /// - Parameters:
  ///   - bytes: One piece, as it came: base64 with or without newlines, DER, compact JWS, JSON.
  ///   - kind: What it has to be.
  ///   - now: Milliseconds since 1970; decides only whether a date lies in the future.
  ///   - trusted: The very bytes were accepted before: signatures and chains are not checked again.
  /// - Throws: `Refusal` with a code that does not quarantine; quarantine is a property of the result.
  func verify(
    _ bytes: [UInt8], as kind: EvidenceKind, context: EvidenceContext, at now: Int64, trusted: Bool
  ) async throws(Refusal) -> VerifiedEvidence
}
