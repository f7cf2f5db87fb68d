import Crypto
import CryptoExtras
import Foundation
import StoreSimulators
import Support
import TestSupport
import Testing

@testable import PurchaseLedger

/// The simulated stores refuse and limit what the documentation of the real ones says.
@Suite(.ownThread) struct StoreSimulatorTests {
  private static let now: Int64 = 1_790_000_000_000
  private static let day: Int64 = 86_400_000
  private static let authority = try! EphemeralCA()
  private static let key = try! _RSA.Signing.PrivateKey(keySize: .bits2048)

  // MARK: Apple

  /// A shop of a customer who buys every ten days, for 25 times.
  private struct Apple {
    let clock = SimulatedClock(at: now)
    let store: AppStoreSimulator
    let field: String

    init(_ change: (inout AppStoreSimulator.Setup) -> Void = { _ in }, delay: Int64 = 0) throws {
      var setup = AppStoreSimulator.Setup(authority)
      change(&setup)
      let environment = setup.environment
      let purchases = (0..<25).map { number in
        let fact = StoreTransaction(
          store: .apple, environment: environment, transactionID: "\(100 + number)",
          originalTransactionID: "\(100 + number)", productID: "region.\(number)", productType: .nonConsumable,
          purchaseDate: now - Int64(number) * day - 600_000, ownership: .purchased, signedDate: 0, trust: .signed,
          statement: .purchased)
        var purchase = ApplePurchase(fact, customer: 1)
        purchase.historyDelay = delay
        return purchase
      }
      store = AppStoreSimulator(setup, clock: clock) { purchases }
      let seconds = now / 1000 - 60
      let token = try WebToken.make(
        header: [("alg", .string("ES256")), ("kid", .string(setup.keyID)), ("typ", .string("JWT"))],
        claims: [
          ("iss", .string(setup.issuerID)), ("iat", .init(seconds)), ("exp", .init(seconds + 3600)),
          ("aud", .string("appstoreconnect-v1")), ("bid", .string(setup.bundleID)),
        ], sign: { [store] in try store.key.signature(for: $0).rawRepresentation })
      field = "Bearer \(token)"
    }

    func list(_ start: Int64, _ end: Int64, page: String? = nil) -> (Int, JSONValue) {
      answer(
        "POST", "/inApps/v1/notifications/history" + (page.map { "?paginationToken=\($0)" } ?? ""),
        "{\"startDate\": \(start), \"endDate\": \(end)}")
    }

    func answer(_ method: String, _ target: String, _ body: String = "") -> (Int, JSONValue) {
      StoreSimulatorTests.value(
        store.answer(.init(method: method, target: target, fields: [("Authorization", field)], body: Array(body.utf8))))
    }
  }

  private static func value(_ reply: StoreServer.Reply) -> (Int, JSONValue) {
    guard case .json(let status, let text, _) = reply else { return (0, .null) }
    return (status, (try? JSONReader.read(Array(text.utf8))) ?? .null)
  }

  @Test func applesHistoryHasLimitsPagesAndCodes() throws {
    let shop = try Apple()
    let (now, day) = (Self.now, Self.day)
    func code(_ start: Int64, _ end: Int64, page: String? = nil) -> Int64? {
      shop.list(start, end, page: page).1["errorCode"]?.integer
    }
    #expect(code(now - 180 * day - 1, now) == 4_000_012)
    #expect(code(now, now) == 4_000_013 && code(now + 1000, now + 2000) == 4_000_013)
    #expect(code(now - day, now, page: "none") == 4_000_014)
    #expect(shop.answer("POST", "/inApps/v1/notifications/history", "{}").1["errorCode"]?.integer == 4_000_015)
    // An end in the future is the present.
    let (status, first) = shop.list(now - 180 * day, now + day)
    #expect(status == 200 && first["notificationHistory"]?.array?.count == 20 && first["hasMore"]?.bool == true)
    let token = try #require(first["paginationToken"]?.string)
    #expect(code(now - 179 * day, now, page: token) == 4_000_017)
    let (_, second) = shop.list(now - 180 * day, now + day, page: token)
    #expect(second["notificationHistory"]?.array?.count == 5 && second["hasMore"]?.bool == false)
    #expect(second["paginationToken"]?.string != nil)
    shop.clock.advance(by: 3_600_001)
    #expect(shop.list(now - 180 * day, now + day, page: token).0 == 401)
  }

