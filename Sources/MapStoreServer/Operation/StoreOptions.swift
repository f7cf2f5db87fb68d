@_exported public import LocalizedErrors
package import PurchaseLedger
@_exported public import Support

#if canImport(FoundationEssentials)
  public import FoundationEssentials
#else
  public import Foundation
#endif

/// The options of the store's service.
public struct StoreOptions: Sendable {
  public var host = "127.0.0.1"
  /// 0 takes any free port.
  public var port = 8090
  /// The folder with `catalogue.json` and the files that it names.
  public var catalogFolder: String
  /// The file with the products and their states (docs/reference/store.md); nil if the whole catalogue is for sale.
  public var products: String?
  /// Where clients reach the service, without a slash at the end; with nil, links are paths.
  public var publicURL: String?
  /// Files with the secrets of download links: the first signs, all of them verify. Without any, a random secret is
  /// used, and links end with the process.
  public var linkKeys: [String] = []
  /// Files with Ed25519 keys that sign grants for devices; the first signs. Without any, a random key is used.
  public var grantKeys: [String] = []
  /// Whose pushes of Google's notifications are accepted; nil accepts anybody's, within
  /// `StoreLimits/unsignedMessages`: they only cause look-ups.
  public var googlePush: PushRule?
  /// Whether Apple's notifications of version 1 are refused: they are not signed.
  package var refusesAppleV1 = false
  /// Asks the stores about purchases before they are granted; nil grants what is properly signed.
  package var confirmation: StoreConfirmation?
  /// The internal location under which nginx serves the folder, such as `/bundles/`: nginx then sends the files
  /// (`X-Accel-Redirect`).
  public var accelPrefix: String?
  /// Addresses of proxies whose `X-Forwarded-For` is trusted.
  public var trustedProxies: Set<String> = []
  /// Addresses whose requests for metrics are answered: those of the operator's monitoring.
  public var metricsFrom: Set<String> = ["127.0.0.1", "::1"]
  /// Folders to look for Leaflet in.
  public var webFolders = ["/usr/share/javascript"]
  /// How the pages look, and where they lead.
  package var pages = PageOptions()
  public var linkSeconds = 900
  public var sessionSeconds = 30 * 86_400
  /// How long a device may use owned regions without asking again.
  public var grantSeconds = 30 * 86_400
  /// How long requests under way may take at shutdown; connections that are not done then are closed.
  public var drainSeconds = 10
  public var limits = StoreLimits()

  public init(catalogFolder: String) { self.catalogFolder = catalogFolder }

  /// What the token of a push (OpenID Connect) must contain.
  public struct PushRule: Sendable, Hashable {
    /// A file with Google's public keys, a JSON Web Key Set.
    public var keys: String
    /// The audience of the subscription.
    public var audience: String
    /// The service account's address; nil accepts any of Google's.
    public var account: String?

    public init(keys: String, audience: String, account: String? = nil) {
      (self.keys, self.audience, self.account) = (keys, audience, account)
    }
  }
}

/// Limits on what clients may use.
public struct StoreLimits: Sendable {
  /// `burst` at once, and `perMinute` more each minute.
  public struct Rate: Sendable, Hashable {
    public var burst: Int
    public var perMinute: Int

    public init(burst: Int, perMinute: Int) { (self.burst, self.perMinute) = (burst, perMinute) }
  }

  /// Attempts with passwords (sign-in, registration) from one address: each costs a tenth of a second of processor
  /// time.
  public var passwordsByAddress = Rate(burst: 30, perMinute: 20)
  /// Passwords for one login from one address, one known device (``KnownDevices``) or the account's sessions.
  public var passwordsByLogin = Rate(burst: 10, perMinute: 6)
  /// Passwords for one login from everywhere together; ``passwordsReserved`` of the burst for devices and sessions that
  /// are known.
  public var passwordsByLoginEverywhere = Rate(burst: 60, perMinute: 30)
  /// As many as one known device may try, at most half.
  var passwordsReserved: Int { min(passwordsByLogin.burst, passwordsByLoginEverywhere.burst / 2) }
  public var requestsByAddress = Rate(burst: 2_000, perMinute: 12_000)
  public var requestsByAccount = Rate(burst: 600, perMinute: 1_200)
  /// Pieces of evidence that one account may post: each costs the verification of a signature and, if it is new, space
  /// in the ledger. A full restore (500) fits several times.
  package var evidencesByAccount = Rate(burst: 2_000, perMinute: 600)
  /// Unsigned notifications of all senders together: each stays in the ledger. The app stores repeat refused ones.
  package var unsignedMessages = Rate(burst: 60, perMinute: 30)
  /// Download links that one account may request.
  package var linksByAccount = Rate(burst: 1_000, perMinute: 60)
  /// Refusals of one account or address that become events of the ledger; further ones are only counted.
  package var auditsByAddress = Rate(burst: 20, perMinute: 2)
  /// The same for all requests without an account together.
  package var auditsOfStrangers = Rate(burst: 60, perMinute: 10)
  /// Concurrent downloads of one account.
  package var transfersByAccount = 4
  /// Answers that wait to be computed (`FairQueue`), of one address and of all.
  package var computationsByAddress = 64
  package var computations = 512
  /// A read of the ledger that takes no longer stays on the event loop.
  var quickReadSeconds = 0.000_5
  public var connections = 4_096
  /// Many customers may share one address. Trusted proxies have no limit.
  package var connectionsByAddress = 512
  /// The size of a request's body; a restore posts all purchases of a customer.
  package var bodyBytes = 4 << 20
  /// The size of a signed notification: its sender is unknown until it is read. Apple's have some 20 kB.
  package var messageBytes = 128 << 10
  /// The size of all other bodies.
  package var smallBodyBytes = 16 << 10
  /// Of the bodies of all requests under way (``BodyBudgets``); each takes up to four times as much memory while it is
  /// read and recorded.
  package var bodiesBytes = 64 << 20
  /// Of the answers that are being sent from memory, each counted once for all clients that it is sent to.
  package var answersBytes = 64 << 20
  /// The size of all header fields of a request together.
  package var headerBytes = 16 << 10
  package var headerFields = 64
  /// How long a connection may be idle before the head of a request.
  public var idleSeconds = 30
  /// How long a request may take to arrive after its head.
  public var requestSeconds = 120
  /// The time in which a client must receive at least 16 kB of an answer.
  package var stallSeconds = 60

  public init() {}
}

/// Why the service cannot start or continue: where, what, and the remedy.
public struct StoreError: ToolkitError, LocalizedError {
  public struct Code: RawRepresentable, Sendable, Hashable {
    public let rawValue: String
    public init(rawValue: String) { self.rawValue = rawValue }

    /// A file that the options name cannot be read, or has wrong contents.
    package static let unreadableInput = Self(rawValue: "unreadable-input")
    /// An option has a value that cannot be used.
    public static let invalidOption = Self(rawValue: "invalid-option")
    /// The address cannot be listened on.
    public static let cannotListen = Self(rawValue: "cannot-listen")
    /// A file of the service's own cannot be written any more.
    public static let unavailable = Self(rawValue: "unavailable")
  }

  public let code: Code
  /// The file or option.
  public let path: String?
  /// What is wrong; starts in lower case.
  public let message: String
  public let remedy: String?

  public init(_ code: Code, at place: String, _ message: String, remedy: String) {
    (self.code, self.path, self.message, self.remedy) = (code, place, message, remedy)
  }
}

extension RateLimiter {
  convenience init(_ rate: StoreLimits.Rate) { self.init(burst: rate.burst, perMinute: rate.perMinute) }
}
