import Logging
import NIOCore
import ServerSupport
import Synchronization
import TileIndex
import TilePrefetch

/// Turns requests into responses; independent of sockets.
final class TileService: Sendable {
  /// How a request is answered.
  enum Plan: Sendable {
    /// At once.
    case reply(EncodedResponse)
    /// At once, with a tile as it is stored in a bundle: the response is the same until the bundle changes.
    case storedTile(EncodedResponse, ServedTileset)
    /// By a thread that may block. Throws only ``ReadingSlots/Crowded``.
    case work(WorkPool.Lane, @Sendable () throws -> EncodedResponse)
  }

  /// What the connection knows about a request.
  struct ConnectionContext: Sendable {
    /// A number for the address of the peer.
    var client = 0
    /// The value of the Date field.
    var date: String
    /// True for peers whose X-Forwarded fields are trusted.
    var isTrusted: Bool
    var isDraining: Bool
    /// Whether the server stops by now: the answer may be made later.
    var isLeaving: @Sendable () -> Bool = { false }
  }

  /// A request with its context.
  struct RequestContext: Sendable {
    let facts: RequestFacts
    let connection: ConnectionContext
    let crossOrigin: TileServerOptions.CrossOrigin

    func writer(_ route: RouteName) -> ReplyWriter {
      ReplyWriter(
        request: facts, route: route, date: connection.date,
        commonFields: CrossOriginFields.fields(crossOrigin, facts, route),
        isDraining: connection.isDraining || connection.isLeaving())
    }
  }

  let registry: TilesetRegistry
  let options: TileServerOptions
  let resolver: TileResolver
  let prefetcher: Prefetcher
  let libraries: WebLibraries
  let metrics: Metrics
  /// The lane for pages and lists, which may open any bundle.
  let documentLane: WorkPool.Lane
  let addresses: BaseURLResolver
  /// True when the event loops are about to end: responses that are made later are dropped.
  let hasEnded = Atomic(false)
  /// True when the server shuts down, for `/ready`.
  let isLeaving = Atomic(false)
  private let alarm: DescriptorAlarm
  /// The tilesets that were requested. Those that were removed or replaced go when there are many.
  let served = Mutex<[ObjectIdentifier: ServedTileset]>([:])
  let logger: Logger

  /// A damaged tile, in one state of its bundle.
  struct Damage: Hashable {
    var message: String
    var places: [BundlePlaces.Place?]
  }

  /// The damaged tiles that were logged.
  let damages = Mutex<Set<Damage>>([])

  /// - Parameter boundOrigin: for requests without a usable Host field.
  init(
    _ registry: TilesetRegistry, _ options: TileServerOptions, boundOrigin: String, metrics: Metrics,
    alarm: DescriptorAlarm,
    logger: Logger
  ) {
    self.registry = registry
    self.alarm = alarm
    self.logger = logger
    self.options = options
    self.metrics = metrics
    resolver = TileResolver(cache: metrics.cache, budget: DrawingBudget(byteCountMax: options.drawingBytes))
    prefetcher = Prefetcher(options.prefetch, resolver, registry.work, coreCount: System.coreCount)
    libraries = WebLibraries.find(in: options.webLibraryFolders ?? WebLibraries.systemFolders)
    documentLane = registry.work.lane(device: .max)
    addresses = BaseURLResolver(options, boundOrigin: boundOrigin)
  }

  /// Decides how a request is answered. Never blocks.
  func plan(_ facts: RequestFacts, _ connection: ConnectionContext) -> Plan {
    let context = RequestContext(facts: facts, connection: connection, crossOrigin: options.crossOrigin)
    if let refusal = refusal(context) { return .reply(refusal) }
    if facts.method != .options, let tile = addresses.tile(facts.target) { return plan(tile, .tile, context) }
    let local = addresses.local(facts.target)
    do {
      return try plan(RequestTarget(local), context)
    } catch {
      // Also if the query is unreadable.
      let path = local.prefix { $0 != "?" }
      let isWMTS = path.hasSuffix("/wmts") || path.hasSuffix("/WMTSCapabilities.xml") || path.hasPrefix("/wmts/1.0.0/")
      return .reply(failure(error, isWMTS ? .wmts : .other, context))
    }
  }

  /// The base URL by which the client reaches the server.
  func address(_ context: RequestContext) -> ServiceAddress {
    addresses.address(context.facts, isTrusted: context.connection.isTrusted)
  }

