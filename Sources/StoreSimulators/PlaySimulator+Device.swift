import Crypto
import CryptoExtras
import Support

extension PlaySimulator {
  /// A purchase as the billing library hands it to the app: a text and its signature by the licensing key.
  package func signedPurchase(_ order: PlayOrder, at time: Int64) throws -> [UInt8] {
    let id = order.orderID.map { "\"orderId\":\"\($0)\"," } ?? ""
    let account = order.accountToken.map { ",\"obfuscatedAccountId\":\"\($0)\"" } ?? ""
    let products = order.products.map { "\"\($0)\"" }.joined(separator: ",")
    let text =
      "{\(id)\"packageName\":\"\(setup.packageName)\",\"productId\":\"\(order.products[0])\","
      + (order.products.count > 1 ? "\"productIds\":[\(products)]," : "")
      + "\"purchaseTime\":\(order.statedTime(at: time)),\"purchaseState\":\(order.isPaid(at: time) ? 0 : 4),"
      + "\"purchaseToken\":\"\(order.token)\",\"quantity\":1,\"acknowledged\":false\(account)}"
    let digest = Insecure.SHA1.hash(data: Array(text.utf8))
    let signature = try setup.key.signature(for: digest, padding: .insecurePKCS1v1_5)
    let encoded = String(decoding: Base64.encode(Array(signature.rawRepresentation)), as: UTF8.self)
    return Array("{\"json\":\(text.quotedAsJSON),\"signature\":\"\(encoded)\"}".utf8)
  }

  /// What some client libraries hand over: product and token alone.
  package func bareToken(_ order: PlayOrder) -> [UInt8] {
    Array(
      """
      {"packageName": "\(setup.packageName)", "productId": "\(order.products[0])", "purchaseToken": "\(order.token)"}
      """.utf8)
  }

  /// A real-time developer notification in its Pub/Sub envelope: of a purchase (1), or of its cancellation (2), or of
  /// its refund (nil).
  package func message(_ order: PlayOrder, type: Int?, at time: Int64) -> [UInt8] {
    let body =
      type.map {
        """
        "oneTimeProductNotification": {"version": "1.0", "notificationType": \($0), "purchaseToken": "\(order.token)", \
        "sku": "\(order.products[0])"}
        """
      } ?? """
        "voidedPurchaseNotification": {"purchaseToken": "\(order.token)", "orderId": "\(order.orderID ?? "")", \
        "productType": 2, "refundType": 1}
        """
    let text = """
      {"version": "1.0", "packageName": "\(setup.packageName)", "eventTimeMillis": "\(time)", \(body)}
      """
    let data = String(decoding: Base64.encode(Array(text.utf8)), as: UTF8.self)
    return Array(
      """
      {"message": {"data": "\(data)", "messageId": "\(order.token)-\(type ?? 0)"}, "subscription": "simulated"}
      """.utf8)
  }
}
