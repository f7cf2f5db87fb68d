/// Why the ledger could not do its work: what, where, and the remedy. Evidence that is not accepted is a `Refusal`.
public struct LedgerError: Error, Sendable, CustomStringConvertible {
  public struct Code: RawRepresentable, Sendable, Hashable {
    public let rawValue: String

    public init(rawValue: String) { self.rawValue = rawValue }

    /// The file is not a ledger, or of a newer version.
    public static let notALedger = Self(rawValue: "not-a-ledger")
    /// There is no file; `init` makes one.
    public static let noLedger = Self(rawValue: "no-ledger")
    /// The file was removed or replaced while it was open.
    public static let gone = Self(rawValue: "gone")
    /// The database failed: disk, lock, permission.
    public static let database = Self(rawValue: "database")
    /// The chain, a projection or the books are not as they were written.
    public static let damaged = Self(rawValue: "damaged")
    /// The configuration lacks or contradicts something.
    public static let configuration = Self(rawValue: "configuration")
    /// Login or account unknown, or a login or password that cannot be taken.
    public static let account = Self(rawValue: "account")
    /// Another account has the login.
    public static let loginTaken = Self(rawValue: "login-taken")
    /// Login or password is wrong.
    public static let wrongPassword = Self(rawValue: "wrong-password")
    /// More passwords are waiting to be checked than is taken; it passes.
    public static let busy = Self(rawValue: "busy")
    /// A store's API: unreachable, refused, no progress.
    public static let store = Self(rawValue: "store")
    /// A store's API knows nothing of what it was asked for.
    public static let notInStore = Self(rawValue: "not-in-store")
    /// A file of evidence could not be read.
    public static let input = Self(rawValue: "input")
  }

  public var code: Code
  /// The file, row, address or key it happened at.
  public var location: String
  /// What happened and what to do, beginning in lower case.
  public var message: String

  public init(_ code: Code, at location: String, _ message: String) {
    self.code = code
    self.location = location
    self.message = message
  }

  public var description: String { location.isEmpty ? message : "\(location): \(message)" }
}
