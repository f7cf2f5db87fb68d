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
