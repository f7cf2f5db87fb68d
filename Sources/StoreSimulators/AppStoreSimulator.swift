package import Crypto
package import PurchaseLedger
import Support
import Synchronization

#if canImport(FoundationEssentials)
  import FoundationEssentials
#else
  import Foundation
#endif

/// Apple's App Store Server API as its documentation describes it, for one app and one environment: the history of
/// notifications, customers' histories and refunds, with their limits, pages, codes and failures.
///
/// Chosen where the documentation is silent: a page token is good for an hour; entries of the history appear with the
/// delay of their purchase.
package final class AppStoreSimulator: Sendable {
  /// What the simulator is told.
  package struct Setup: Sendable {
    package var environment: StoreEnvironment = .production
    package var bundleID = ShopGenerator.bundleID
    package var appAppleID = ShopGenerator.appAppleID
    package var keyID = "SIMULATED1"
    package var issuerID = "57246542-96fe-1a63-e053-0824d011072a"
    /// Before the first release the production answers every key with 401.
    package var releasedAt: Int64 = 0
    /// The authorities that sign, each from a time on, the earliest first.
    package var authorities: [(from: Int64, authority: EphemeralCA)]
    /// Requests an hour. Apple states limits of 10 to 50 a second, which it counts by the hour.
    package var requestsPerHour = 36_000
    package var pageTokenLife: Int64 = 3_600_000
    package var faults: [StoreFault] = []

    package init(_ authority: EphemeralCA) { authorities = [(.min, authority)] }
  }

  /// The In-App Purchase key that it accepts.
  package let key = P256.Signing.PrivateKey()
  let clock: SimulatedClock
  package let setup: Setup
  private let truth: @Sendable () -> [ApplePurchase]
  private let count = Mutex((hour: Int64(0), requests: 0, total: 0))

  /// - Parameter truth: The purchases, as they are now.
  package init(_ setup: Setup, clock: SimulatedClock, truth: @escaping @Sendable () -> [ApplePurchase]) {
    (self.setup, self.clock, self.truth) = (setup, clock, truth)
  }

  private static let day: Int64 = 86_400_000
  /// "A maximum of 20" records or transactions a page.
  private static let pageSize = 20
  private var kept: Int64 { setup.environment == .sandbox ? 30 * Self.day : 180 * Self.day }

  package func credentials() -> AppStoreCredentials {
    AppStoreCredentials(
      issuerID: setup.issuerID, keyID: setup.keyID, privateKey: key.pemRepresentation, bundleID: setup.bundleID)
  }

  /// Whether a request is of this API.
  package static func owns(_ request: StoreServer.Request) -> Bool { request.path.hasPrefix("/inApps/") }

  package func answer(_ request: StoreServer.Request) -> StoreServer.Reply {
    let now = clock.now
    return reply(request, now).dated(now)
  }

  private func reply(_ request: StoreServer.Request, _ now: Int64) -> StoreServer.Reply {
    let path = request.path
    let call: StoreFault.Call = path.hasSuffix("/notifications/history") ? .list : .history
    let (number, isOverLimit) = count.withLock { count in
      if count.hour != now / 3_600_000 { (count.hour, count.requests) = (now / 3_600_000, 0) }
      count.requests += 1
      count.total += 1
      return (count.total, count.requests > setup.requestsPerHour)
    }
    let fault = setup.faults.first { $0.concerns(.apple, call, at: now, number: number) }?.kind
    switch fault {
    case .closed: return .closed
    case .truncated: return .truncated(#"{"hasMore": false, "signedTransactions": []}"#)
    case .failing(let status):
      guard status == 500 else { return .json(status, "") }
      return Self.error(500, 5_000_001, "An unknown error occurred. Please try again.")
    case .maintenance: return .html(503)
    case .gateway, .gone: return .html(404)
    case .unauthorised: return .json(401, "Unauthenticated\n\nRequest ID: SIMULATED.0.0")
    case .forbidden: return .json(403, "")
    case .rateLimited, .quotaExceeded: return limited(now + 90_000)
    case .conflict: return Self.error(500, 5_000_001, "Please try again.")
    case .forgotten, nil: break
    }
    guard isAuthorised(request, now) else { return .json(401, "Unauthenticated\n\nRequest ID: SIMULATED.0.0") }
    if isOverLimit { return limited((now / 3_600_000 + 1) * 3_600_000) }
    if call == .list, request.method == "POST" { return history(request, now, isForgetful: fault == .forgotten) }
    let parts = path.split(separator: "/").map(String.init)
    if request.method == "GET", parts.count == 4, parts[1...2] == ["v2", "history"] {
      return transactions(parts[3], request, now, isForgetful: fault == .forgotten, refundsOnly: false)
    }
    if request.method == "GET", parts.count == 5, parts[1...3] == ["v2", "refund", "lookup"] {
      return transactions(parts[4], request, now, isForgetful: fault == .forgotten, refundsOnly: true)
    }
    return .json(404, "")
  }

  /// `Retry-After` is a time in milliseconds since 1970.
  private func limited(_ until: Int64) -> StoreServer.Reply {
    .json(
      429, #"{"errorCode": 4290000, "errorMessage": "Rate limit exceeded."}"#, headers: ["Retry-After": "\(until)"])
  }

  private static func error(_ status: Int, _ code: Int, _ message: String) -> StoreServer.Reply {
    .json(status, #"{"errorCode": \#(code), "errorMessage": "\#(message)"}"#)
  }

  // MARK: Authorisation

  /// A token is ES256, of the key, for this app, issued in the past and not longer than an hour.
  private func isAuthorised(_ request: StoreServer.Request, _ now: Int64) -> Bool {
    guard now >= setup.releasedAt || setup.environment == .sandbox,
      let token = WebTokenClaims(request.field("Authorization"), now: now),
      token.header["kid"]?.string == setup.keyID, token.claims["iss"]?.string == setup.issuerID,
      token.claims["aud"]?.string == "appstoreconnect-v1", token.claims["bid"]?.string == setup.bundleID,
      let signature = try? P256.Signing.ECDSASignature(rawRepresentation: token.signature)
    else { return false }
    return token.isCurrent && key.publicKey.isValidSignature(signature, for: token.signed)
  }

  // MARK: Notifications

  /// A notification as it was sent, signed at that time.
  package func notification(_ index: Int, of purchase: ApplePurchase) -> [UInt8] {
    let (type, time) = purchase.notifications[index]
    let authority = authority(at: time)
    var fact = purchase.fact(at: time) ?? purchase.fact
    fact.signedDate = time
    do {
      let inner = try authority.transaction(fact, bundleID: setup.bundleID)
      return try authority.notification(
        type: type, uuid: "\(fact.transactionID)-\(index)", signedDate: time, environment: fact.environment,
        bundleID: setup.bundleID, appAppleID: fact.environment == .production ? setup.appAppleID : nil,
        transaction: inner)
    } catch { return [] }
  }

  /// A transaction as StoreKit hands it to the app.
  package func signedTransaction(_ purchase: ApplePurchase, at time: Int64) -> [UInt8] {
    let fact = purchase.fact(at: time) ?? purchase.fact
    return (try? authority(at: time).transaction(fact, bundleID: setup.bundleID)) ?? []
  }

  private func authority(at time: Int64) -> EphemeralCA {
    (setup.authorities.last { $0.from <= time } ?? setup.authorities[0]).authority
  }

  private func history(_ request: StoreServer.Request, _ now: Int64, isForgetful: Bool) -> StoreServer.Reply {
    let body = try? JSONReader.read(request.body)
    guard let start = body?["startDate"]?.integer else {
      return Self.error(400, 4_000_015, "Invalid request. The start date is invalid.")
    }
    guard let asked = body?["endDate"]?.integer else {
      return Self.error(400, 4_000_016, "Invalid request. The end date is invalid.")
    }
    // "If you choose an endDate in the future, the endpoint automatically uses the current date as the endDate."
    let end = min(asked, now)
    if start < now - kept {
      return Self.error(400, 4_000_012, "Invalid request. The start date is earlier than the allowed start date.")
    }
    if start >= end {
      return Self.error(400, 4_000_013, "Invalid request. The end date precedes the start date or both are equal.")
    }
    var after: (Int64, Int) = (.min, 0)
    let window = "\(start) \(asked)"
    if let text = request.query("paginationToken") {
      guard let token = PageToken(text) else {
        return Self.error(400, 4_000_014, "Invalid request. The pagination token is invalid.")
      }
      // "Use the same NotificationHistoryRequest body on subsequent page requests."
      guard token.question == window, now - token.madeAt <= setup.pageTokenLife, !isForgetful else {
        return Self.error(400, 4_000_017, "Invalid request. The pagination token is expired.")
      }
      after = (token.time, token.number)
    }
    let entries = truth().enumerated().flatMap { number, purchase in
      purchase.notifications.indices.map { (time: purchase.notifications[$0].at, number * 8 + $0, purchase, $0) }
    }.filter {
      (start...end).contains($0.time) && $0.time + $0.2.historyDelay <= now
        && $0.2.fact.environment == setup.environment
    }.sorted { ($0.time, $0.1) < ($1.time, $1.1) }.filter { ($0.time, $0.1) > after }
    let page = entries.prefix(Self.pageSize)
    let items = page.map { entry in
      let payload = String(decoding: notification(entry.3, of: entry.2), as: UTF8.self)
      return """
        {"signedPayload": "\(payload)", "sendAttempts": [{"attemptDate": \(entry.time), \
        "sendAttemptResult": "SUCCESS"}]}
        """
    }
    let last = page.last.map { ($0.time, $0.1) } ?? after
    // "All responses include a paginationToken."
    let token = PageToken(question: window, madeAt: now, time: last.0, number: last.1).text
    return .json(
      """
      {"notificationHistory": [\(items.joined(separator: ","))], "hasMore": \(entries.count > page.count), \
      "paginationToken": "\(token)"}
      """)
  }

  // MARK: Customers

  /// The transactions of the customer of one of them, the last changed ones last. A revision is a position among the
  /// changes: later changes come after it.
  private func transactions(
    _ id: String, _ request: StoreServer.Request, _ now: Int64, isForgetful: Bool, refundsOnly: Bool
  ) -> StoreServer.Reply {
    let known = truth().filter { $0.fact.environment == setup.environment && $0.fact.purchaseDate <= now }
    guard id.allSatisfy(\.isNumber) else { return Self.error(400, 4_000_006, "Invalid transaction identifier.") }
    guard let asked = known.first(where: { $0.fact.transactionID == id }) else {
      return Self.error(404, 4_040_010, "Transaction id not found.")
    }
    var after: (Int64, String) = (.min, "")
    if let text = request.query("revision") {
      guard let token = PageToken(text), token.question == "\(asked.customer)", !isForgetful else {
        return Self.error(400, 4_000_005, "Invalid request revision.")
      }
      after = (token.time, "\(token.number)")
    }
    let entries = known.filter { $0.customer == asked.customer }.map {
      (time: $0.changedAt(by: now), id: $0.fact.transactionID, $0)
    }.filter { ($0.time, $0.id) > after && (!refundsOnly || $0.2.fact(at: now)?.statement == .revoked) }
      .sorted { ($0.time, $0.id) < ($1.time, $1.id) }
    let page = entries.prefix(Self.pageSize)
    let pieces = page.compactMap { entry -> String? in
      guard let fact = entry.2.fact(at: now) else { return nil }
      return (try? authority(at: now).transaction(fact, bundleID: setup.bundleID)).map {
        "\"\(String(decoding: $0, as: UTF8.self))\""
      }
    }
    let last = page.last.map { ($0.time, $0.id) } ?? after
    let revision = PageToken(
      question: "\(asked.customer)", madeAt: now, time: last.0, number: Int(last.1) ?? 0)
    return .json(
      """
      {"revision": "\(revision.text)", "hasMore": \(entries.count > page.count), "bundleId": "\(setup.bundleID)", \
      "environment": "\(setup.environment.rawValue)", "signedTransactions": [\(pieces.joined(separator: ","))]}
      """)
  }
}

/// Where a page ended, and of which question. Opaque to clients.
struct PageToken {
  var question: String
  var madeAt: Int64
  var time: Int64
  var number: Int

  init(question: String, madeAt: Int64, time: Int64, number: Int) {
    (self.question, self.madeAt, self.time, self.number) = (question, madeAt, time, number)
  }

  init?(_ text: String) {
    guard let bytes = Base64.decode(Array(text.utf8)) else { return nil }
    let parts = String(decoding: bytes, as: UTF8.self).split(separator: "|", omittingEmptySubsequences: false)
    guard parts.count == 4, let madeAt = Int64(parts[1]), let time = Int64(parts[2]), let number = Int(parts[3]) else {
      return nil
    }
    self.init(question: String(parts[0]), madeAt: madeAt, time: time, number: number)
  }

  var text: String { Base64.encodeURLText("\(question)|\(madeAt)|\(time)|\(number)".utf8) }
}

/// A JSON web token that a client shows to a simulated store.
struct WebTokenClaims {
  let header: JSONValue
  let claims: JSONValue
  let signed: [UInt8]
  let signature: [UInt8]
  /// Whether it was issued before now, ends after now and lives for an hour at most.
  let isCurrent: Bool

  /// - Parameter field: `Bearer` and the token.
  init?(_ field: String?, now: Int64) {
    guard let text = field?.split(separator: " ").last else { return nil }
    let parts = text.split(separator: ".")
    guard parts.count == 3, let header = Base64.decode(Array(parts[0].utf8)),
      let claims = Base64.decode(Array(parts[1].utf8)), let signature = Base64.decode(Array(parts[2].utf8)),
      let headerValue = try? JSONReader.read(header), let claimsValue = try? JSONReader.read(claims),
      let issued = claimsValue["iat"]?.integer, let ends = claimsValue["exp"]?.integer
    else { return nil }
    self.header = headerValue
    self.claims = claimsValue
    self.signature = signature
    signed = Array("\(parts[0]).\(parts[1])".utf8)
    isCurrent = issued * 1000 <= now && now < ends * 1000 && ends - issued <= 3600
  }
}
