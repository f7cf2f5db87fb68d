import Foundation

extension ShopGenerator {
  mutating func googlePurchase(by buyer: Int) throws {
    let time = random.time(Self.start..<(Self.end - 10 * Self.day))
    let order = "GPA.3\(random.number(100...999))-\(random.number(1000...9999))-\(id())"
    let token = random.uuid().uuidString.lowercased()
    let product = product()
    let isSlow = random.happens(5)
    // Paid in cash at a shop: pending for a day.
    if isSlow { arrive(time, wrapper(resource(order, time, 2, buyer), product.id, token, buyer)) }
    let bought = resource(order, time, 0, buyer)
    if !random.happens(2) {
      arrive(time + (isSlow ? Self.day : 5000), wrapper(bought, product.id, token, buyer))
    }
    list(wrapper(bought, product.id, token, nil))
    guard random.happens(3) else { return }
    let voidedAt = time + random.time(Self.day..<(8 * Self.day))
    let entry =
      "{\"voidedPurchases\":[{\"kind\":\"androidpublisher#voidedPurchase\",\"purchaseToken\":\"\(token)\","
      + "\"orderId\":\"\(order)\",\"purchaseTimeMillis\":\"\(time)\",\"voidedTimeMillis\":\"\(voidedAt)\","
      + "\"voidedSource\":0,\"voidedReason\":1}]}"
    if random.happens(50) { arrive(voidedAt + Self.day, Array(entry.utf8)) }
    list(Array(entry.utf8))
  }

  private func resource(_ order: String, _ time: Int64, _ state: Int, _ buyer: Int) -> String {
    "{\"kind\":\"androidpublisher#productPurchase\",\"purchaseTimeMillis\":\"\(time)\",\"purchaseState\":\(state),"
      + "\"consumptionState\":0,\"orderId\":\"\(order)\",\"acknowledgementState\":\(state == 0 ? 1 : 0),"
      + "\"obfuscatedExternalAccountId\":\"\(accounts[buyer].token)\"}"
  }

  private func wrapper(_ resource: String, _ product: String, _ token: String, _ buyer: Int?) -> [UInt8] {
    let account = buyer.map { "\"account\":\"\(accounts[$0].id)\"," } ?? ""
    return Array(
      ("{\(account)\"productId\":\"\(product)\",\"purchaseToken\":\"\(token)\",\"packageName\":\"\(Self.packageName)\","
        + "\"evidence\":\(resource)}").utf8)
  }
}
