import Support

/// How the store's service is to run.
public struct StoreOptions: Sendable {
  public var host = "127.0.0.1"
  /// 0 takes any port that is free.
  public var port = 8090
  /// The folder with `catalogue.json` and the files that it names.
  public var shelf: String
  /// The store's products and their states (docs/store.md); nil when all that is on the shelf is for sale.
  public var products: String?
  /// Where clients reach the service, without a slash at the end; nil makes paths of links.
  public var publicURL: String?
  /// Files with the secrets that sign download links: the first signs, all of them are taken. Without any a secret is made up, and links end with the process.
  public var linkKeys: [String] = []
  /// Files with Ed25519 keys that sign grants for devices; the first signs. Without any a key is made up.
  public var grantKeys: [String] = []
  /// Whose pushes of Google's notifications are taken; nil takes anybody's, which cause look-ups only, and no more of them than ``StoreLimits/unsignedMessages``.
  public var googlePush: PushRule?
  /// Whether Apple's notifications of version 1 are refused: Apple signs none of them.
  public var refusesAppleV1 = false
  /// Where nginx keeps the shelf as an internal location, such as `/shelf/`: files are then left to it (`X-Accel-Redirect`).
  public var accelPrefix: String?
  /// Addresses of proxies whose `X-Forwarded-For` is believed.
  public var trustedProxies: Set<String> = []
  /// Folders where Leaflet may lie.
  public var webFolders = ["/usr/share/javascript"]
  public var linkSeconds = 900
  public var sessionSeconds = 30 * 86_400
  /// How long a device may use what it owns without asking again.
  public var grantSeconds = 30 * 86_400
  /// How long what has begun may take once the service is to end; what is not answered then is cut off.
  public var drainSeconds = 10
  public var limits = StoreLimits()

  public init(shelf: String) { self.shelf = shelf }

  /// What the token of a push (OpenID Connect) must say.
  public struct PushRule: Sendable, Hashable {
    /// A file with Google's public keys, a JSON Web Key Set.
    public var keys: String
    /// As the subscription has it.
    public var audience: String
    /// The service account's address; nil takes any of Google's.
    public var account: String?

    public init(keys: String, audience: String, account: String? = nil) {
      (self.keys, self.audience, self.account) = (keys, audience, account)
    }
  }
}

/// What strangers may use up.
public struct StoreLimits: Sendable {
  /// So many at once, and so many more a minute.
  public struct Rate: Sendable, Hashable {
    public var burst: Int
    public var perMinute: Int

    public init(burst: Int, perMinute: Int) { (self.burst, self.perMinute) = (burst, perMinute) }
  }

  /// Sign-ins, registrations and passwords that one address may try: each costs a tenth of a second of a core.
  public var passwordsByAddress = Rate(burst: 30, perMinute: 20)
  /// Sign-ins that one address, one known device (``DeviceTokens``) or one session may try for a login.
  public var passwordsByLogin = Rate(burst: 10, perMinute: 6)
  /// Sign-ins that may be tried for a login from all addresses together; those of known devices are none of them.
  public var passwordsByLoginEverywhere = Rate(burst: 60, perMinute: 30)
  public var requestsByAddress = Rate(burst: 2_000, perMinute: 12_000)
  public var requestsByAccount = Rate(burst: 600, perMinute: 1_200)
  /// Pieces of evidence that one account may post, also several in one request: each costs a signature's verification and, if it is new, room in the ledger. A whole restore
  /// (500) fits several times.
  public var evidencesByAccount = Rate(burst: 2_000, perMinute: 600)
  /// Stores' messages that nobody signed, of everybody together: whoever sends them, each stays in the ledger. Stores repeat what is refused.
  public var unsignedMessages = Rate(burst: 60, perMinute: 30)
  /// Links that one account may ask for.
  public var linksByAccount = Rate(burst: 1_000, perMinute: 60)
  /// Refusals of one account or address that become events of the ledger; others are only counted.
  public var auditsByAddress = Rate(burst: 20, perMinute: 2)
  /// The same of all who have no account, together.
  public var auditsOfStrangers = Rate(burst: 60, perMinute: 10)
  /// Files that are on their way to one account at a time.
  public var transfersByAccount = 4
  /// Searches of the catalogue that wait or are answered at a time, of one address and of everybody; they are done one after the other.
  public var searchesByAddress = 8
  public var searches = 32
  public var connections = 4_096
  /// Many customers may share one address; proxies that are trusted may have any number.
  public var connectionsByAddress = 512
  /// Of a request's body; a restore posts a lifetime of purchases.
  public var bodyBytes = 4 << 20
  /// Of a signed notification: whoever sends it has shown nothing before it is read. Apple's have some 20 kB.
  public var messageBytes = 128 << 10
  /// Bodies of everything but purchases and signed notifications.
  public var smallBodyBytes = 16 << 10
  /// Of the bodies of all requests under way (``BodyBudget``); in memory each takes up to four times as much while it is read and booked.
  public var bodiesBytes = 64 << 20
  /// Of all fields of a request together.
  public var headerBytes = 16 << 10
  public var headerFields = 64
  /// How long a connection may wait for the head of a request.
  public var idleSeconds = 30
  /// The time that a whole request may take to arrive once its head is there.
  public var requestSeconds = 120
  /// The time in which a client must take at least 16 kB of an answer.
  public var stallSeconds = 60

  public init() {}
}

extension RateLimiter {
  convenience init(_ rate: StoreLimits.Rate) { self.init(burst: rate.burst, perMinute: rate.perMinute) }
}
