import Accounts
import HTTPTypes
import Hummingbird
import Logging
import MapStoreWire
import NIOCore
import NIOHTTP1
import PurchaseLedger
import ServerSupport
import Support

/// Hummingbird's router, made from the table of routes. A request passes:
///
/// 1. ``ConnectionGuard``: limits of the connection;
/// 2. the router, which finds the route of method and path;
/// 3. ``StoreMiddleware``: the limit of the client's address, 404 and 405, errors as problem details, metrics, audit;
/// 4. ``StoreEndpoint``: session, limit of the account, memory for the body;
/// 5. the route's handler in ``StoreService``.
enum StoreRouter {
  typealias Handler = @Sendable (StoreService, StoreRequest) async throws -> Response

  static func make(_ service: StoreService) -> Router<StoreContext> {
    let router = Router(context: StoreContext.self)
    for route in StoreRoute.all {
      guard let handler = handlers[route] else { preconditionFailure("\(route.path) has no handler") }
      let endpoint = StoreEndpoint(service: service, route: route, handler: handler)
      let group = router.group().add(middleware: StoreMiddleware(service, route))
      for method in route.methods { group.on(RouterPath(route.path), method: method, responder: endpoint) }
    }
    // A middleware applies to what is added after it: this one to requests that no route answers.
    router.add(middleware: StoreMiddleware(service, nil))
    return router
  }

  private static let handlers: [StoreRoute: Handler] = [
    .catalogue: { try await $0.catalogue($1) },
    .region: { try await $0.region($1) },
    .preview: { try await $0.preview($1) },
    .thumbnail: { try await $0.thumbnail($1) },
    .previewTile: { try await $0.previewTile($1) },
    .packs: { try await $0.packs($1) },
    .register: { try await $0.register($1) },
    .signIn: { try await $0.signIn($1) },
    .signOut: { try await $0.signOut($1) },
    .signOutEverywhere: { try await $0.signOutEverywhere($1) },
    .account: { try await $0.account($1) },
    .changePassword: { try await $0.changePassword($1) },
    .eraseAccount: { try await $0.eraseAccount($1) },
    .library: { try await $0.library($1) },
    .libraryOfDevice: { try await $0.libraryOfDevice($1) },
    .purchases: { try await $0.purchases($1) },
    .downloads: { try await $0.downloads($1) },
    .file: { try await $0.file($1) },
    .grants: { try await $0.grants($1) },
    .grantKeys: { service, _ in try Reply.message(service.grants.published, caching: "public, max-age=300") },
    .appleNotifications: { try await $0.appleNotification($1) },
    .googleNotifications: { try await $0.googleNotification($1) },
    .home: { try await $0.cataloguePage($1) },
    .cataloguePage: { try await $0.cataloguePage($1) },
    .regionPage: { try await $0.regionPage($1) },
    .sitemap: { try await $0.sitemap($1) },
    .robots: { $0.robots($1) },
    .appleAssociation: { service, _ in try service.appleAssociation() },
    .androidAssociation: { service, _ in try service.androidAssociation() },
    .asset: { try $0.asset($1) },
    .health: { _, _ in Reply.text("ok\n") },
    .ready: { service, _ in try await service.ready() },
    .metrics: { service, _ in service.metricsDocument() },
  ]
}

extension StoreRoute {
  /// The methods of HTTP that the route answers.
  fileprivate var methods: [HTTPRequest.Method] {
    let method = HTTPRequest.Method(rawValue: method.rawValue)!
    return method == .get ? [.get, .head] : [method]
  }

  /// The names of the path's parameters.
  fileprivate var parameterNames: [String] {
    path.split(separator: "/").filter { $0.hasPrefix("{") }.map { String($0.dropFirst().dropLast()) }
  }

  /// Whether a path has the form of the route's.
  fileprivate func matches(_ segments: [Substring]) -> Bool {
    let pattern = path.split(separator: "/", omittingEmptySubsequences: false)
    return pattern.count == segments.count
      && zip(pattern, segments).allSatisfy { wanted, segment in
        wanted.hasPrefix("{") ? !segment.isEmpty && PercentDecoding.decode(segment.utf8) != nil : wanted == segment
      }
  }
}

/// Surrounds every request: limits its client, makes responses of errors, and counts and records what became of it.
struct StoreMiddleware: RouterMiddleware {
  typealias Context = StoreContext

