import Support

/// A method and path of the store's service. ``all`` is the one table of routes: the server's router is made from it,
/// the client asks by it, and docs/reference/openapi.yaml is tested against it.
public struct StoreRoute: Sendable, Hashable {
  public enum Method: String, Sendable, Hashable {
    case get = "GET"
    case post = "POST"
    case put = "PUT"
    case delete = "DELETE"
  }

  /// Who may use a route.
  public enum Access: Sendable, Hashable {
    case everyone
    /// `Authorization: Bearer TOKEN` of a session.
    case session
    /// The signature in the URL.
    case signedURL
  }

  public let method: Method
  /// With parameters in braces, as OpenAPI has them.
  public let path: String
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
  public static let catalogue = Self(.get, "/v1/catalogue", .everyone)
  public static let region = Self(.get, "/v1/regions/{id}", .everyone)
  public static let preview = Self(.get, "/v1/regions/{id}/preview", .everyone)
  public static let packs = Self(.get, "/v1/regions/{id}/packs", .everyone)
  public static let register = Self(.post, "/v1/accounts", .everyone)
  public static let signIn = Self(.post, "/v1/sessions", .everyone)
  public static let signOut = Self(.delete, "/v1/sessions/current", .session)
  public static let signOutEverywhere = Self(.delete, "/v1/sessions", .session)
  public static let account = Self(.get, "/v1/account", .session)
  public static let changePassword = Self(.put, "/v1/account/password", .session)
  public static let eraseAccount = Self(.delete, "/v1/account", .session)
  public static let library = Self(.get, "/v1/library", .session)
  public static let libraryOfDevice = Self(.post, "/v1/library", .session)
  public static let purchases = Self(.post, "/v1/purchases", .session)
  public static let downloads = Self(.post, "/v1/downloads", .session)
  public static let file = Self(.get, "/v1/files/{file}", .signedURL)
  public static let grants = Self(.get, "/v1/grants", .session)
  public static let grantKeys = Self(.get, "/v1/grants/key", .everyone)
  public static let appleNotifications = Self(.post, "/v1/notifications/apple", .everyone)
  public static let googleNotifications = Self(.post, "/v1/notifications/google", .everyone)
  public static let home = Self(.get, "/", .everyone)
  public static let cataloguePage = Self(.get, "/catalogue", .everyone)
  public static let asset = Self(.get, "/assets/{name}", .everyone)
  public static let health = Self(.get, "/health", .everyone)
  public static let ready = Self(.get, "/ready", .everyone)
  public static let metrics = Self(.get, "/metrics", .everyone)

  /// Every route. GET routes answer HEAD too.
  public static let all: [Self] = [
    catalogue, region, preview, packs, register, signIn, signOut, signOutEverywhere, account, changePassword,
    eraseAccount, library, libraryOfDevice, purchases, downloads, file, grants, grantKeys, appleNotifications,
    googleNotifications, home, cataloguePage, asset, health, ready, metrics,
  ]
}
