@_exported public import Support
internal import TileIndex

/// Messages as bytes: JSON in UTF-8, members in the order of their declaration, absent ones left out.
public enum WireJSON {
  /// The bytes of a message.
  ///
  /// - Throws: `EncodingError`, for numbers that are not finite.
  public static func encode(_ message: some Encodable) throws -> [UInt8] {
    try JSONValue(encoding: message).bytes
  }

  /// The message that bytes contain.
  ///
  /// - Throws: ``Unreadable``, which says where and why.
  public static func decode<Message: Decodable>(_ type: Message.Type, from bytes: [UInt8]) throws(Unreadable) -> Message
  {
    do {
      return try JSONValue(parsing: bytes).decoded(as: type)
    } catch let error as DecodingError {
      throw Unreadable(description: "\(error.place.isEmpty ? "the document" : error.place) \(error.complaint)")
    } catch {
      throw Unreadable(description: "is not valid JSON: \(error)")
    }
  }

  /// The bytes are not such a message. Says where and why, in lower case.
  public struct Unreadable: Error, Hashable, CustomStringConvertible {
    public let description: String
    /// What is wrong: a sentence for people.
    public var errorDescription: String? { Sentence.of("the map store's message cannot be read: \(description)") }
    /// What to do about it: a sentence for people.
    public var recoverySuggestion: String? { Sentence.of("check that the address is that of a map store") }
  }
}

/// An error response: problem details (RFC 9457), `application/problem+json`.
public struct Problem: ToolkitError, Hashable, Codable {
  /// A stable name for programs: `urn:map-store:problem:` and a code.
  public var type: Kind
  /// For people; the same for each type.
  public var title: String
  /// The HTTP status.
  public var status: Int
  /// What happened this time and what to do; starts in lower case.
  public var detail: String?
  /// The end of `detail` that says what to do, if it does.
  public var remedy: String?

  /// An error response; `detail` and `remedy` start in lower case.
  public init(_ type: Kind, title: String, status: Int, detail: String? = nil, remedy: String? = nil) {
    (self.type, self.title, self.status, self.remedy) = (type, title, status, remedy)
    let texts = [detail, remedy].compactMap(\.self)
    self.detail = texts.isEmpty ? nil : texts.joined(separator: "; ")
  }

  /// The media type of RFC 9457.
  package static let contentType = "application/problem+json"

  public var code: Kind { type }
  /// What happened this time; the title where nothing else is said.
  public var message: String {
    guard let detail, detail != remedy else { return title }
    guard let remedy, detail.hasSuffix("; \(remedy)") else { return detail }
    return String(detail.dropLast(remedy.count + 2))
  }
  public var description: String { detail.map { "\(title): \($0)" } ?? title }

  /// The type of a problem: a URN whose last part is its code.
  public struct Kind: RawRepresentable, Sendable, Hashable, Codable {
    public let rawValue: String
    public init(rawValue: String) { self.rawValue = rawValue }
    private init(_ code: String) { rawValue = "urn:map-store:problem:\(code)" }

    /// 400: a body, parameter or header that cannot be read.
    package static let badRequest = Self("bad-request")
    /// 401: no session, or an expired one.
    public static let unauthorized = Self("unauthorized")
    /// 401 at sign-in, 403 with a session: login or password is wrong.
    package static let wrongCredentials = Self("wrong-credentials")
    /// 403: the account does not own the region.
    public static let notOwned = Self("not-owned")
    /// 403: a signed URL that has expired, is used up, was altered, belongs to another account, or to an entitlement
    /// that has ended. Ask for another one.
    package static let linkRefused = Self("link-refused")
    /// 404: no such region, file or path; also a region that is not for sale, for accounts that do not own it.
    package static let notFound = Self("not-found")
    /// 405: the path has other methods.
    package static let methodNotAllowed = Self("method-not-allowed")
    /// 409: the login is taken.
    package static let loginTaken = Self("login-taken")
    /// 409: the catalogue has another edition by now, or no such patch.
    package static let editionGone = Self("edition-gone")
    /// 412: the file is none of those that `If-Match` names.
    package static let preconditionFailed = Self("precondition-failed")
    /// 413: the body is too large.
    package static let tooLarge = Self("too-large")
    /// 431: the request's head is too large.
    package static let headTooLarge = Self("head-too-large")
    /// 422: a login or password that breaks the rules.
    package static let unusableCredentials = Self("unusable-credentials")
    /// 429: too many requests or downloads; `Retry-After` says how long to wait.
    package static let tooMany = Self("too-many")
    /// 500: a fault of the server.
    public static let failed = Self("failed")
    /// 503: the server cannot answer now: the ledger, the catalogue's files or its capacity; `Retry-After` says when to
    /// try again.
    public static let unavailable = Self("unavailable")
  }
}