  private let service: StoreService
  /// Nil for requests that no route answers.
  private let route: StoreRoute?
  private let parameterNames: [String]

  init(_ service: StoreService, _ route: StoreRoute?) {
    (self.service, self.route) = (service, route)
    parameterNames = route?.parameterNames ?? []
  }

  func handle(
    _ request: Request, context: StoreContext, next: (Request, StoreContext) async throws -> Response
  ) async throws -> Response {
    var context = context
    context.client = client(of: request, context)
    let parameters = parameters(of: request, context)
    let route = parameters == nil ? nil : route
    var response: Response
    do {
      if let wait = service.requestsByAddress.take(context.client) {
        throw Rejection(.tooMany("too many requests from this address"), retryAfter: wait, closesConnection: true)
      }
      guard let parameters else { throw Self.noRoute(request.uri.path) }
      // Strangers learn nothing of what is sold: not even that there are figures.
      if route == .metrics, !isOfOperator(request, context) { throw Problem.notFound }
      context.pathParameters = parameters
      response = try await next(request, context)
    } catch {
      guard let rejection = rejection(for: error) else { throw error }
      service.metrics.count(refusal: rejection.problem.type.code)
      // HEAD records nothing in the ledger.
      if request.method != .head { await audit(rejection, route, client: context.client) }
      response = rejection.response
    }
    service.metrics.count(route: route, status: response.status.code)
    response.headers[Self.contentTypeOptions] = "nosniff"
    // Hummingbird adds 0, which is forbidden for 204 and wrong for 304 (RFC 9110, section 8.6).
    if [204, 304].contains(response.status.code) { response.headers[.contentLength] = nil }
    return request.method == .head ? response.createHeadResponse() : response
  }

  private static let contentTypeOptions = HTTPField.Name("X-Content-Type-Options")!

  /// The client's network: behind trusted proxies, of the last address that one of them has seen. What is no address is
  /// nothing to count by: such a client counts as the proxy.
  private func client(of request: Request, _ context: StoreContext) -> String {
    let proxies = service.proxies
    guard proxies.contains(context.peer) else { return context.peer.network }
    return (proxies.client(of: RequestFields(fields: request.headers)) ?? context.peer).network
  }

  private struct RequestFields: HeaderFields {
    let fields: HTTPFields
    func values(_ name: StaticString) -> [String] { HTTPField.Name("\(name)").map { fields[values: $0] } ?? [] }
  }

  /// Whether a request comes from where the operator's monitoring is, and by no proxy but a trusted one.
  private func isOfOperator(_ request: Request, _ context: StoreContext) -> Bool {
    let fields = RequestFields(fields: request.headers)
    let client = service.proxies.contains(context.peer) ? service.proxies.client(of: fields) : nil
    guard fields.forwardedFor == nil || client != nil else { return false }
    return service.monitors.contains(client ?? context.peer)
  }

  /// The decoded parameters of the path; nil if the path is not the route's after all. Hummingbird's router ignores
  /// empty segments and does not decode.
  private func parameters(of request: Request, _ context: StoreContext) -> [String]? {
    guard route != nil, Self.hasNoEmptySegment(request.uri.path) else { return nil }
    var parameters: [String] = []
    for name in parameterNames {
      guard let segment = context.parameters.get(name), let text = PercentDecoding.decode(segment.utf8) else {
        return nil
      }
      parameters.append(text)
    }
    return parameters
  }

  private static func hasNoEmptySegment(_ path: String) -> Bool {
    let slash = UInt8(ascii: "/")
    var last: UInt8?
    for byte in path.utf8 {
      if last == nil ? byte != slash : byte == slash && last == slash { return false }
      last = byte
    }
    return last != slash || path.utf8.count == 1
  }

  /// 405 for a path that has other methods, else 404: the router says 404 for both.
  private static func noRoute(_ path: String) -> any Error {
    let segments = path.split(separator: "/", omittingEmptySubsequences: false)
    let methods = StoreRoute.all.filter { $0.matches(segments) }.flatMap(\.methods).map(\.rawValue)
    guard !methods.isEmpty else { return Problem.notFound }
    let list = methods.joined(separator: ", ")
    return Rejection(.methodNotAllowed(list), allowed: list)
  }

