import Foundation
import MapStoreWire
import PurchaseLedger
import TestSupport
import Testing

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

  /// A refund that comes by message takes the region, however often it comes; case 35's second half: what was not acknowledged comes again and changes nothing.
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

  /// Case 26: a type that nobody knows yet is kept and answered 200.
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
      let other = try ThrowAwayAuthority()
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

  @Test func googleMessagesAreHints() async throws {
    try await TestStore.run { store in
      let data = Data(
        #"{"version":"1.0","packageName":"org.example.maps","eventTimeMillis":"1789999999000","oneTimeProductNotification":{"version":"1.0","notificationType":1,"purchaseToken":"token-1","sku":"org.example.maps.alps"}}"#
          .utf8)
      let body = Array(
        #"{"message":{"data":"\#(data.base64EncodedString())","messageId":"1","publishTime":"2026-01-01T00:00:00Z"},"subscription":"s"}"#
          .utf8)
      let answer = try await store.send("POST", StoreRoute.googleNotifications.path, body: body)
      #expect(answer.status == 200, "\(answer)")
      #expect(try store.ledger.lookups().count == 1)
    }
  }
}
