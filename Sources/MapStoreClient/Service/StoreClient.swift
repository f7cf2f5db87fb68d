// Its messages are in many signatures, so an app imports this library alone.
@_exported public import MapStoreWire
import RegionCatalog
import Support
import Synchronization
import TileIndex

#if canImport(FoundationEssentials)
  public import FoundationEssentials
#else
  public import Foundation
#endif

/// The client of the store's HTTP interface. Requests are repeated where that can help and is safe.
///
/// All calls throw ``MapStoreError``, or `CancellationError`.
public final class StoreClient: Sendable {
  /// `https://maps.example.com`, without a slash at the end.
  public let address: String
  /// Who is signed in.
  public let session: StoreSession
  let retry: RetryRule
  let clock: DeviceClock
  let connections: any HTTPConnections

  /// The largest answer that is read: a library of 100,000 regions. Its values take several times its size.
  static let answerBytesMax = 16 << 20

  /// A client of one server; nothing is sent yet.
  ///
  /// - Parameter address: the base URL of the server; may have a path. Apple's platforms allow only `https` unless the
  ///   app's `NSAppTransportSecurity` says otherwise.
  /// - Throws: ``MapStoreError`` `.invalidAddress` for what no server can have.
  public convenience init(
    address: String, session: StoreSession = StoreSession(), retry: RetryRule = RetryRule()
  ) throws {
    let retry = retry.limited
    #if AsyncHTTPClient && !canImport(Darwin)
      let connections = NIOConnections(retry)
    #else
      let connections = URLSessionConnections(retry)
    #endif
    try self.init(address: address, session: session, retry: retry, connections: connections)
  }

  /// A client of one server, as by its address.
  ///
  /// - Throws: as by its address.
  public convenience init(
    url: URL, session: StoreSession = StoreSession(), retry: RetryRule = RetryRule()
  ) throws {
    try self.init(address: url.absoluteString, session: session, retry: retry)
  }

  package init(
    address: String, session: StoreSession, retry: RetryRule, connections: any HTTPConnections
  ) throws {
    do {
      self.address = try Self.base(address)
    } catch {
      connections.abandon()
      throw error
    }
    (self.session, self.retry, self.connections, clock) = (session, retry, connections, DeviceClock())
  }

  /// A base URL that paths can be appended to.
  private static func base(_ text: String) throws -> String {
    do {
      var base = try HTTPAddress(text).text
      guard !base.contains("?") else { throw HTTPAddress.InvalidURL(description: "must not have a query (?)") }
      while base.hasSuffix("/") { base.removeLast() }
      return base
    } catch {
      throw MapStoreError(
        .invalidAddress, text, "\(error)", remedy: "name the map store's address, such as https://maps.example.com")
    }
  }

  // Without it, the connections would stay open.
  deinit { connections.abandon() }

  /// Closes all connections. The client cannot be used afterwards.
  public func shutdown() async { await connections.close() }

  // MARK: Accounts

  /// Makes an account. A request that may have arrived is not repeated, and a refused connection is an error at once,
  /// since a person waits.
  public func register(_ credentials: Credentials) async throws -> AccountDetails {
    try await send(.register, body: credentials, repeats: false, isAwaited: true)
  }

  /// Begins a session, which the following calls use. A refused connection is an error at once, since a person waits.
  @discardableResult
  public func signIn(_ credentials: Credentials) async throws -> SessionDetails {
    try await signIn(credentials, isAwaited: true)
  }

  func signIn(_ credentials: Credentials, isAwaited: Bool) async throws -> SessionDetails {
    var credentials = credentials
    credentials.deviceToken = credentials.deviceToken ?? session.deviceToken
    let details: SessionDetails = try await send(.signIn, body: credentials, isAwaited: isAwaited)
    session.set(details)
    return details
  }

  /// Ends the session; an expired one is no error.
  public func signOut() async throws {
    do {
      try await sendWithoutAnswer(.signOut)
    } catch let error as MapStoreError where error.code == .signedOut {
      // The session has expired already.
    }
    session.set(nil)
  }

  /// Ends all sessions of the account; requires a valid one.
  public func signOutEverywhere() async throws {
    try await sendWithoutAnswer(.signOutEverywhere)
    session.set(nil)
  }

  /// The account of the session.
  public func account() async throws -> AccountDetails { try await send(.account) }

  // MARK: Catalogue and library

  /// A page of the catalogue.
  ///
  /// - Parameter query: for all regions unless given.
  public func catalogue(_ query: CatalogQuery = CatalogQuery()) async throws -> CatalogPage {
    try await send(.catalogue, query: query.fields)
  }

  /// The catalogue's entry of a region: files, patches, tile packs.
  public func region(_ id: String) async throws -> RegionDetails { try await region(id, waits: nil) }
  func region(_ id: String, waits: WaitHandler?) async throws -> RegionDetails {
    try await send(
      .region, path: StoreRoute.region.path(id),
      fits: { answer in
        guard answer.region.id == id else { throw AnswerFault("region.id", "is not of the requested region") }
      }, waits: waits)
  }

  /// All that the account owns or may buy, with what is to do about each region on this device.
  ///
  /// - Parameter installed: the installed editions by region; any number of them.
  public func library(installed: [(region: String, edition: String)] = []) async throws -> Library {
    try await send(
      .libraryOfDevice, body: InstalledRegions(installed.map { InstalledRegion(id: $0.region, edition: $0.edition) }))
  }

  // MARK: Purchases, files and grants

