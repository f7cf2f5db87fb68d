/// Why evidence was not accepted: a code for programs, a text for people.
public struct Refusal: Error, Sendable, Hashable, Codable, CustomStringConvertible {
  public struct Code: RawRepresentable, Sendable, Hashable, Codable {
    public let rawValue: String

    public init(rawValue: String) { self.rawValue = rawValue }

    // Refused.
    /// Bytes that are not what they should be.
    public static let malformed = Self(rawValue: "malformed")
    /// Beyond the size cap.
    public static let tooLarge = Self(rawValue: "too-large")
    /// A JWS that is not ES256.
    public static let unsupportedAlgorithm = Self(rawValue: "unsupported-algorithm")
    /// Not exactly three certificates.
    public static let certificateCount = Self(rawValue: "certificate-count")
    /// No chain to a given root.
    public static let untrustedChain = Self(rawValue: "untrusted-chain")
    /// A certificate without its marker extension.
    public static let missingMarker = Self(rawValue: "missing-marker")
    /// A certificate not valid when it signed.
    public static let certificateNotValidAtSigning = Self(rawValue: "certificate-not-valid-at-signing")
    /// The signature does not fit.
    public static let badSignature = Self(rawValue: "bad-signature")
    /// A date no store would sign.
    public static let dateOutOfRange = Self(rawValue: "date-out-of-range")
    /// Another app's bundle id.
    public static let wrongBundle = Self(rawValue: "wrong-bundle")
    /// Another app's Apple id.
    public static let wrongApp = Self(rawValue: "wrong-app")
    /// Not the environment asked for (inspect).
    public static let wrongEnvironment = Self(rawValue: "wrong-environment")
    /// Signed on a developer's machine.
    public static let testEnvironment = Self(rawValue: "test-environment")
    /// Evidence of another kind than asked for.
    public static let wrongKind = Self(rawValue: "wrong-kind")
    /// Another app's package name.
    public static let wrongPackage = Self(rawValue: "wrong-package")
    /// A field without which nothing can be booked is missing.
    public static let incomplete = Self(rawValue: "incomplete")
    /// The store's own permanent refusal.
    public static let storeRefused = Self(rawValue: "store-refused")
    /// Unsigned where a signature is needed.
    public static let unsigned = Self(rawValue: "unsigned")
    /// A format that nobody can verify any more.
    public static let unsupportedFormat = Self(rawValue: "unsupported-format")
    /// The grant belongs to another account.
    public static let claimedByAnotherAccount = Self(rawValue: "claimed-by-another-account")
    /// The store names another account.
    public static let tokenOfAnotherAccount = Self(rawValue: "token-of-another-account")
    /// More questions to the store wait than can be kept.
    public static let queueFull = Self(rawValue: "queue-full")
    /// The account is unknown or erased.
    public static let noSuchAccount = Self(rawValue: "no-such-account")

    // Quarantined: verified but not to be believed yet; judged anew when presented again.
    /// Signed later than our clock and the allowed skew.
    public static let signedInFuture = Self(rawValue: "signed-in-future")
    /// Receipt type and environment disagree.
    public static let environmentMismatch = Self(rawValue: "environment-mismatch")
    /// An environment this version does not know.
    public static let unknownEnvironment = Self(rawValue: "unknown-environment")
    /// Fields that contradict each other.
    public static let inconsistent = Self(rawValue: "inconsistent")
    /// The store did not answer for good.
    public static let retryLater = Self(rawValue: "retry-later")

    /// Whether evidence refused with this code is kept in quarantine.
    public var quarantines: Bool { Self.quarantining.contains(self) }

    /// Whether the store's own answers are refused so only while the configuration does not fit: its roots, or whose evidence is expected.
    var isOfConfiguration: Bool { [.untrustedChain, .wrongBundle, .wrongApp, .wrongPackage].contains(self) }

    private static let quarantining: Set<Self> = [
      .signedInFuture, .environmentMismatch, .unknownEnvironment,
      .inconsistent, .retryLater,
    ]
  }

  public var code: Code
  /// What was found and what to do, beginning in lower case; without the file's name, which the caller knows.
  public var reason: String

  /// - Parameter reason: Often quotes what strangers sent: control characters, which could forge lines of a log, become question marks.
  public init(_ code: Code, _ reason: String) {
    self.code = code
    let isShort = reason.utf8.count <= Self.reasonBytesMax
    self.reason = (isShort ? reason : String(reason.unicodeScalars.prefix(Self.reasonBytesMax))).withoutControls
  }

  private static let reasonBytesMax = 500

  public var description: String { "\(code.rawValue): \(reason)" }
}

extension String {
  /// What strangers sent, for a line of ours: characters that could end it, hide it or turn it round become question marks.
  ///
  /// - Complexity: O(bytes); plain ASCII is looked through and not copied.
  var withoutControls: String {
    if utf8.allSatisfy({ (0x20..<0x7f).contains($0) }) { return self }
    return String(
      String.UnicodeScalarView(
        unicodeScalars.map { scalar -> Unicode.Scalar in
          switch scalar.properties.generalCategory {
          case .control, .format, .lineSeparator, .paragraphSeparator: "?"
          default: scalar
          }
        }))
  }
}
