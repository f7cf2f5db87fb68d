import HTTPTypes
import Hummingbird
import Logging
import MapStoreWire
import NIOCore
import PurchaseLedger
import Support

/// Finds who asks and what for, and makes problems of errors.
struct StoreResponder: HTTPResponder {
  typealias Context = StoreContext

  private let service: StoreService
  private let table = RouteTable(StoreRoute.all)

  init(_ service: StoreService) { self.service = service }

  func respond(to request: Request, context: StoreContext) async throws -> Response {
    let isHead = request.method == .head
    let address = Self.address(of: request, context, trusting: service.options.trustedProxies)
    let match = table.match(method: request.method.rawValue, path: request.uri.path)
    var response: Response
    do {
      response = try await answer(match, request, address: address, context.channel)
    } catch {
      guard let rejection = try rejection(for: error) else { throw error }
      service.metrics.count(refusal: rejection.problem.type.code)
      // Whoever only asks whether something is there writes nothing.
      if !isHead { await audit(rejection, match, address: address) }
      response = Reply.problem(rejection)
    }
    if case .found(let route, _) = match {
      service.metrics.count(route: route, status: response.status.code)
    } else {
      service.metrics.count(route: nil, status: response.status.code)
    }
    response.headers[Self.contentTypeOptions] = "nosniff"
    // Hummingbird says 0, which for 204 is not allowed and for 304 not true (RFC 9110, section 8.6).
    if [204, 304].contains(response.status.code) { response.headers[.contentLength] = nil }
    return isHead ? response.createHeadResponse() : response
  }

  private static let contentTypeOptions = HTTPField.Name("X-Content-Type-Options")!

  private func answer(_ match: RouteTable.Match, _ request: Request, address: String, _ channel: any Channel)
    async throws -> Response
  {
    let wait = service.requestsByAddress.take(address)
    guard wait == nil else {
      throw Rejection(.tooMany("too many requests from this address"), retryAfter: wait, closesConnection: true)
    }
    switch match {
    case .none: throw Problem.notFound
    case .otherMethods(let allowed):
      let list = allowed.joined(separator: ", ")
      throw Rejection(.methodNotAllowed(list), allowed: list)
    case .found(let route, let parameters):
      // Stores' messages may carry tokens of their own.
      let session = route.path.hasPrefix("/v1/notifications/") ? nil : try session(of: request)
      if let account = session?.account {
        try service.take(
          service.requestsByAccount, account.description, "too many requests of this account", account: account)
      }
      if route.access == .session, session == nil { throw Problem.unauthorized }
      let share =
        route.method == .get
        ? nil
        : BodyBudget.Share(service.bodies, of: session.map { .account($0.account) } ?? .address(address))
      return try await service.answer(
        StoreRequest(
          route: route, parameters: parameters, query: try Query(request.uri.query), address: address,
          request: request, channel: channel, session: session, share: share))
    }
  }

  /// The session that a request names. One that is over is an error, so that no client takes itself for signed in.
  private func session(of request: Request) throws -> StoreRequest.Session? {
    guard let field = request.headers[.authorization] else { return nil }
    let words = field.split(separator: " ", maxSplits: 1)
    guard words.count == 2, words[0].lowercased() == "bearer", words[1].utf8.count <= 256 else { return nil }
    let token = SessionToken(String(words[1]))
    guard let account = try service.ledger.accounts.account(for: token) else { throw Problem.unauthorized }
    return StoreRequest.Session(token: token, account: account)
  }

  /// Behind proxies that are trusted, the last address that such a one has seen; as limits count it.
  private static func address(of request: Request, _ context: StoreContext, trusting proxies: Set<String>) -> String {
    guard proxies.contains(context.peer.text), let name = HTTPField.Name("X-Forwarded-For"),
      let field = request.headers[name]
    else { return context.peer.network }
    return (ClientAddress.client(forwarded: field) { proxies.contains($0.text) } ?? context.peer).network
  }

  /// Nil for what ends the connection, where no answer can be sent.
  private func rejection(for error: any Error) throws -> Rejection? {
    switch error {
    case let rejection as Rejection: return rejection
    case let problem as Problem: return Rejection(problem)
    case is CancellationError, is ChannelError, is IOError: return nil
    case let error as LedgerError:
      switch error.code {
      case .loginTaken: return Rejection(.loginTaken)
      case .wrongPassword: return Rejection(.wrongCredentials(status: 401))
      case .busy: return Rejection(.tooMany(error.message), retryAfter: 60)
      case .account: return Rejection(.unusableCredentials("\(error.location) \(error.message)"))
      // Said in the log once, when it is found.
      case .gone: return Rejection(.unavailable("the ledger cannot be used"), retryAfter: 5)
      case .database, .damaged, .noLedger, .notALedger:
        service.logger.error("\(error)")
        return Rejection(.unavailable("the ledger cannot be used"), retryAfter: 5)
      default: break
      }
    case let error as StoreError:
      service.logger.error("\(error)")
      return Rejection(.unavailable("the shop cannot write"), retryAfter: 5)
    default: break
    }
    // Parser errors are Hummingbird's to answer.
    if "\(type(of: error))" == "HTTPParserError" { return nil }
    service.logger.error("internal error: \(error)")
    return Rejection(.failed)
  }

  /// Refusals of what was worth something become events; strangers cannot fill the ledger with them, and what a `GET` meets again and again is one event a day.
  private func audit(_ rejection: Rejection, _ match: RouteTable.Match, address: String) async {
    guard case .found(let route, _) = match, let kind = Self.audited[route],
      [400, 401, 403, 404, 409, 429].contains(rejection.problem.status),
      rejection.account != nil || rejection.problem.type == .wrongCredentials || kind == "notification",
      service.auditsByAddress.take(rejection.account?.description ?? address) == nil,
      rejection.account != nil || service.auditsOfStrangers.take("all") == nil
    else { return }
    let code = rejection.problem.type.code
    do {
      try await service.ledger.recordAudit(
        kind: kind, account: rejection.account, subject: rejection.subject, outcome: "refused", detail: code,
        onceADay: route.method == .get ? "\(code) \(rejection.subject ?? "")" : nil)
    } catch {
      service.logger.error("a refusal could not be recorded: \(error)")
    }
  }

  private static let audited: [StoreRoute: String] = [
    .downloads: "download", .file: "download", .grants: "offline-grant", .signIn: "sign-in",
    // Passwords are asked for there as well.
    .changePassword: "sign-in", .eraseAccount: "sign-in",
    .appleNotifications: "notification", .googleNotifications: "notification", .purchases: "purchase",
  ]
}

extension Problem.Kind {
  /// The last part of the name.
  var code: String { rawValue.split(separator: ":").last.map(String.init) ?? rawValue }
}
