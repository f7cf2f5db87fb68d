@_exported public import LocalizedErrors
@_exported public import Support

#if canImport(FoundationEssentials)
  public import FoundationEssentials
#else
  public import Foundation
#endif

/// A failure of the ledger: what happened, where, and the remedy. Evidence that is not accepted is a
/// `VerificationError` instead.
public struct LedgerError: ToolkitError, LocalizedError {
  /// The kind of failure, for programs; new kinds may be added.
  public struct Code: RawRepresentable, Sendable, Hashable {
    public let rawValue: String

    /// A code by its name.
    public init(rawValue: String) { self.rawValue = rawValue }

    /// The file is not a ledger, or was written by a newer version.
    public static let notALedger = Self(rawValue: "not-a-ledger")
    /// The file does not exist; `init` creates it.
    public static let noLedger = Self(rawValue: "no-ledger")
    /// A file is there already, and is not to be replaced.
    public static let exists = Self(rawValue: "exists")
    /// The file was removed or replaced while it was open.
    public static let gone = Self(rawValue: "gone")
    /// The database failed: disk, lock, permission.
    public static let database = Self(rawValue: "database")
    /// The hash chain, a projection or a stored record is damaged.
    public static let damaged = Self(rawValue: "damaged")
    /// A setting is missing or contradicts another.
    public static let configuration = Self(rawValue: "configuration")
    /// The login or account is unknown, or a login or password is not valid.
    public static let account = Self(rawValue: "account")
    /// Another account uses the login.
    package static let loginTaken = Self(rawValue: "login-taken")
    /// Login or password is wrong.
    package static let wrongPassword = Self(rawValue: "wrong-password")
    /// Too many passwords wait to be checked; retry later.
    public static let busy = Self(rawValue: "busy")
    /// A store's API is unreachable, refused the request or made no progress.
    public static let store = Self(rawValue: "store")
    /// A store's API does not know the requested object.
    package static let notInStore = Self(rawValue: "not-in-store")
    /// A store's API refused one request, or answered it with something else than it documents.
    package static let storeRefusal = Self(rawValue: "store-refusal")
    /// A store's API accepts no more requests for now.
    package static let storeQuota = Self(rawValue: "store-quota")
    /// A file of evidence could not be read.
    package static let input = Self(rawValue: "input")
  }

  /// The kind of failure.
  public let code: Code
  /// The file, row, address or key where it happened.
  public let path: String?
  /// What happened.
  public let message: String
  /// What to do about it.
  public let remedy: String?
  /// The setting that is missing, for a command, which knows how it is given.
  package var missing: MissingSetting?

  /// An error at a file, a row or an option; the message begins in lower case.
  public init(_ code: Code, at path: String?, _ message: String, remedy: String? = nil) {
    (self.code, self.path, self.message, self.remedy) = (code, path, message, remedy)
  }

  /// A setting of ``StoreIdentity`` without which evidence cannot be checked.
  package enum MissingSetting: String, Sendable {
    case rootCertificates = "a root certificate"
    case bundleID = "the app's bundle id"
    case appAppleID = "the app's number at Apple"
    case googlePublicKey = "the app's licensing key from Google"
    case packageName = "the app's package name"
  }

  /// Evidence that cannot be checked without a setting.
  ///
  /// - Parameter evidence: the beginning of the sentence, such as "is a receipt".
  package init(missing setting: MissingSetting, at location: String, _ evidence: String) {
    self.init(
      .configuration, at: location, "\(evidence), which cannot be checked without \(setting.rawValue)",
      remedy: "configure it")
    missing = setting
  }
}

/// The current time: the system clock, or a fixed time for tests (`--now`).
public struct LedgerClock: Sendable {
  /// Milliseconds since 1970.
  public let now: @Sendable () -> Int64

  package init(now: @escaping @Sendable () -> Int64) { self.now = now }

  /// The system's clock.
  public static let system = Self(now: WallClock.now)

  /// A clock that stands, for tests; milliseconds since 1970.
  package static func fixed(_ milliseconds: Int64) -> Self { Self(now: { milliseconds }) }
}

/// Why the ledger refuses evidence that verifies.
extension VerificationError.Code {
  /// Another account owns the grant.
  package static let claimedByAnotherAccount = Self(rawValue: "claimed-by-another-account")
  /// The store names another account as the buyer.
  package static let tokenOfAnotherAccount = Self(rawValue: "token-of-another-account")
  /// The queue of store look-ups is full.
  package static let queueFull = Self(rawValue: "queue-full")
  /// The account does not exist or was erased.
  package static let noSuchAccount = Self(rawValue: "no-such-account")
}
