/// An error as the service answers it: problem details (RFC 9457), `application/problem+json`.
public struct Problem: Error, Sendable, Hashable, Codable, CustomStringConvertible {
  /// A stable name for programs: `urn:map-store:problem:` and a code.
  public var type: Kind
  /// For people, the same for each type.
  public var title: String
  /// The HTTP status.
  public var status: Int
  /// What happened this time and what to do, beginning in lower case.
  public var detail: String?

  public init(_ type: Kind, title: String, status: Int, detail: String? = nil) {
    (self.type, self.title, self.status, self.detail) = (type, title, status, detail)
  }

  public static let contentType = "application/problem+json"

  public var description: String { detail.map { "\(title): \($0)" } ?? title }

  public struct Kind: RawRepresentable, Sendable, Hashable, Codable {
    public let rawValue: String
    public init(rawValue: String) { self.rawValue = rawValue }
    private init(_ code: String) { rawValue = "urn:map-store:problem:\(code)" }

    /// 400: a body, parameter or header that cannot be read.
    public static let badRequest = Self("bad-request")
    /// 401: no session, or one that is over.
    public static let unauthorized = Self("unauthorized")
    /// 401 at sign-in, 403 with a session: login or password is wrong.
    public static let wrongCredentials = Self("wrong-credentials")
    /// 403: the account does not own the region.
    public static let notOwned = Self("not-owned")
    /// 403: a signed URL that is over, used up, altered, another account's, or of an entitlement that ended. Ask for another one.
    public static let linkRefused = Self("link-refused")
    /// 404: no such region, file or path; also regions that are not for sale to those who do not own them.
    public static let notFound = Self("not-found")
    /// 405: the path answers other methods.
    public static let methodNotAllowed = Self("method-not-allowed")
    /// 409: the login is taken.
    public static let loginTaken = Self("login-taken")
    /// 409: the shelf has another edition by now, or no such patch.
    public static let editionGone = Self("edition-gone")
    /// 412: the file is none of those that `If-Match` names.
    public static let preconditionFailed = Self("precondition-failed")
    /// 413: the body is larger than is taken.
    public static let tooLarge = Self("too-large")
    public static let headTooLarge = Self("head-too-large")
    /// 422: a login or password that cannot be taken.
    public static let unusableCredentials = Self("unusable-credentials")
    /// 429: too many requests or downloads; `Retry-After` says for how long.
    public static let tooMany = Self("too-many")
    /// 500: our fault.
    public static let failed = Self("failed")
    /// 503: the ledger or the shelf cannot be read or written; `Retry-After` says when to try again.
    public static let unavailable = Self("unavailable")
  }
}
