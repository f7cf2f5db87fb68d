import Foundation
import MapStoreServer
import MapStoreWire
import PurchaseLedger
import StoreSimulators
import Support
import TestSupport
import Testing
import TileIndex

/// Messages of the stores.
@Suite(.ownThread) struct NotificationTests {
  private func notification(
    _ store: TestStore, type: String, uuid: String = "6a1c9f8e-0000-4000-8000-000000000001", transaction: String? = nil
  ) throws -> [UInt8] {
    let payload = try store.authority.notification(
      type: type, uuid: uuid, signedDate: TestStore.now, environment: .production, bundleID: TestStore.bundleID,
      transaction: transaction.map { Array($0.utf8) })
    return Array("{\"signedPayload\":\"\(String(decoding: payload, as: UTF8.self))\"}".utf8)
  }

  /// A refund notification revokes the region, however often it arrives; case 35, second half: unacknowledged messages
  /// arrive again and change nothing.
  @Test func refundTakesTheRegionOnce() async throws {
    try await TestStore.run { store in
      let anna = try store.person()
      let evidence = try store.evidence("alps", for: anna, id: "7")
      _ = try await store.post([evidence], as: anna)
      let refund = try notification(store, type: "REFUND", transaction: evidence)
      for outcome in ["accepted\n", "duplicate\n", "duplicate\n"] {
        let answer = try await store.send("POST", StoreRoute.appleNotifications.path, body: refund)
        #expect(answer.status == 200 && answer.text == outcome, "\(answer)")
      }
      #expect(try await store.library(of: anna)["alps"]?.status == .revoked)
    }
  }

  /// Case 26: an unknown type is recorded and answered with 200.
  @Test func case26UnknownTypeIsKept() async throws {
    try await TestStore.run { store in
      let body = try notification(store, type: "SOMETHING_NEW_OF_2031")
      let answer = try await store.send("POST", StoreRoute.appleNotifications.path, body: body)
      #expect(answer.status == 200 && answer.text == "accepted\n", "\(answer)")
      var events = ""
      try store.ledger.export(.jsonLines) { events += $0 }
      #expect(events.contains("SOMETHING_NEW_OF_2031"))
    }
  }

  @Test func forgedAndForeignMessagesAreRefused() async throws {
    try await TestStore.run { store in
      let anna = try store.person()
      let evidence = try store.evidence("alps", for: anna, id: "7")
      _ = try await store.post([evidence], as: anna)
      let other = try EphemeralCA()
      let forged = try other.notification(
        type: "REFUND", uuid: "u", signedDate: TestStore.now, environment: .production, bundleID: TestStore.bundleID,
        transaction: Array(evidence.utf8))
      for body in [forged, Array("{}".utf8), [], Array(evidence.utf8), Array("{\"signedPayload\":5}".utf8)] {
        for route in [StoreRoute.appleNotifications, .googleNotifications] {
          let answer = try await store.send("POST", route.path, body: body)
          #expect(answer.status == 400, "\(answer)")
        }
      }
      #expect(try await store.library(of: anna)["alps"]?.status == .ownedNotInstalled)
    }
  }

  private func googleMessage(_ token: String = "token-1", padding: Int = 0) -> [UInt8] {
    let data = Data(
      #"""
      {"version":"1.0","packageName":"org.example.maps","eventTimeMillis":"1789999999000",\#
      "oneTimeProductNotification":{"version":"1.0","notificationType":1,"purchaseToken":"\#(token)",\#
      "sku":"org.example.maps.alps"}}
      """#
      .utf8)
    return Array(
      #"""
      {"message":{"data":"\#(data.base64EncodedString())","messageId":"1","publishTime":"2026-01-01T00:00:00Z"},\#
      "subscription":"\#(String(repeating: "s", count: padding + 1))"}
      """#
      .utf8)
  }

  private static let appleV1 = Array(
    #"""
    {"notification_type":"REFUND","environment":"PROD","bid":"org.example.maps","unified_receipt":{"status":0,\#
    "latest_receipt_info":[]}}
    """#
    .utf8)

  /// Unsigned messages are stored, so they are limited: none for other apps, no large ones, and few a minute.
  @Test func unsignedMessagesCannotFillTheLedger() async throws {
    @Sendable func send(_ store: TestStore, _ route: StoreRoute, _ body: [UInt8]) async throws -> Int {
      try await store.send("POST", route.path, body: body).status
    }
    @Sendable func eventCount(_ store: TestStore) throws -> Int {
      var lines = 0
      try store.ledger.export(.jsonLines) { text in lines += text.split(separator: "\n").count }
      return lines
    }
    try await TestStore.run(packageName: nil) { options in
      options.refusesAppleV1 = true
      options.limits.auditsByAddress = .init(burst: 0, perMinute: 0)
    } _: { store in
      let before = try eventCount(store)
      #expect(try await send(store, .googleNotifications, googleMessage()) == 404)
      #expect(try await send(store, .appleNotifications, Self.appleV1) == 400)
      #expect(try eventCount(store) == before)
    }
    try await TestStore.run {
      $0.limits.unsignedMessages = .init(burst: 3, perMinute: 1)
      $0.limits.auditsByAddress = .init(burst: 0, perMinute: 0)
    } _: { store in
      let before = try eventCount(store)
      #expect(try await send(store, .googleNotifications, googleMessage(padding: 130_000)) == 413)
      let largeV1 =
        Array(String(decoding: Self.appleV1, as: UTF8.self).dropLast().utf8)
        + Array(",\"password\":\"\(String(repeating: "x", count: 20_000))\"}".utf8)
      #expect(try await send(store, .appleNotifications, largeV1) == 413)
      #expect(try eventCount(store) == before)
      #expect(try await send(store, .appleNotifications, Self.appleV1) == 200)
      for number in 0..<4 {
        let status = try await send(store, .googleNotifications, googleMessage("token-\(number)"))
        #expect(status == (number < 2 ? 200 : 429))
      }
      // Messages signed by Apple do not count.
      let signed = try notification(store, type: "TEST")
      #expect(try await send(store, .appleNotifications, signed) == 200)
    }
  }

  @Test func googleMessagesAreHints() async throws {
    try await TestStore.run { store in
      let body = googleMessage()
      let answer = try await store.send("POST", StoreRoute.googleNotifications.path, body: body)
      #expect(answer.status == 200, "\(answer)")
      #expect(try store.ledger.lookups().count == 1)
    }
  }

  /// A notification whose look-up does not fit into the queue fails temporarily: 503, so that the app store repeats it.
  @Test func aFullLookupQueueIsTemporary() async throws {
    try await TestStore.run { store in
      // Look-ups of recorded transactions, which unknown ones do not displace.
      try SQLiteConnection(creating: store.ledger.path).execute(
        """
        WITH RECURSIVE n(i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM n WHERE i < 9999)
        INSERT INTO lookup (store, environment, transaction_id, asked_at, rank)
        SELECT s.column1, e.column1, 'waiting-' || i, \(TestStore.now - 1000), 1
        FROM n, (VALUES (1), (2)) AS s, (VALUES (1), (2)) AS e
        """)
      let answer = try await store.send("POST", StoreRoute.googleNotifications.path, body: googleMessage())
      #expect(answer.status == 503 && answer["Retry-After"] == "300", "\(answer)")
      let problem = try WireJSON.decode(Problem.self, from: answer.body)
      #expect(problem.type == .unavailable && problem.detail?.contains("queue") == true, "\(problem)")
    }
  }
}
