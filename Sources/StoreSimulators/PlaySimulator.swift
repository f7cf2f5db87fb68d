package import CryptoExtras
package import PurchaseLedger
import Support
import Synchronization

#if canImport(FoundationEssentials)
  import FoundationEssentials
#else
  import Foundation
#endif

/// The Google Play Developer API as its documentation describes it, for one app: tokens of a service account, the list
/// of voided purchases, purchases by both interfaces, and acknowledgements, with their limits, pages and failures.
///
/// Chosen where the documentation is silent: a page token is good for an hour.
package final class PlaySimulator: Sendable {
  /// What the simulator is told.
  package struct Setup: Sendable {
    package var packageName = ShopGenerator.packageName
    package var email = "books@simulated.iam.gserviceaccount.com"
    /// Until then the service account has no permission in the Play Console: up to a day or two after the invitation.
    package var permittedAt: Int64 = 0
    /// Each bucket's quota: 3,000 requests a minute.
    package var requestsPerMinute = 3000
    package var pageMax = 1000
    package var pageTokenLife: Int64 = 3_600_000
    package var tokenLife: Int64 = 3_600_000
    package var faults: [StoreFault] = []
    /// Signs purchases, and the grants of the service account; a key of 2048 bits takes long to make.
    package var key: _RSA.Signing.PrivateKey

    package init(_ key: _RSA.Signing.PrivateKey) { self.key = key }
  }

  let clock: SimulatedClock
  package let setup: Setup
  private let orders: Mutex<[PlayOrder]>
  private let counts = Mutex((minute: Int64(0), buckets: [StoreFault.Call: Int](), total: 0))

  package init(_ setup: Setup, clock: SimulatedClock, orders: [PlayOrder]) {
    (self.setup, self.clock) = (setup, clock)
    self.orders = Mutex(orders)
  }

  /// The orders with what became of them, which acknowledgements change.
  package var present: [PlayOrder] { orders.withLock(\.self) }

  private static let day: Int64 = 86_400_000

  package static func owns(_ request: StoreServer.Request) -> Bool {
    request.path.hasPrefix("/androidpublisher/") || request.path == "/token"
  }

  package func credentials(tokenURI: String) -> GoogleCredentials {
    .serviceAccount(email: setup.email, privateKey: setup.key.pemRepresentation, tokenURI: tokenURI)
  }

  package func answer(_ request: StoreServer.Request) -> StoreServer.Reply {
    let now = clock.now
    return reply(request, now).dated(now)
  }

  private func reply(_ request: StoreServer.Request, _ now: Int64) -> StoreServer.Reply {
    let call: StoreFault.Call =
      request.path == "/token"
      ? .token
      : request.path.hasSuffix("/voidedpurchases")
        ? .list : request.path.hasSuffix(":acknowledge") ? .acknowledgement : .purchase
    let (number, isOverQuota) = counts.withLock { counts in
      if counts.minute != now / 60_000 { (counts.minute, counts.buckets) = (now / 60_000, [:]) }
      let bucket: StoreFault.Call = call == .acknowledgement ? .purchase : call
      counts.buckets[bucket, default: 0] += 1
      counts.total += 1
      return (counts.total, counts.buckets[bucket, default: 0] > setup.requestsPerMinute)
    }
    let fault = setup.faults.first { $0.concerns(.google, call, at: now, number: number) }?.kind
    switch fault {
    case .closed: return .closed
    case .truncated: return .truncated(#"{"kind": "androidpublisher#productPurchase"}"#)
    case .failing(let status): return Self.error(status, "backendError", "Internal error encountered.")
    case .maintenance: return .html(503)
    case .gateway: return .html(404)
    case .unauthorised: return Self.error(401, "authError", "Invalid Credentials")
    case .forbidden: return forbidden
    case .rateLimited: return Self.error(403, "rateLimitExceeded", "Rate Limit Exceeded")
    case .quotaExceeded: return Self.error(403, "quotaExceeded", "Quota exceeded")
    case .conflict: return Self.error(409, "concurrentUpdate", "The object is being updated by another request.")
    case .gone: return Self.error(410, "purchaseTokenNoLongerValid", "The purchase token is no longer valid.")
    case .forgotten, nil: break
    }
    if call == .token { return grant(request, now) }
    guard isAuthorised(request, now) else { return Self.error(401, "authError", "Invalid Credentials") }
    guard now >= setup.permittedAt else { return forbidden }
    if isOverQuota { return Self.error(403, "rateLimitExceeded", "Rate Limit Exceeded") }
    let parts = request.path.split(separator: "/").map { part in
      String(decoding: PercentEncoding.decode(part.utf8) ?? [], as: UTF8.self)
    }
    if request.method == "GET", parts.count == 5, parts[3] == setup.packageName, parts[4] == "orders:batchGet" {
      return prices(request, now)
    }
    guard parts.count >= 6, parts[3] == setup.packageName, parts[4] == "purchases" else { return Self.notFound }
    switch (request.method, parts[5], parts.count) {
    case ("GET", "voidedpurchases", 6): return voided(request, now, isForgetful: fault == .forgotten)
    case ("GET", "products", 9): return purchase(parts[8], of: parts[6], now)
    case ("GET", "productsv2", 8): return order(parts[7], now)
    case ("POST", "products", 9): return acknowledge(parts[8], of: parts[6], now)
    default: return Self.notFound
    }
  }

  private var forbidden: StoreServer.Reply {
    Self.error(
      403, "userInsufficientPermission",
      "The current user has insufficient permissions to perform the requested operation.")
  }

  private static let notFound = error(404, "notFound", "The purchase token was not found.")

  static func error(_ status: Int, _ reason: String, _ message: String) -> StoreServer.Reply {
    .json(
      status,
      """
      {"error": {"code": \(status), "message": "\(message)", \
      "errors": [{"message": "\(message)", "domain": "androidpublisher", "reason": "\(reason)"}]}}
      """)
  }

  // MARK: Authorisation

  /// A grant is RS256, of the account, issued in the past and not longer than an hour.
  private func grant(_ request: StoreServer.Request, _ now: Int64) -> StoreServer.Reply {
    let assertion = request.text.split(separator: "&").first { $0.hasPrefix("assertion=") }
    guard let token = WebTokenClaims(assertion.map { "Bearer \($0.dropFirst(10))" }, now: now),
      token.claims["iss"]?.string == setup.email,
      setup.key.publicKey.isValidSignature(
        .init(rawRepresentation: token.signature), for: token.signed, padding: .insecurePKCS1v1_5)
    else { return .json(400, #"{"error": "invalid_grant", "error_description": "Invalid JWT Signature."}"#) }
    guard token.isCurrent else {
      return .json(
        400,
        """
        {"error": "invalid_grant", "error_description": "Invalid JWT: Token must be a short-lived token (60 minutes) \
        and in a reasonable timeframe. Check your iat and exp values in the JWT claim."}
        """)
    }
    return .json(
      200,
      #"{"access_token": "simulated-\#(now)", "expires_in": \#(setup.tokenLife / 1000), "token_type": "Bearer"}"#)
  }

  private func isAuthorised(_ request: StoreServer.Request, _ now: Int64) -> Bool {
    guard let text = request.field("Authorization"), text.hasPrefix("Bearer simulated-"),
      let time = Int64(text.dropFirst("Bearer simulated-".count))
    else { return false }
    return time <= now && now < time + setup.tokenLife
  }

  // MARK: Voided purchases

  private func voided(_ request: StoreServer.Request, _ now: Int64, isForgetful: Bool) -> StoreServer.Reply {
    var window = (start: now - 30 * Self.day, end: now)
    var after: (Int64, Int) = (.min, 0)
    // "Ignored if a pagination token is set."
    if let text = request.query("token") {
      guard let token = PageToken(text), now - token.madeAt <= setup.pageTokenLife, !isForgetful else {
        return Self.error(400, "invalidValue", "Invalid value for token.")
      }
      let times = token.question.split(separator: " ").compactMap { Int64($0) }
      window = (times[0], times[1])
      after = (token.time, token.number)
    } else {
      if let text = request.query("startTime") {
        guard let start = Int64(text), start >= now - 30 * Self.day else {
          return Self.error(400, "invalidValue", "startTime cannot be older than 30 days.")
        }
        window.start = start
      }
      if let text = request.query("endTime") {
        guard let end = Int64(text), end <= now else {
          return Self.error(400, "invalidValue", "endTime cannot be greater than the current time.")
        }
        window.end = end
      }
      guard window.start <= window.end else { return Self.error(400, "invalidValue", "startTime is after endTime.") }
    }
    // The filter is on the time at which the systems saw the void, not on the time of the void itself.
    let entries = present.enumerated().compactMap { number, order in
      order.void(at: now).map { (seenAt: $0.seenAt, number, order, $0) }
    }.filter { (window.start...window.end).contains($0.seenAt) && $0.seenAt <= now }
      .sorted { ($0.seenAt, $0.1) < ($1.seenAt, $1.1) }.filter { ($0.seenAt, $0.1) > after }
    let size = min(setup.pageMax, request.query("maxResults").flatMap { Int($0) } ?? 1000)
    let page = entries.prefix(max(1, size))
    let items = page.map { entry in
      let (order, void) = (entry.2, entry.3)
      let id = order.orderID.map { "\"orderId\": \"\($0)\", " } ?? ""
      return """
        {"kind": "androidpublisher#voidedPurchase", \(id)"purchaseToken": "\(order.token)", \
        "purchaseTimeMillis": "\(order.statedTime(at: now))", "voidedTimeMillis": "\(void.at)", \
        "voidedSource": \(void.source), "voidedReason": \(void.reason)}
        """
    }
    guard !items.isEmpty else { return .json("{}") }
    var more = ""
    if entries.count > page.count, let last = page.last {
      let token = PageToken(
        question: "\(window.start) \(window.end)", madeAt: now, time: last.seenAt, number: last.1)
      more = #", "tokenPagination": {"nextPageToken": "\#(token.text)"}"#
    }
    return .json(#"{"voidedPurchases": [\#(items.joined(separator: ","))]\#(more)}"#)
  }

  // MARK: Purchases

  private func purchase(_ token: String, of product: String, _ now: Int64) -> StoreServer.Reply {
    guard let order = known(token, now), order.products.contains(product) else { return Self.notFound }
    let state = order.void(at: now) != nil || order.isCancelled(at: now) ? 1 : order.isPaid(at: now) ? 0 : 2
    let id = order.orderID.map { "\"orderId\": \"\($0)\", " } ?? ""
    let type = order.kind == .paid ? "" : "\"purchaseType\": \(order.kind.rawValue), "
    let account = order.accountToken.map { "\"obfuscatedExternalAccountId\": \"\($0)\", " } ?? ""
    return .json(
      """
      {"kind": "androidpublisher#productPurchase", \(id)\(type)\(account)\
      "purchaseTimeMillis": "\(order.statedTime(at: now))", "purchaseState": \(state), "consumptionState": 0, \
      "acknowledgementState": \(order.acknowledgedAt == nil ? 0 : 1), "regionCode": "AT"}
      """)
  }

  /// `ProductPurchaseV2`: an item for each product of the order.
  private func order(_ token: String, _ now: Int64) -> StoreServer.Reply {
    guard let order = known(token, now) else { return Self.notFound }
    let isVoid = order.void(at: now) != nil
    let state = isVoid || order.isCancelled(at: now) ? "CANCELLED" : order.isPaid(at: now) ? "PURCHASED" : "PENDING"
    let id = order.orderID.map { "\"orderId\": \"\($0)\", " } ?? ""
    let test = order.kind == .test ? #""testPurchaseContext": {"fopType": "TEST"}, "# : ""
    let account = order.accountToken.map { "\"obfuscatedExternalAccountId\": \"\($0)\", " } ?? ""
    let time = order.isPaid(at: now) ? "\"purchaseCompletionTime\": \"\(Self.date(order.statedTime(at: now)))\", " : ""
    let items = order.products.map { product in
      """
      {"productId": "\(product)", "productOfferDetails": {"quantity": 1, \
      "refundableQuantity": \(isVoid ? 0 : 1), "consumptionState": "CONSUMPTION_STATE_YET_TO_BE_CONSUMED"}}
      """
    }
    let acknowledged = order.acknowledgedAt == nil ? "PENDING" : "ACKNOWLEDGED"
    return .json(
      """
      {"kind": "androidpublisher#productPurchaseV2", \(id)\(test)\(account)\(time)\
      "purchaseStateContext": {"purchaseState": "\(state)"}, "productLineItem": [\(items.joined(separator: ","))], \
      "acknowledgementState": "ACKNOWLEDGEMENT_STATE_\(acknowledged)", "regionCode": "AT"}
      """)
  }

  /// `orders.batchGet`, which knows all that are asked for or answers nothing: what was paid, with tax and country.
  private func prices(_ request: StoreServer.Request, _ now: Int64) -> StoreServer.Reply {
    let asked = request.target.drop { $0 != "?" }.dropFirst().split(separator: "&").map { $0.dropFirst(9) }
    let orders = asked.compactMap { id in present.first { $0.orderID == String(id) && $0.boughtAt <= now } }
    guard !asked.isEmpty, orders.count == asked.count else { return Self.notFound }
    let texts = orders.map { order in
      let void = order.void(at: now)
      let state =
        void != nil
        ? "REFUNDED" : order.isCancelled(at: now) ? "CANCELED" : order.isPaid(at: now) ? "PROCESSED" : "PENDING"
      let items = order.products.map {
        #"{"productId": "\#($0)", "total": {"currencyCode": "EUR", "units": "4", "nanos": 990000000}}"#
      }
      let history = void.map { #""orderHistory": {"refundEvent": {"eventTime": "\#(Self.date($0.at))"}}, "# } ?? ""
      return """
        {"orderId": "\(order.orderID ?? "")", "purchaseToken": "\(order.token)", "state": "\(state)", \(history)\
        "createTime": "\(Self.date(order.statedTime(at: now)))", "lineItems": [\(items.joined(separator: ","))], \
        "buyerAddress": {"buyerCountry": "AT"}}
        """
    }
    return .json(#"{"orders": [\#(texts.joined(separator: ","))]}"#)
  }

  private static func date(_ time: Int64) -> String {
    let seconds = Date(timeIntervalSince1970: Double(time / 1000)).formatted(.iso8601).dropLast()
    return "\(seconds).\("\(1000 + time % 1000)".dropFirst())Z"
  }

  private func known(_ token: String, _ now: Int64) -> PlayOrder? {
    present.first { $0.token == token && $0.boughtAt <= now }
  }

  private func acknowledge(_ call: String, of product: String, _ now: Int64) -> StoreServer.Reply {
    guard call.hasSuffix(":acknowledge") else { return Self.notFound }
    let token = String(call.dropLast(":acknowledge".count))
    return orders.withLock { orders in
      guard let index = orders.firstIndex(where: { $0.token == token && $0.boughtAt <= now }),
        orders[index].products.contains(product)
      else { return Self.notFound }
      guard orders[index].isPaid(at: now), orders[index].void(at: now) == nil else {
        return Self.error(400, "invalidPurchaseState", "The purchase is not in a valid state to perform the operation.")
      }
      // Again is no error.
      orders[index].acknowledgedAt = orders[index].acknowledgedAt ?? now
      return .json(204, "")
    }
  }
}
