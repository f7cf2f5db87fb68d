import Support

/// A method and path of the store's service. ``all`` is the one table of routes: the server's router is made from it,
/// the client asks by it, and docs/reference/openapi.yaml is tested against it.
public struct StoreRoute: Sendable, Hashable {
  /// A method of HTTP (RFC 9110, section 9).
  public enum Method: String, Sendable, Hashable {
    /// Reads; answers HEAD too.
    case get = "GET"
    /// Submits, opens or asks with a body.
    case post = "POST"
    /// Replaces.
    case put = "PUT"
    /// Ends or erases.
    case delete = "DELETE"
  }

  /// Who may use a route.
  public enum Access: Sendable, Hashable {
    /// No session is needed.
    case everyone
    /// `Authorization: Bearer TOKEN` of a session.
    case session
    /// The signature in the URL.
    case signedURL
  }

  /// The method; GET routes answer HEAD too.
  public let method: Method
  /// With parameters in braces, as OpenAPI has them.
  public let path: String
  /// Who may use it.
  public let access: Access

  init(_ method: Method, _ path: String, _ access: Access) {
    (self.method, self.path, self.access) = (method, path, access)
  }

  /// Whether a client that has a session sends it. True for public routes too: a region that is no longer sold is
  /// visible to its owners only. False for sign-in and registration, signed URLs, and notifications of the app stores.
  public var takesSession: Bool {
    ![Self.register, .signIn, .file, .appleNotifications, .googleNotifications].contains(self)
  }

  /// The path with its parameters filled in, in order; each is percent-encoded.
  public func path(_ parameters: String...) -> String {
    var rest = parameters[...]
    return path.split(separator: "/", omittingEmptySubsequences: false).map { part in
      guard part.hasPrefix("{"), let parameter = rest.popFirst() else { return String(part) }
      return PercentEncoding.encode(parameter)
    }.joined(separator: "/")
  }
}

extension StoreRoute {
  /// A page of what is for sale: ``CatalogPage``.
  public static let catalogue = Self(.get, "/v1/catalogue", .everyone)
  /// One region: ``RegionDetails``.
  public static let region = Self(.get, "/v1/regions/{id}", .everyone)
  /// The preview image of a region.
  public static let preview = Self(.get, "/v1/regions/{id}/preview", .everyone)
  /// The tile packs that a point or box needs: ``TilePackList``.
  public static let packs = Self(.get, "/v1/regions/{id}/packs", .everyone)
  /// Makes an account: ``Credentials``, answered by ``AccountDetails``.
  public static let register = Self(.post, "/v1/accounts", .everyone)
  /// Opens a session: ``Credentials``, answered by ``SessionDetails``.
  public static let signIn = Self(.post, "/v1/sessions", .everyone)
  /// Ends the session that asks.
  public static let signOut = Self(.delete, "/v1/sessions/current", .session)
  /// Ends all sessions of the account.
  public static let signOutEverywhere = Self(.delete, "/v1/sessions", .session)
  /// The account of the session: ``AccountDetails``.
  public static let account = Self(.get, "/v1/account", .session)
  /// ``PasswordChange``, which ends all sessions.
  public static let changePassword = Self(.put, "/v1/account/password", .session)
  /// ``AccountErasure``.
  public static let eraseAccount = Self(.delete, "/v1/account", .session)
  /// ``Library`` for a few installed regions, which are in the query.
  public static let library = Self(.get, "/v1/library", .session)
  /// ``Library`` for any number of installed regions: ``InstalledRegions``.
  public static let libraryOfDevice = Self(.post, "/v1/library", .session)
  /// ``PurchaseSubmission``, answered by ``PurchaseResults``.
  public static let purchases = Self(.post, "/v1/purchases", .session)
  /// ``DownloadRequest``, answered by ``DownloadTicket``.
  public static let downloads = Self(.post, "/v1/downloads", .session)
  /// The bytes of a file, by the URL of a ``DownloadTicket``.
  public static let file = Self(.get, "/v1/files/{file}", .signedURL)
  /// ``SignedGrants``.
  public static let grants = Self(.get, "/v1/grants", .session)
  /// ``GrantKeys``.
  public static let grantKeys = Self(.get, "/v1/grants/key", .everyone)
  /// App Store Server Notifications, version 2.
  public static let appleNotifications = Self(.post, "/v1/notifications/apple", .everyone)
  /// Real-time developer notifications, as Cloud Pub/Sub pushes them.
  public static let googleNotifications = Self(.post, "/v1/notifications/google", .everyone)
  /// The first page for browsers.
  public static let home = Self(.get, "/", .everyone)
  /// The catalogue for browsers.
  public static let cataloguePage = Self(.get, "/catalogue", .everyone)
  /// Style sheets and scripts of the pages.
  public static let asset = Self(.get, "/assets/{name}", .everyone)
  /// 200 while the process runs.
  public static let health = Self(.get, "/health", .everyone)
  /// 200 while requests can be answered, 503 otherwise.
  public static let ready = Self(.get, "/ready", .everyone)
  /// Counters in the text format of Prometheus.
  public static let metrics = Self(.get, "/metrics", .everyone)

  /// Every route. GET routes answer HEAD too.
  public static let all: [Self] = [
    catalogue, region, preview, packs, register, signIn, signOut, signOutEverywhere, account, changePassword,
    eraseAccount, library, libraryOfDevice, purchases, downloads, file, grants, grantKeys, appleNotifications,
    googleNotifications, home, cataloguePage, asset, health, ready, metrics,
  ]
}
