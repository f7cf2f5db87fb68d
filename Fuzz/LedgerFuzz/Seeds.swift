import Foundation
import PurchaseLedger
import Support

/// Evidence to begin with.
enum Seeds {
  static let transaction = Array(
    """
    {"transactionId":"2","originalTransactionId":"1","bundleId":"com.example","productId":"region.alps",\
    "purchaseDate":1698148900000,"expiresDate":1698149000000,"quantity":1,"type":"Non-Consumable",\
    "appAccountToken":"7e3fb20b-4cdb-47cc-936d-99d65f608138","inAppOwnershipType":"PURCHASED",\
    "signedDate":1698148900000,"revocationReason":1,"revocationDate":1698148950000,"revocationPercentage":50000,\
    "revocationType":"REFUND_PRORATED","environment":"Production","transactionReason":"PURCHASE","price":10990,\
    "currency":"USD"}
    """.utf8)

  static let renewal = Array(
    #"{"originalTransactionId":"1","productId":"p","signedDate":1698148900000,"environment":"Sandbox"}"#.utf8)

  static func notifications(of transaction: String) -> [[UInt8]] {
    let head = #""notificationUUID":"002e14d5-51f5-4503-b5a8-c3a1af68eb20","version":"2.0","signedDate":1698148900000"#
    return [
      """
      {"notificationType":"REFUND",\(head),"data":{"bundleId":"com.example","appAppleId":1,\
      "environment":"Production","signedTransactionInfo":"\(transaction)"}}
      """,
      "{\"notificationType\":\"TEST\",\(head),\"data\":{\"bundleId\":\"com.example\",\"environment\":\"Sandbox\"}}",
      """
      {"notificationType":"EXTERNAL_PURCHASE_TOKEN",\(head),\
      "externalPurchaseToken":{"externalPurchaseId":"SANDBOX1"}}
      """,
      #"""
      {"notification_type":"DID_RENEW","environment":"PROD","bid":"a",\#
      "unified_receipt":{"latest_receipt_info":[{"transaction_id":"1","product_id":"p",\#
      "purchase_date_ms":"1698148900000","cancellation_date":"2020-07-14 19:36:40 Etc/GMT"}]}}
      """#,
      #"""
      {"version":"1.0","packageName":"a","eventTimeMillis":"1698148900000",\#
      "oneTimeProductNotification":{"version":"1.0","notificationType":1,"purchaseToken":"t","sku":"p"}}
      """#,
      #"{"message":{"data":"eyJ2ZXJzaW9uIjoiMS4wIn0=","messageId":"1"},"subscription":"s"}"#,
    ].map { Array($0.utf8) }
  }

  /// The skeleton of an app receipt, in DER and as the BER that Xcode writes.
  static var receipts: [[UInt8]] {
    let purchase = set([attribute(1702, [0x0C, 1, 0x70]), attribute(1703, [0x0C, 1, 0x31])])
    let content = set([
      attribute(0, [0x0C, 10] + Array("Production".utf8)), attribute(2, [0x0C, 1, 0x61]),
      attribute(12, [0x16, 20] + Array("2023-12-01T00:00:00Z".utf8)), attribute(17, purchase),
    ])
    let data: [UInt8] = [6, 9, 0x2A, 0x86, 0x48, 0x86, 0xF7, 0x0D, 1, 7, 1]
    let signedData: [UInt8] = [6, 9, 0x2A, 0x86, 0x48, 0x86, 0xF7, 0x0D, 1, 7, 2]
    let plain = tagged(4, content)
    return [plain, [0x24, 0x80] + plain + [0, 0]].map { octets in
      let inner = tagged(0x30, data + tagged(0xA0, octets))
      let body = [2, 1, 1] + tagged(0x31, []) + inner + tagged(0xA0, []) + tagged(0x31, [])
      return tagged(0x30, signedData + tagged(0xA0, tagged(0x30, body)))
    }
  }

  /// Real ones where the optional data is.
  static func realReceipts() -> [[UInt8]] {
    guard let data = ProcessInfo.processInfo.environment["MAP_TEST_DATA"] else { return [] }
    let files = FileManager.default.enumerator(atPath: "\(data)/receipts")?.compactMap { $0 as? String } ?? []
    return files.filter { $0.contains("receipt") && !$0.hasSuffix(".json") && !$0.hasSuffix(".md") }.compactMap {
      file in
      (try? Data(contentsOf: URL(fileURLWithPath: "\(data)/receipts/\(file)")))
        .flatMap { Base64.decode($0, skippingSpace: true) }
    }.filter { $0.first == 0x30 }
  }

  private static func attribute(_ type: Int, _ value: [UInt8]) -> [UInt8] {
    let number: [UInt8] = type < 128 ? [2, 1, UInt8(type)] : [2, 2, UInt8(type >> 8), UInt8(type & 255)]
    return tagged(0x30, number + [2, 1, 1] + tagged(4, value))
  }

  private static func set(_ elements: [[UInt8]]) -> [UInt8] { tagged(0x31, elements.flatMap { $0 }) }

  private static func tagged(_ tag: UInt8, _ content: [UInt8]) -> [UInt8] {
    let count = content.count
    let length: [UInt8] = count < 128 ? [UInt8(count)] : [0x82, UInt8(count >> 8), UInt8(count & 255)]
    return [tag] + length + content
  }
}