  /// Nil for errors that end the connection: no response can be sent then.
  private func rejection(for error: any Error) -> Rejection? {
    switch error {
    case let rejection as Rejection: return rejection
    case let problem as Problem: return Rejection(problem)
    case is CancellationError, is ChannelError, is IOError: return nil
    // Hummingbird answers what is not HTTP; ``ConnectionGuard`` adds the problem.
    case is HTTPParserError: return nil
    case let error as LedgerError:
      switch error.code {
      case .loginTaken: return Rejection(.loginTaken)
      case .wrongPassword: return Rejection(.wrongCredentials(status: 401))
      case .busy: return Rejection(.tooMany(error.message, remedy: error.remedy), retryAfter: 60)
      case .account: return Rejection(.unusableCredentials(error))
      // The watch of the ledger logs this once.
      case .gone: return Rejection(.unavailable("the ledger cannot be used"), retryAfter: 5)
      case .database, .damaged, .noLedger, .notALedger:
        service.faults.error("ledger", "\(error)", of: error)
        return Rejection(.unavailable("the ledger cannot be used"), retryAfter: 5)
      default: break
      }
    case let error as StoreError:
      service.faults.error("store", "\(error)", of: error)
      return Rejection(.unavailable("the store cannot write"), retryAfter: 5)
    default: break
    }
    service.faults.error("internal", "internal error: \(error)", of: error)
    return Rejection(.failed)
  }

  /// Records refusals as events of the ledger where an account is known, a password was wrong, or a notification
  /// failed. They are limited, so that strangers cannot fill the ledger; of a repeated `GET` there is one event a day.
  private func audit(_ rejection: Rejection, _ route: StoreRoute?, client: String) async {
    guard let route, let kind = Self.audited[route],
      [400, 401, 403, 404, 409, 429].contains(rejection.problem.status),
      rejection.account != nil || rejection.problem.type == .wrongCredentials || kind == "notification",
      service.auditsByAddress.take(rejection.account?.description ?? client) == nil,
      rejection.account != nil || service.auditsOfStrangers.take("all") == nil
    else { return }
    let code = rejection.problem.type.code
    do {
      try await service.ledger.recordAudit(
        kind: kind, account: rejection.account, subject: rejection.subject, outcome: "refused", detail: code,
        onceADay: route.method == .get ? "\(code) \(rejection.subject ?? "")" : nil)
    } catch {
      service.faults.error("refusal", "a refusal could not be recorded: \(error)", of: error)
    }
  }

  private static let audited: [StoreRoute: String] = [
    .downloads: "download", .file: "download", .grants: "offline-grant", .signIn: "sign-in",
    // These ask for the password as well.
    .changePassword: "sign-in", .eraseAccount: "sign-in",
    .appleNotifications: "notification", .googleNotifications: "notification", .purchases: "purchase",
  ]
}

/// Calls a route's handler once the session is known.
struct StoreEndpoint: HTTPResponder {
  let service: StoreService
  let route: StoreRoute
  let handler: StoreRouter.Handler

  func respond(to request: Request, context: StoreContext) async throws -> Response {
    // Notifications of the app stores carry tokens of their own in this field.
    let session = route.isNotification ? nil : try await session(of: request, context)
    if let account = session?.account {
      try service.take(
        service.requestsByAccount, account.description, "too many requests of this account", account: account)
    }
    if route.access == .session, session == nil { throw Problem.unauthorized }
    let share =
      route.method == .get
      ? nil
      : service.capacity.bodies(of: route)
        .share(of: session.map { .account($0.account) } ?? .address(context.client))
    share?.join(context.channel)
    return try await handler(
      service,
      StoreRequest(
        route: route, parameters: context.pathParameters, query: try Query(request.uri.query),
        address: context.client, request: request, channel: context.channel, session: session, share: share,
        capacity: service.capacity))
  }

  /// The session that a request names. An expired one is an error, so that no client believes that it is signed in.
  private func session(of request: Request, _ context: StoreContext) async throws -> StoreRequest.Session? {
    guard let field = request.headers[.authorization] else { return nil }
    let words = field.split(separator: " ", maxSplits: 1)
    guard words.count == 2, words[0].lowercased() == "bearer", words[1].utf8.count <= 256 else { return nil }
    let token = SessionToken(String(words[1]))
    let account = try await service.capacity.read(
      QuickReads.Kind(route: nil, account: nil), of: route, network: context.client, account: nil, context.channel
    ) { [ledger = service.ledger] in try ledger.accounts.account(for: token) }
    guard let account else { throw Problem.unauthorized }
    return StoreRequest.Session(token: token, account: account)
  }
}