  /// Rejects requests that are invalid whatever their path.
  private func refusal(_ context: RequestContext) -> EncodedResponse? {
    let facts = context.facts
    let writer = context.writer(.other)
    if let fault = facts.hostFault { return writer.failure(400, fault) }
    guard addresses.isAllowed(facts, isTrusted: context.connection.isTrusted) else {
      return writer.failure(421, "this server does not answer for this host; name it in allowedHosts")
    }
    if facts.method == .other {
      return writer.failure(405, Self.allowedMethods, fields: Self.allow)
    }
    if facts.expectation == .unknown { return writer.failure(417, "nothing can be expected here but 100-continue") }
    guard facts.target.utf8.count <= 4096 else { return writer.failure(414, "the URL is longer than 4096 bytes") }
    if facts.method == .options {
      return writer.reply(
        204, fields: Self.allow + CrossOriginFields.preflight(options.crossOrigin, facts))
    }
    return nil
  }

  /// The response for an error.
  func failure(_ error: any Error, _ route: RouteName, _ context: RequestContext) -> EncodedResponse {
    let writer = context.writer(route)
    let (status, reason) = Self.fault(error)
    if let error = error as? BundleError, error.code == .tooManyOpenFiles {
      alarm.ring("\(error.path ?? ""): \(error.message)")
    }
    let fields = status == 503 ? Self.retry : ""
    guard route == .wmts else { return writer.failure(status, reason, fields: fields) }
    return exceptionReport(
      WMTSError(error, reason: reason), status: status, fields: fields, caching: "no-store", writer)
  }

  private static func fault(_ error: any Error) -> (status: Int, reason: String) {
    switch error {
    case let error as GridError: return (400, error.description)
    case let error as WMTSError: return (error.code == .operationNotSupported ? 501 : 400, error.text)
    case let error as ServeError:
      switch error.code {
      case .badRequest: return (400, error.description)
      case .unknownTileset: return (404, error.description)
      case .unavailable, .missingShard: return (503, error.description)
      default: return (500, error.description)
      }
    case let error as BundleError:
      switch error.code {
      case .notFound: return (404, "the bundle is gone")
      // Locked, changing, half copied, on a failing disk: it may be available in a moment, and a 404 would be cached.
      default: return (503, TilesetRegistry.Failure(error).reason)
      }
    // The client of any other request that is cancelled is gone.
    case is CancellationError: return (503, "the server is stopping")
    default: return (500, "internal error")
    }
  }

  static let retry = "Retry-After: 2\r\n"
  static let allow = "Allow: GET, HEAD, OPTIONS\r\n"
  static let allowedMethods = "only GET, HEAD and OPTIONS"
}

/// Fields that let pages of other origins read the responses (Fetch standard, CORS protocol).
enum CrossOriginFields {
  /// For every response. What is for the operator, and names files, is for pages of those origins alone that are
  /// listed.
  static func fields(
    _ policy: TileServerOptions.CrossOrigin, _ facts: RequestFacts, _ route: RouteName
  ) -> String {
    switch policy {
    case .any where [.metrics, .tilesets, .index].contains(route): return ""
    case .any: return "Access-Control-Allow-Origin: *\r\nAccess-Control-Expose-Headers: ETag\r\n"
    case .off: return ""
    case .origins(let origins):
      // Caches must store the responses for different origins separately, also that for no origin.
      guard let origin = facts.origin, origins.contains(origin) else { return "Vary: Origin\r\n" }
      return "Access-Control-Allow-Origin: \(origin)\r\nAccess-Control-Expose-Headers: ETag\r\nVary: Origin\r\n"
    }
  }

  /// Additional fields for the response to a preflight.
  static func preflight(_ policy: TileServerOptions.CrossOrigin, _ facts: RequestFacts) -> String {
    guard facts.isPreflight, policy != .off else { return "" }
    if case .origins(let origins) = policy, !origins.contains(facts.origin ?? "") { return "" }
    var fields = """
      Access-Control-Allow-Methods: GET, HEAD, OPTIONS\r\n\
      Access-Control-Allow-Headers: *, Range, If-None-Match, If-Modified-Since\r\n\
      Access-Control-Max-Age: 86400\r\n
      """
    // Sent by pages on the Internet that access a server on this machine (Private Network Access).
    if facts.asksPrivateNetwork { fields += "Access-Control-Allow-Private-Network: true\r\n" }
    return fields
  }
}
