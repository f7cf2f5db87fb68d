import Support

/// A method and path of the store's service. ``all`` is the one table of routes: the server's router is made from it,
/// the client asks by it, and docs/reference/openapi.yaml is tested against it.
package struct StoreRoute: Sendable, Hashable {
  /// A method of HTTP (RFC 9110, section 9).
  package enum Method: String, Sendable, Hashable {
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
  package enum Access: Sendable, Hashable {
    /// No session is needed.
    case everyone
    /// `Authorization: Bearer TOKEN` of a session.
    case session
    /// The signature in the URL.
    case signedURL
  }

  /// The method; GET routes answer HEAD too.
  package let method: Method
  /// With parameters in braces, as OpenAPI has them.
  package let path: String
  /// Who may use it.
  package let access: Access

  init(_ method: Method, _ path: String, _ access: Access) {
    (self.method, self.path, self.access) = (method, path, access)
  }

  /// Whether a client that has a session sends it. True for public routes too: a region that is no longer sold is
  /// visible to its owners only. False for sign-in and registration, signed URLs, and notifications of the app stores.
  package var takesSession: Bool {
    ![Self.register, .signIn, .file, .appleNotifications, .googleNotifications].contains(self)
  }

  /// The path with its parameters filled in, in order; each is percent-encoded.
  package func path(_ parameters: String...) -> String {
    var rest = parameters[...]
    return path.split(separator: "/", omittingEmptySubsequences: false).map { part in
      guard part.hasPrefix("{"), let parameter = rest.popFirst() else { return String(part) }
      return PercentEncoding.encode(parameter)
    }.joined(separator: "/")
  }
}

extension StoreRoute {
  /// A page of what is for sale: ``CatalogPage``.
  package static let catalogue = Self(.get, "/v1/catalogue", .everyone)
  /// One region: ``RegionDetails``.
  package static let region = Self(.get, "/v1/regions/{id}", .everyone)
  /// The preview image of a region.
  package static let preview = Self(.get, "/v1/regions/{id}/preview", .everyone)
  /// A small picture of a region's preview, for the pages.
  package static let thumbnail = Self(.get, "/v1/regions/{id}/thumbnail", .everyone)
  /// A tile of a region's coarse zooms, for the pages.
  package static let previewTile = Self(.get, "/v1/regions/{id}/preview/{zoom}/{column}/{row}", .everyone)
  /// The tile packs that a point or box needs: ``TilePackList``.
  package static let packs = Self(.get, "/v1/regions/{id}/packs", .everyone)
  /// Makes an account: ``Credentials``, answered by ``AccountDetails``.
  package static let register = Self(.post, "/v1/accounts", .everyone)
  /// Opens a session: ``Credentials``, answered by ``SessionDetails``.
  package static let signIn = Self(.post, "/v1/sessions", .everyone)
  /// Ends the session that asks.
  package static let signOut = Self(.delete, "/v1/sessions/current", .session)
  /// Ends all sessions of the account.
  package static let signOutEverywhere = Self(.delete, "/v1/sessions", .session)
  /// The account of the session: ``AccountDetails``.
  package static let account = Self(.get, "/v1/account", .session)
  /// ``PasswordChange``, which ends all sessions.
  package static let changePassword = Self(.put, "/v1/account/password", .session)
  /// ``AccountErasure``.
  package static let eraseAccount = Self(.delete, "/v1/account", .session)
  /// ``Library`` for a few installed regions, which are in the query.
  package static let library = Self(.get, "/v1/library", .session)
  /// ``Library`` for any number of installed regions: ``InstalledRegions``.
  package static let libraryOfDevice = Self(.post, "/v1/library", .session)
  /// ``PurchaseSubmission``, answered by ``PurchaseResults``.
  package static let purchases = Self(.post, "/v1/purchases", .session)
  /// ``DownloadRequest``, answered by ``DownloadTicket``.
  package static let downloads = Self(.post, "/v1/downloads", .session)
  /// The bytes of a file, by the URL of a ``DownloadTicket``.
  package static let file = Self(.get, "/v1/files/{file}", .signedURL)
  /// ``SignedGrants``.
  package static let grants = Self(.get, "/v1/grants", .session)
  /// ``GrantKeys``.
  package static let grantKeys = Self(.get, "/v1/grants/key", .everyone)
  /// App Store Server Notifications, version 2.
  package static let appleNotifications = Self(.post, "/v1/notifications/apple", .everyone)
  /// Real-time developer notifications, as Cloud Pub/Sub pushes them.
  package static let googleNotifications = Self(.post, "/v1/notifications/google", .everyone)
  /// The first page for browsers.
  package static let home = Self(.get, "/", .everyone)
  /// The catalogue for browsers.
  package static let cataloguePage = Self(.get, "/catalogue", .everyone)
  /// A region for browsers.
  package static let regionPage = Self(.get, "/regions/{id}", .everyone)
  /// The addresses of all pages, for search engines.
  package static let sitemap = Self(.get, "/sitemap.xml", .everyone)
  /// What search engines may read.
  package static let robots = Self(.get, "/robots.txt", .everyone)
  /// The apps at Apple that open the pages' links.
  package static let appleAssociation = Self(.get, "/.well-known/apple-app-site-association", .everyone)
  /// The apps at Google that open the pages' links.
  package static let androidAssociation = Self(.get, "/.well-known/assetlinks.json", .everyone)
  /// Style sheets and scripts of the pages.
  package static let asset = Self(.get, "/assets/{name}", .everyone)
  /// 200 while the process runs.
  package static let health = Self(.get, "/health", .everyone)
  /// 200 while requests can be answered, 503 otherwise.
  package static let ready = Self(.get, "/ready", .everyone)
  /// Counters in the text format of Prometheus.
  package static let metrics = Self(.get, "/metrics", .everyone)

  /// Every route. GET routes answer HEAD too.
  package static let all: [Self] = [
    catalogue, region, preview, thumbnail, previewTile, packs, register, signIn, signOut, signOutEverywhere, account,
    changePassword,
    eraseAccount, library, libraryOfDevice, purchases, downloads, file, grants, grantKeys, appleNotifications,
    googleNotifications, home, cataloguePage, regionPage, sitemap, robots, appleAssociation, androidAssociation, asset,
    health, ready, metrics,
  ]
}