  @Test func aPageTokenOfApplesEnds() throws {
    let shop = try Apple({ $0.pageTokenLife = 60_000 })
    let token = try #require(shop.list(Self.now - 30 * Self.day, Self.now).1["paginationToken"]?.string)
    shop.clock.advance(by: 60_001)
    #expect(shop.list(Self.now - 30 * Self.day, Self.now, page: token).1["errorCode"]?.integer == 4_000_017)
  }

  @Test func applesSandboxKeepsThirtyDaysAndOtherPurchases() throws {
    let shop = try Apple({ $0.environment = .sandbox })
    #expect(shop.list(Self.now - 31 * Self.day, Self.now).1["errorCode"]?.integer == 4_000_012)
    #expect(shop.list(Self.now - 30 * Self.day, Self.now).0 == 200)
    #expect(try Apple().answer("GET", "/inApps/v2/history/99").1["errorCode"]?.integer == 4_040_010)
  }

  @Test func applesEntriesAppearLate() throws {
    let shop = try Apple(delay: 900_000)
    func count() -> Int? { shop.list(Self.now - 3600_000, Self.now).1["notificationHistory"]?.array?.count }
    #expect(count() == 0)
    shop.clock.advance(by: 400_000)
    #expect(count() == 1)
  }

  @Test func applesHistoryOfACustomerHasRevisions() throws {
    let shop = try Apple()
    let (_, first) = shop.answer("GET", "/inApps/v2/history/105?sort=ASCENDING")
    #expect(first["signedTransactions"]?.array?.count == 20 && first["hasMore"]?.bool == true)
    let revision = try #require(first["revision"]?.string)
    let (_, second) = shop.answer("GET", "/inApps/v2/history/105?sort=ASCENDING&revision=\(revision)")
    #expect(second["signedTransactions"]?.array?.count == 5 && second["hasMore"]?.bool == false)
    #expect(shop.answer("GET", "/inApps/v2/history/105?revision=old").1["errorCode"]?.integer == 4_000_005)
    #expect(shop.answer("GET", "/inApps/v2/refund/lookup/105").1["signedTransactions"]?.array?.isEmpty == true)
  }

  @Test func appleAnswersNobodyBeforeTheReleaseAndLimitsRequests() throws {
    #expect(try Apple({ $0.releasedAt = Self.now + 1 }).list(Self.now - Self.day, Self.now).0 == 401)
    let shop = try Apple({ $0.requestsPerHour = 1 })
    #expect(shop.list(Self.now - Self.day, Self.now).0 == 200)
    let reply = shop.store.answer(
      .init(method: "GET", target: "/inApps/v2/history/105", fields: [("Authorization", shop.field)]))
    guard case .json(let status, let text, let fields) = reply else { return }
    // Milliseconds since 1970.
    #expect(status == 429 && text.contains("4290000") && Int64(fields["Retry-After"] ?? "") ?? 0 > Self.now)
    shop.clock.advance(by: 3_600_000)
    #expect(shop.list(Self.now - Self.day, Self.now).0 == 401, "a token of an hour ago")
  }

  // MARK: Google

  private struct Play {
    let clock = SimulatedClock(at: now)
    let store: PlaySimulator
    var field = "Bearer simulated-\(now)"

    init(_ orders: [PlayOrder], _ change: (inout PlaySimulator.Setup) -> Void = { _ in }) {
      var setup = PlaySimulator.Setup(key)
      change(&setup)
      store = PlaySimulator(setup, clock: clock, orders: orders)
    }

    func answer(_ path: String, _ method: String = "GET") -> (Int, JSONValue) {
      let target = "/androidpublisher/v3/applications/org.example.maps/purchases/\(path)"
      return StoreSimulatorTests.value(
        store.answer(.init(method: method, target: target, fields: [("Authorization", field)])))
    }
  }

  private static func order(_ number: Int, daysAgo: Int64, _ products: [String] = ["region.alps"]) -> PlayOrder {
    PlayOrder(
      orderID: "GPA.\(number)", token: "token-\(number)", products: products, boughtAt: now - daysAgo * day)
  }

