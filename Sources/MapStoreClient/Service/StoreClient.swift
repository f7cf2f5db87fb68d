import AsyncHTTPClient
public import MapStoreWire
import NIOCore
import NIOHTTP1
import Synchronization
import TileIndex

/// Speaks with the store's server. Requests are repeated where that may help and can do no harm.
///
/// All calls throw ``MapStoreError``, or `CancellationError`.
public final class StoreClient: Sendable {
  /// `https://maps.example.com`, without a slash at the end.
  public let address: String
  public let session: StoreSession
  let retry: RetryRule
  let clock: ShelfClock
  let http: HTTPClient

  /// The largest answer that is read into memory.
  static let answerBytesMax = 64 << 20

  /// - Parameter address: of the server; a path in front of its routes is kept.
  public init(address: String, session: StoreSession = StoreSession(), retry: RetryRule = RetryRule()) {
    self.address = address.hasSuffix("/") ? String(address.dropLast()) : address
    (self.session, self.retry, clock) = (session, retry, ShelfClock())
    var configuration = HTTPClient.Configuration()
    configuration.timeout.connect = .milliseconds(Int64(retry.connectMax * 1000))
    configuration.timeout.read = .milliseconds(Int64(retry.idleMax * 1000))
    // A redirect would take the session to where it does not belong.
    configuration.redirectConfiguration = .disallow
    // Its own retries of connections are not counted, and hide what is wrong.
    configuration.connectionPool.retryConnectionEstablishment = false
    http = HTTPClient(eventLoopGroupProvider: .singleton, configuration: configuration)
  }

  // Its connections are the singleton event loops' otherwise, for ever. A second shutdown does nothing.
  deinit { _ = http.shutdown() }

  /// Ends all connections. The client cannot be used afterwards.
  public func shutdown() async { try? await http.shutdown() }

  // MARK: Accounts

  public func register(_ credentials: Credentials) async throws -> AccountDetails {
    try await send(.register, body: credentials, repeats: false)
  }

  /// Begins a session, which the later calls go by.
  @discardableResult
  public func signIn(_ credentials: Credentials) async throws -> SessionDetails {
    var credentials = credentials
    credentials.deviceToken = credentials.deviceToken ?? session.deviceToken
    let details: SessionDetails = try await send(.signIn, body: credentials)
    session.set(details)
    return details
  }

  /// Ends the session; one that is over already is ended.
  public func signOut() async throws {
    do {
      try await sendWithoutAnswer(.signOut)
    } catch let error as MapStoreError where error.code == .signedOut {
      // Nothing is left to end.
    }
    session.set(nil)
  }

  /// Ends all sessions of the account, which needs one that is not over.
  public func signOutEverywhere() async throws {
    try await sendWithoutAnswer(.signOutEverywhere)
    session.set(nil)
  }

  public func account() async throws -> AccountDetails { try await send(.account) }

  // MARK: What there is

  /// A page of what is for sale.
  ///
  /// - Parameter query: `q`, `category`, `near`, `limit`, `cursor`.
  public func catalogue(_ query: [(name: String, value: String)] = []) async throws -> CataloguePage {
    try await send(.catalogue, query: query)
  }

  public func region(_ id: String) async throws -> RegionDetails {
    try await send(.region, path: StoreRoute.region.path(id)) { answer in
      guard answer.region.id == id else { throw AnswerFault("region.id", "is another region's than was asked for") }
    }
  }

  /// - Parameter installed: the editions on the device by their regions; any number of them.
  public func library(installed: [(region: String, edition: String)] = []) async throws -> Library {
    try await send(
      .libraryOfDevice, body: InstalledRegions(installed.map { InstalledRegion(id: $0.region, edition: $0.edition) }))
  }

  // MARK: Purchases and files

  public func submit(_ purchases: PurchaseSubmission) async throws -> PurchaseResults {
    try await send(.purchases, body: purchases) { answer in
      guard answer.results.count == purchases.transactions.count else {
        throw AnswerFault(
          "results", "are \(answer.results.count), and \(purchases.transactions.count) purchases were sent")
      }
    }
  }

  public func ticket(_ request: DownloadRequest) async throws -> DownloadTicket {
    try await send(.downloads, body: request) { [address] answer in
      try AnswerRule.url(answer.url, "url", of: address)
      for (name, given, wanted) in [
        ("regionId", answer.regionId, request.regionId), ("edition", answer.edition, request.edition),
        ("file", answer.file, request.file),
      ] where wanted != nil && given != wanted { throw AnswerFault(name, "is another than was asked for") }
    }
  }

  public func grants() async throws -> SignedGrants { try await grants(attemptsMax: nil) }
  func grants(attemptsMax: Int?) async throws -> SignedGrants { try await send(.grants, attemptsMax: attemptsMax) }
  public func grantKeys() async throws -> GrantKeys { try await send(.grantKeys) }

  /// The absolute address of a path that the server named.
  func absolute(_ url: String) -> String {
    if url.hasPrefix("http://") || url.hasPrefix("https://") { return url }
    return address + (url.hasPrefix("/") ? url : "/" + url)
  }
}

/// The session of one person, renewed when it is over.
public final class StoreSession: Sendable {
  private let current: Mutex<SessionDetails?>
  private let device: Mutex<String?>
  private let credentials: @Sendable () async throws -> Credentials?
  private let changed: @Sendable (SessionDetails?) -> Void

  /// - Parameters:
  ///   - session: as it was kept since the last time; apps keep it in the system's key store, never on the shelf.
  ///   - deviceToken: of the last sign-in, where the session is over.
  ///   - credentials: asked when the server does not take the session any more; nil reports ``MapStoreError/Code/signedOut``.
  ///   - changed: told of new sessions, to keep them, and of the end of one.
  public init(
    _ session: SessionDetails? = nil, deviceToken: String? = nil,
    credentials: @escaping @Sendable () async throws -> Credentials? = { nil },
    changed: @escaping @Sendable (SessionDetails?) -> Void = { _ in }
  ) {
    current = Mutex(session)
    // One that was kept unchecked by an earlier version is forgotten: without it the device is a stranger, and can
    // sign in.
    device = Mutex(
      [session?.deviceToken, deviceToken].compactMap { $0 }.first { (try? AnswerRule.deviceToken($0)) != nil })
    (self.credentials, self.changed) = (credentials, changed)
  }

  public var details: SessionDetails? { current.withLock { $0 } }

  /// Shown at the next sign-in; it outlasts the session.
  public var deviceToken: String? { device.withLock { $0 } }

  func set(_ session: SessionDetails?) {
    current.withLock { $0 = session }
    if let token = session?.deviceToken { device.withLock { $0 = token } }
    changed(session)
  }

  func newCredentials() async throws -> Credentials? { try await credentials() }
}