  /// Submits signed transactions. The server answers after its commit; submitting again changes nothing.
  public func submit(_ purchases: PurchaseSubmission) async throws -> PurchaseResults {
    try await send(.purchases, body: purchases) { answer in
      guard answer.results.count == purchases.transactions.count else {
        throw AnswerFault(
          "results", "are \(answer.results.count), and \(purchases.transactions.count) purchases were sent")
      }
    }
  }

  /// Asks for the URL of a file, which expires.
  public func ticket(_ request: DownloadRequest) async throws -> DownloadTicket {
    try await ticket(request, waits: nil)
  }
  func ticket(_ request: DownloadRequest, waits: WaitHandler?) async throws -> DownloadTicket {
    try await send(
      .downloads, body: request,
      fits: { [address] answer in
        try AnswerRule.url(answer.url, "url", of: address)
        for (name, given, wanted) in [
          ("regionId", answer.regionId, request.regionId), ("edition", answer.edition, request.edition),
          ("file", answer.file, request.file),
        ] where wanted != nil && given != wanted { throw AnswerFault(name, "is not the requested one") }
      }, waits: waits)
  }

  /// The signed document of what the account owns.
  public func grants() async throws -> SignedGrants { try await grants(attemptsMax: nil) }
  func grants(attemptsMax: Int?) async throws -> SignedGrants { try await send(.grants, attemptsMax: attemptsMax) }
  /// The public keys that verify such documents.
  public func grantKeys() async throws -> GrantKeys { try await send(.grantKeys) }

  /// The absolute URL of a URL or path that the server sent.
  func absolute(_ url: String) -> String {
    if url.contains("://"), !url.hasPrefix("/") { return url }
    return address + (url.hasPrefix("/") ? url : "/" + url)
  }
}

/// Which regions of the catalogue a page has, and in which order.
public struct CatalogQuery: Hashable, Sendable {
  /// A place on Earth.
  public struct Place: Hashable, Sendable {
    /// Degrees, -180 to 180.
    public var longitude: Double
    /// Degrees, -90 to 90.
    public var latitude: Double

    /// A place; longitude and latitude in degrees.
    public init(longitude: Double, latitude: Double) { (self.longitude, self.latitude) = (longitude, latitude) }
  }

  /// Up to 16 words of titles, descriptions or places; nil or empty for all regions.
  public var text: String?
  /// One of ``CatalogPage/categories``; nil for all.
  public var category: String?
  /// Sorts by distance from this place, which ``RegionListing/near`` tells.
  public var near: Place?
  /// The most regions of a page, 1 to 500; nil for 100. The server refuses others.
  public var limit: Int?
  /// ``CatalogPage/nextCursor`` of the page before, which had the same text, category and place; nil for the first.
  public var cursor: String?

  /// A query; nil does not restrict it.
  public init(
    text: String? = nil, category: String? = nil, near: Place? = nil, limit: Int? = nil, cursor: String? = nil
  ) {
    (self.text, self.category, self.near, self.limit, self.cursor) = (text, category, near, limit, cursor)
  }

  /// The fields of the URL.
  var fields: [(name: String, value: String)] {
    [
      ("q", text), ("category", category), ("near", near.map { "\($0.longitude),\($0.latitude)" }),
      ("limit", limit.map(String.init)), ("cursor", cursor),
    ].compactMap { name, value in value.map { (name, $0) } }
  }
}

/// A user's session, renewed when it has expired.
public final class StoreSession: Sendable {
  private let current: Mutex<SessionDetails?>
  private let device: Mutex<String?>
  private let credentials: @Sendable () async throws -> Credentials?
  private let changed: @Sendable (SessionDetails?) -> Void

  /// A session that is kept by the app, or none yet: then signing in begins one.
  ///
  /// - Parameters:
  ///   - session: the stored session of an earlier launch; apps store it in the system's key store, not in the folder
  ///     of regions.
  ///   - deviceToken: of the last sign-in, if its session has expired.
  ///   - credentials: called when the server rejects the session; nil leads to ``MapStoreError/Code/signedOut``.
  ///   - changed: called with each new session, to store it, and with nil at its end.
  public init(
    _ session: SessionDetails? = nil, deviceToken: String? = nil,
    credentials: @escaping @Sendable () async throws -> Credentials? = { nil },
    changed: @escaping @Sendable (SessionDetails?) -> Void = { _ in }
  ) {
    current = Mutex(session)
    // The app stores it: an invalid one is dropped, and the device signs in without.
    device = Mutex(
      [session?.deviceToken, deviceToken].compactMap { $0 }.first { (try? AnswerRule.deviceToken($0)) != nil })
    (self.credentials, self.changed) = (credentials, changed)
  }

  /// The session; nil while nobody is signed in.
  public var details: SessionDetails? { current.withLock { $0 } }

  /// Sent at the next sign-in; it outlasts the session.
  public var deviceToken: String? { device.withLock { $0 } }

  func set(_ session: SessionDetails?) {
    current.withLock { $0 = session }
    if let token = session?.deviceToken { device.withLock { $0 = token } }
    changed(session)
  }

  func newCredentials() async throws -> Credentials? { try await credentials() }
}

/// Fetches files over the client's own connections.
struct ClientTransport: FileTransport {
  let client: StoreClient

  func get(_ request: FileRequest, received: @escaping @Sendable (Int) -> Void) async throws -> FileAnswer {
    let message = HTTPMessage(
      url: try HTTPAddress(request.url), fields: request.fields, usesMetered: request.usesMetered,
      usesConstrained: request.usesConstrained)
    // Interim answers without end keep a connection busy, and bring nothing.
    return try await Deadline(after: client.retry.idleMax + client.retry.connectMax).run { [client] in
      try await client.connections.send(message)
    }
  }
}