  @Test func googlesListHasItsWindowAndPages() throws {
    let orders = (0..<5).map { number in
      var order = Self.order(number, daysAgo: 20)
      order.acknowledgedAt = order.boughtAt
      // What the systems see counts, not the time of the refund.
      order.refund = .init(at: Self.now - 10 * Self.day, seenAt: Self.now - Int64(number + 1) * Self.day)
      return order
    }
    let shop = Play(orders)
    func list(_ query: String) -> (Int, JSONValue) { shop.answer("voidedpurchases?\(query)") }
    #expect(list("startTime=\(Self.now - 30 * Self.day - 1)").0 == 400 && list("endTime=\(Self.now + 1)").0 == 400)
    #expect(list("startTime=\(Self.now - 2 * Self.day - 1)").1["voidedPurchases"]?.array?.count == 2)
    let (_, first) = list("startTime=\(Self.now - 5 * Self.day)&maxResults=2")
    #expect(first["voidedPurchases"]?.array?.count == 2)
    let token = try #require(first["tokenPagination"]?["nextPageToken"]?.string)
    // The window of a token is its own.
    #expect(list("startTime=0&endTime=0&maxResults=9&token=\(token)").1["voidedPurchases"]?.array?.count == 3)
    #expect(list("token=none").0 == 400)
  }

  @Test func googleRefundsWhatNobodyAcknowledges() throws {
    var tester = Self.order(3, daysAgo: 0)
    tester.kind = .test
    var pending = Self.order(4, daysAgo: 1)
    pending.paidAt = nil
    let shop = Play([Self.order(1, daysAgo: 2), Self.order(2, daysAgo: 4), tester, pending])
    let path = "products/region.alps/tokens/token-"
    #expect(
      shop.answer("\(path)1:acknowledge", "POST").0 == 204 && shop.answer("\(path)1:acknowledge", "POST").0 == 204)
    #expect(
      shop.answer("\(path)2:acknowledge", "POST").0 == 400 && shop.answer("\(path)4:acknowledge", "POST").0 == 400)
    let voided = shop.answer("voidedpurchases").1["voidedPurchases"]?.array ?? []
    #expect(voided.map { $0["orderId"]?.string } == ["GPA.2"] && voided[0]["voidedReason"]?.integer == 8)
    #expect(shop.answer("\(path)1").1["acknowledgementState"]?.integer == 1)
    #expect(shop.answer("\(path)2").1["purchaseState"]?.integer == 1)
    #expect(shop.answer("\(path)3").1["purchaseType"]?.integer == 0)
    #expect(shop.answer("\(path)4").1["purchaseState"]?.integer == 2)
    shop.clock.advance(by: 180_000)
    #expect(shop.answer("\(path)3").1["purchaseState"]?.integer == 1)
    #expect(shop.answer("\(path)9").0 == 404 && shop.answer("subscriptions/region.alps/tokens/token-1").0 == 404)
  }

  @Test func googleHasOrdersOfSeveralProductsAndPromotionsWithoutId() {
    var promotion = Self.order(2, daysAgo: 1)
    (promotion.orderID, promotion.kind) = (nil, .promotion)
    let shop = Play([Self.order(1, daysAgo: 1, ["region.alps", "region.etna"]), promotion])
    let items = shop.answer("productsv2/tokens/token-1").1["productLineItem"]?.array ?? []
    #expect(items.map { $0["productId"]?.string } == ["region.alps", "region.etna"])
    let found = shop.answer("products/region.alps/tokens/token-2").1
    #expect(found["orderId"] == nil && found["purchaseType"]?.integer == 1)
  }

  @Test func googleHasTokensPermissionsAndQuotas() {
    var shop = Play([], { $0.permittedAt = Self.now + 1000 })
    #expect(shop.answer("voidedpurchases").0 == 403)
    shop.clock.advance(by: 1000)
    #expect(shop.answer("voidedpurchases").0 == 200)
    shop.clock.advance(by: 3_600_000)
    #expect(shop.answer("voidedpurchases").0 == 401)
    shop = Play([], { $0.requestsPerMinute = 1 })
    #expect(shop.answer("voidedpurchases").0 == 200)
    #expect(StoreRequests.isQuota(403, shop.answer("voidedpurchases").1))
    // Each bucket has its own.
    #expect(shop.answer("products/region.alps/tokens/none").0 == 404)
    shop.clock.advance(by: 60_000)
    #expect(shop.answer("voidedpurchases").0 == 200)
  }
}
