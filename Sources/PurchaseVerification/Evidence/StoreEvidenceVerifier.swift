import Support

/// The app, the environment and the keys that evidence must match. Evidence of a store whose app is not named is
/// refused.
public struct StoreIdentity: Sendable {
  /// The pinned roots in DER. Without any, none of Apple's signed evidence verifies.
  public var rootCertificates: [[UInt8]]
  /// The bundle ids of the apps at Apple; evidence of others is refused.
  package var bundleIDs: [String]
  /// The first app's bundle id at Apple.
  package var bundleID: String? { bundleIDs.first }
  /// The apps' numbers at Apple: one for all bundle ids, or one for each in their order. Checked only in production,
  /// where Apple states them.
  package var appAppleIDs: [Int64]
  /// The first app's number at Apple.
  public var appAppleID: Int64? {
    get { appAppleIDs.first }
    set { appAppleIDs = newValue.map { [$0] } ?? [] }
  }
  /// If set, evidence of another environment is rejected.
  package var requiredEnvironment: StoreEnvironment?
  /// Whether evidence of a store whose app is not named is refused instead of accepted for any app.
  package var requiresApp = false
  /// The app's licensing key from the Play console, in DER (SubjectPublicKeyInfo).
  public var googlePublicKey: [UInt8]?
  /// Other licensing keys of the app: those of before a rotation, or of after it.
  package var otherLicensingKeys: [LicensingKey] = []
  /// Whether Google's signatures can be checked.
  package var hasLicensingKey: Bool { googlePublicKey != nil || !otherLicensingKeys.isEmpty }
  /// The package names of the apps at Google; evidence of others is refused.
  package var packageNames: [String]
  /// The first app's package name at Google.
  package var packageName: String? { packageNames.first }
  /// How far a signing date may lie ahead of the local clock, in milliseconds.
  public var futureSkewMilliseconds: Int64
  /// Larger pieces are rejected before they are parsed.
  public var evidenceBytesMax: Int

  /// The environments whose evidence is accepted.
  public enum Environments: Sendable, Hashable {
    /// Evidence of another one is refused, such as test purchases of the sandbox where real ones are sold.
    case only(StoreEnvironment)
    /// Production and sandbox, for a ledger, which grants nothing for purchases of another environment than its own.
    case all
  }

  /// An app that is sold at Apple, and at Google if its package name is given.
  public init(
    rootCertificates: [[UInt8]], bundleID: String, appAppleID: Int64? = nil, environments: Environments,
    googlePublicKey: [UInt8]? = nil, packageName: String? = nil
  ) {
    self.init(
      rootCertificates: rootCertificates, bundleID: bundleID, appAppleID: appAppleID,
      googlePublicKey: googlePublicKey, packageName: packageName)
    accept(environments)
  }

  /// An app that is sold at Google alone.
  public init(packageName: String, googlePublicKey: [UInt8]?, environments: Environments) {
    self.init(googlePublicKey: googlePublicKey, packageName: packageName)
    accept(environments)
  }

  private mutating func accept(_ environments: Environments) {
    requiresApp = true
    if case .only(let environment) = environments { requiredEnvironment = environment }
  }

  /// An identity of which any part may be missing; what is nil is not checked unless `requiresApp` is set.
  package init(
    rootCertificates: [[UInt8]] = [], bundleID: String? = nil, appAppleID: Int64? = nil,
    requiredEnvironment: StoreEnvironment? = nil, googlePublicKey: [UInt8]? = nil, packageName: String? = nil,
    futureSkewMilliseconds: Int64 = 300_000, evidenceBytesMax: Int = 4_194_304
  ) {
    self.rootCertificates = rootCertificates
    bundleIDs = bundleID.map { [$0] } ?? []
    appAppleIDs = appAppleID.map { [$0] } ?? []
    self.requiredEnvironment = requiredEnvironment
    self.googlePublicKey = googlePublicKey
    packageNames = packageName.map { [$0] } ?? []
    self.futureSkewMilliseconds = futureSkewMilliseconds
    self.evidenceBytesMax = evidenceBytesMax
  }
}

/// A licensing key of the app at Google.
package struct LicensingKey: Sendable {
  /// In DER (SubjectPublicKeyInfo).
  package var der: [UInt8]
  /// The purchases that it signs, by their time in milliseconds since 1970: from here on.
  package var from: Int64?
  /// Before here.
  package var until: Int64?

  package init(der: [UInt8], from: Int64? = nil, until: Int64? = nil) {
    (self.der, self.from, self.until) = (der, from, until)
  }

  /// Whether it signs a purchase of this time.
  func signs(at time: Int64) -> Bool { time >= from ?? .min && time < until ?? .max }
}

/// Values from the request that the response does not repeat (`purchases.products`).
public struct EvidenceContext: Sendable, Hashable {
  /// The product that was asked about.
  public var productID: String?
  /// Google's token that was asked about.
  public var purchaseToken: String?
  /// The app that was asked about.
  public var packageName: String?
  /// Applies to evidence that names no environment.
  public var environment: StoreEnvironment?
  /// When it was bought, in milliseconds since 1970, where the purchase is known: Google's current interfaces state
  /// other times, and to the second.
  package var purchaseDate: Int64?

  /// What is known beside the evidence.
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

/// Verifies the evidence of one store. `AppleVerifier` and `GoogleVerifier` conform; `EvidenceVerifier` selects one by
/// format.
package protocol StoreEvidenceVerifier: Sendable {
  /// Verifies and decodes one piece of evidence.
  ///
  /// - Parameters:
  ///   - bytes: The piece as received: base64 with or without newlines, DER, compact JWS, JSON.
  ///   - kind: The expected kind.
  ///   - context: Values from the request that the response does not repeat.
  ///   - now: Milliseconds since 1970. Used only to detect dates in the future.
  ///   - trusted: True if the same bytes were accepted before. Signatures and chains are then not checked again.
  /// - Throws: `VerificationError` with a code that does not quarantine. Quarantine is a property of the result.
  func verify(
    _ bytes: [UInt8], as kind: EvidenceKind, context: EvidenceContext, at now: Int64, trusted: Bool
  ) async throws(VerificationError) -> VerifiedEvidence
}

/// Reads certificates and keys in the encodings that files have.
package enum DERText {
  /// Decodes DER, PEM or bare base64 to DER; nil for anything else.
  package static func decode(_ bytes: [UInt8]) -> [UInt8]? {
    if bytes.first == 0x30 { return bytes }
    var lines = UTF8Mark.text(bytes).split(whereSeparator: \.isNewline)
    if let start = lines.firstIndex(where: { $0.hasPrefix("-----BEGIN ") }) {
      lines = Array(lines[(start + 1)...].prefix { !$0.hasPrefix("-----END ") })
    }
    guard let der = Base64.decode(lines.joined().utf8, skippingSpace: true), der.first == 0x30 else { return nil }
    return der
  }
}
