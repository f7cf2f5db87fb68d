/// Whose evidence is expected. What is nil is not checked; `import` needs what its stores need.
public struct StoreIdentity: Sendable {
  /// DER of the pinned roots; without any, nothing of Apple verifies.
  public var rootCertificates: [[UInt8]]
  public var bundleID: String?
  /// Checked in production notifications, where Apple gives it.
  public var appAppleID: Int64?
  /// Evidence of another environment is refused when set; the ledger's import leaves it nil.
  public var requiredEnvironment: StoreEnvironment?
  /// DER (SubjectPublicKeyInfo) of the app's licensing key in the Play console.
  public var googlePublicKey: [UInt8]?
  public var packageName: String?
  /// How much later than our clock a signing date may be, in milliseconds.
  public var futureSkewMilliseconds: Int64
  /// Larger pieces are refused before they are looked at.
  public var evidenceBytesMax: Int

  public init(
    rootCertificates: [[UInt8]] = [], bundleID: String? = nil, appAppleID: Int64? = nil,
    requiredEnvironment: StoreEnvironment? = nil, googlePublicKey: [UInt8]? = nil, packageName: String? = nil,
    futureSkewMilliseconds: Int64 = 300_000, evidenceBytesMax: Int = 4_194_304
  ) {
    self.rootCertificates = rootCertificates
    self.bundleID = bundleID
    self.appAppleID = appAppleID
    self.requiredEnvironment = requiredEnvironment
    self.googlePublicKey = googlePublicKey
    self.packageName = packageName
    self.futureSkewMilliseconds = futureSkewMilliseconds
    self.evidenceBytesMax = evidenceBytesMax
  }
}

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

/// Certificates and keys as people have them.
package enum DERText {
  /// DER out of DER, PEM or bare base64; nil when it is none of them.
  package static func decode(_ bytes: [UInt8]) -> [UInt8]? {
    if bytes.first == 0x30 { return bytes }
    var lines = String(decoding: bytes, as: UTF8.self).split(whereSeparator: \.isNewline)
    if let start = lines.firstIndex(where: { $0.hasPrefix("-----BEGIN ") }) {
      lines = Array(lines[(start + 1)...].prefix { !$0.hasPrefix("-----END ") })
    }
    guard let der = Base64.decode(lines.joined().utf8, skippingSpace: true), der.first == 0x30 else { return nil }
    return der
  }
}
