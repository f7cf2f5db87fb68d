import PurchaseLedger

#if canImport(FoundationEssentials)
  import FoundationEssentials
#else
  import Foundation
#endif

// MARK: - Apple

extension ShopGenerator {
  mutating func applePurchase(by buyer: Int) throws {
    let (id, time, product, price) = (id(), random.time(Self.start..<(Self.end - 10 * Self.day)), product(), price())
    var bought = StoreTransaction(
      store: .apple, environment: random.happens(1) ? .sandbox : .production, transactionID: id,
      originalTransactionID: id, productID: product.id, productType: product.type, purchaseDate: time,
      ownership: .purchased, appAccountToken: random.happens(70) ? accounts[buyer].token : nil, price: price,
      reason: "PURCHASE", signedDate: time + 1500, trust: .signed, statement: .purchased)
    // Some purchases are shared by a family member.
    if product.type == .nonConsumable, random.happens(2) { (bought.ownership, bought.price) = (.familyShared, nil) }
    // Some purchases are never reported by the app.
    let isLost = random.happens(2)
    if !isLost { try present(bought, by: buyer, at: time + 4000) }
    // The store's notification usually arrives too.
    if random.happens(80), !isLost { try notify("ONE_TIME_CHARGE", bought, at: time + random.time(500..<60_000)) }
    var final = bought
    if product.type == .nonConsumable, random.happens(3), let refund = try refund(bought, by: buyer, isKnown: !isLost) {
      final = refund
    } else if random.happens(6) {
      try reset(bought, by: buyer)
    }
    // Another account presents the same evidence.
    if random.happens(1), !isLost {
      try present(bought, by: (buyer + 1 + random.number(0...7)) % accounts.count, at: time + 2 * Self.day)
    }
    // A signing date in the future, as from a wrong clock.
    if random.happens(0.1) {
      var early = bought
      early.signedDate = Self.end + 30 * Self.day
      try present(early, by: buyer, at: time + 5000)
    }
    // A few purchases are missing in the store's list.
    if bought.environment == .production, !random.happens(0.2) { try listApple(final, of: buyer) }
  }

  /// Adds a transaction to the store's list in its final state, signed again.
  private mutating func listApple(_ final: StoreTransaction, of buyer: Int) throws {
    var final = final
    final.signedDate = Self.end - random.time(0..<Self.day)
    // Some purchases name another account than the one that presented them.
    if final.appAccountToken == nil, random.happens(0.5) {
      final.appAccountToken = accounts[(buyer + 1) % accounts.count].token
    }
    list(try authority.transaction(final, bundleID: Self.bundleID))
  }

  /// A refund and its notifications in one of several orders; returns the store's final state.
  private mutating func refund(_ bought: StoreTransaction, by buyer: Int, isKnown: Bool) throws -> StoreTransaction? {
    let date = bought.purchaseDate + random.time(Self.day..<(8 * Self.day))
    var refunded = bought
    refunded.signedDate = date + 2000
    refunded.statement = .revoked
    refunded.revocation = Revocation(date: date, reason: "1")
    if random.happens(10) {
      refunded.revocation = Revocation(date: date, reason: "0", percentageMilli: 50_000, type: "REFUND_PRORATED")
    }
    let story = random.number(0...9)
    switch story {
    // The notification is lost.
    case 0...3: break
    // It arrives before the purchase, which an offline phone presents late.
    case 4, 5:
      try notify("REFUND", refunded, at: date)
      if isKnown { try present(bought, by: buyer, at: date + Self.day) }
    // The store reverses the refund.
    case 6 where refunded.revocation?.percentageMilli == nil:
      try notify("REFUND", refunded, at: date + 3000)
      var restored = bought
      restored.signedDate = date + Self.day
      try notify("REFUND_REVERSED", restored, at: date + Self.day)
      return restored
    default: try notify("REFUND", refunded, at: date + 3000)
    }
    return refunded
  }

  /// A reset phone: the store restores the region under a new transaction.
  private mutating func reset(_ bought: StoreTransaction, by buyer: Int) throws {
    guard bought.productType == .nonConsumable else { return }
    var copy = bought
    copy.transactionID = id()
    copy.purchaseDate = bought.purchaseDate + random.time(Self.day..<(9 * Self.day))
    copy.signedDate = copy.purchaseDate + 1500
    try present(copy, by: buyer, at: copy.signedDate + 3000)
    if copy.environment == .production { try listApple(copy, of: buyer) }
  }

  private mutating func present(_ fact: StoreTransaction, by buyer: Int, at time: Int64) throws {
    let piece = String(decoding: try authority.transaction(fact, bundleID: Self.bundleID), as: UTF8.self)
    arrive(time, Array("{\"account\":\"\(accounts[buyer].id)\",\"evidence\":\"\(piece)\"}".utf8))
  }

  private mutating func notify(_ type: String, _ fact: StoreTransaction, at time: Int64) throws {
    let inner = try authority.transaction(fact, bundleID: Self.bundleID)
    arrive(
      time,
      try authority.notification(
        type: type, uuid: random.uuid().uuidString.lowercased(), signedDate: max(time, fact.signedDate),
        environment: fact.environment, bundleID: Self.bundleID, appAppleID: Self.appAppleID, transaction: inner))
  }
}

// MARK: - Google

extension ShopGenerator {
  mutating func googlePurchase(by buyer: Int) throws {
    let time = random.time(Self.start..<(Self.end - 10 * Self.day))
    let order = "GPA.3\(random.number(100...999))-\(random.number(1000...9999))-\(id())"
    let token = random.uuid().uuidString.lowercased()
    let product = product()
    let isSlow = random.happens(5)
    // Cash payment: the purchase is pending for a day.
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
