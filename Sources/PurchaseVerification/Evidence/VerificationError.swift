@_exported public import LocalizedErrors
@_exported public import Support

#if canImport(FoundationEssentials)
  public import FoundationEssentials
#else
  public import Foundation
#endif

/// Why evidence is not accepted, or why a verifier cannot be made: a code for programs and a text for people.
public struct VerificationError: ToolkitError, LocalizedError, Hashable {
  /// The kind of failure, for programs; new kinds may be added.
  public struct Code: RawRepresentable, Sendable, Hashable, Codable {
    public let rawValue: String

    public init(rawValue: String) { self.rawValue = rawValue }

    // MARK: Rejected

    /// The bytes do not have the expected format.
    public static let malformed = Self(rawValue: "malformed")
    /// Larger than the size cap.
    package static let tooLarge = Self(rawValue: "too-large")
    /// An algorithm or key type that is not accepted, such as a JWS that is not ES256.
    package static let unsupportedAlgorithm = Self(rawValue: "unsupported-algorithm")
    /// A number of certificates that is not accepted; a JWS has exactly three.
    package static let certificateCount = Self(rawValue: "certificate-count")
    /// Nothing says which root certificates to trust.
    package static let noRootCertificate = Self(rawValue: "no-root-certificate")
    /// The certificates do not chain to a configured root.
    public static let untrustedChain = Self(rawValue: "untrusted-chain")
    /// A certificate lacks its marker extension.
    package static let missingMarker = Self(rawValue: "missing-marker")
    /// A certificate was not valid at the signing date.
    package static let certificateNotValidAtSigning = Self(rawValue: "certificate-not-valid-at-signing")
    /// Nothing says with which key of the app Google signs.
    package static let noLicensingKey = Self(rawValue: "no-licensing-key")
    /// Nothing says of which app Apple's evidence must be.
    package static let noBundleID = Self(rawValue: "no-bundle-id")
    /// Nothing says of which app Google's evidence must be.
    package static let noPackageName = Self(rawValue: "no-package-name")
    /// The signature is invalid.
    public static let badSignature = Self(rawValue: "bad-signature")
    /// A date outside the accepted range.
    package static let dateOutOfRange = Self(rawValue: "date-out-of-range")
    /// Another app's bundle id.
    public static let wrongBundle = Self(rawValue: "wrong-bundle")
    /// Another app's Apple id.
    package static let wrongApp = Self(rawValue: "wrong-app")
    /// Another environment than the required one (`inspect`).
    public static let wrongEnvironment = Self(rawValue: "wrong-environment")
    /// Signed on a developer's machine (Xcode, local testing).
    public static let testEnvironment = Self(rawValue: "test-environment")
    /// JSON in none of the stores' formats; the caller may say what it is.
    package static let unknownKind = Self(rawValue: "unknown-kind")
    /// Another kind of evidence than expected.
    package static let wrongKind = Self(rawValue: "wrong-kind")
    /// Another app's package name.
    public static let wrongPackage = Self(rawValue: "wrong-package")
    /// A required field is missing.
    public static let incomplete = Self(rawValue: "incomplete")
    /// The store itself rejected the request for good.
    package static let storeRefused = Self(rawValue: "store-refused")
    /// A required signature is missing.
    public static let unsigned = Self(rawValue: "unsigned")
    /// A format that can no longer be verified.
    package static let unsupportedFormat = Self(rawValue: "unsupported-format")

    // MARK: Of the verifier

    /// A root certificate or a key of ``StoreIdentity`` cannot be read.
    public static let configuration = Self(rawValue: "configuration")

    // MARK: Quarantined: kept, but not recorded; evaluated again when presented again

    /// Signed later than the local clock and the allowed skew.
    package static let signedInFuture = Self(rawValue: "signed-in-future")
    /// Two layers name different environments.
    package static let environmentMismatch = Self(rawValue: "environment-mismatch")
    /// An environment that this version does not know.
    package static let unknownEnvironment = Self(rawValue: "unknown-environment")
    /// Fields contradict each other.
    public static let inconsistent = Self(rawValue: "inconsistent")
    /// The store gave no final answer.
    package static let retryLater = Self(rawValue: "retry-later")

    /// Forms of a signature that this version does not know, and a later one may.
    package static let ofForm: [Self] = [.certificateCount, .unsupportedAlgorithm]

    /// Whether a wrong configuration (root certificates, app identity) makes valid store responses fail with this code.
    package var isOfConfiguration: Bool {
      [
        .noRootCertificate, .untrustedChain, .noLicensingKey, .noBundleID, .noPackageName, .wrongBundle, .wrongApp,
        .wrongPackage,
      ].contains(self)
    }
  }

  /// The kind of failure.
  public var code: Code
  /// What was found. Does not name the file, which the caller knows.
  public let message: String
  /// What to do about it.
  public let remedy: String?

  /// A refusal of evidence.
  ///
  /// - Parameter message: May quote untrusted input, so control characters, which could forge log lines, become
  /// question
  ///   marks.
  public init(_ code: Code, _ message: String, remedy: String? = nil) {
    (self.code, self.remedy) = (code, remedy)
    let isShort = message.utf8.count <= Self.messageBytesMax
    self.message = (isShort ? message : String(message.unicodeScalars.prefix(Self.messageBytesMax))).withoutControls
  }

  private static let messageBytesMax = 500

  public var description: String { "\(code.rawValue): \(advice)" }
}

extension String {
  /// Untrusted text made safe for one line of output: characters that end a line, hide text or change its direction
  /// become question marks.
  ///
  /// - Complexity: O(bytes). Printable ASCII is scanned and not copied.
  package var withoutControls: String {
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
