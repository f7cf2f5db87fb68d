import Crypto
import Support

#if canImport(FoundationEssentials)
  import FoundationEssentials
#else
  import Foundation
#endif

/// What Google reports after a purchase: the list of voided purchases and real-time developer notifications.
extension GoogleVerifier {
  /// Decodes a page of `purchases.voidedpurchases.list`. Each entry is a revocation, dated at the time of voiding.
  func voided(_ answer: GoogleAnswer, _ context: EvidenceContext) throws(VerificationError) -> VerifiedEvidence {
    try checkPackage(context.packageName, isRequired: false)
    let entries = answer.body["voidedPurchases"]
    guard answer.isEmpty || entries?.array != nil || answer.body["tokenPagination"] != nil else {
      throw VerificationError(.malformed, "voidedPurchases is missing")
    }
    var found = VerifiedEvidence(kind: .googleVoided, store: .google, environment: nil)
    var seen: Set<StoreTransaction> = []
    for entry in entries?.array ?? [] {
      let transaction = try voidedPurchase(GoogleFields(value: entry), environment(context))
      guard seen.insert(transaction).inserted else { continue }
      found.transactions.append(transaction)
      found.signedDate = max(found.signedDate ?? 0, transaction.signedDate)
      if transaction.revocation?.quantity != nil, !found.notes.contains("partial-refund") {
        found.notes.append("partial-refund")
      }
    }
    if found.transactions.isEmpty { found.notes.append("no-transactions") }
    found.details.append(.init("voidedPurchases", "\(found.transactions.count)"))
    return found
  }

  private func voidedPurchase(
    _ fields: GoogleFields, _ environment: StoreEnvironment
  ) throws(VerificationError) -> StoreTransaction {
    let (order, token) = (try fields.identifier("orderId"), try fields.token())
    guard let id = order ?? token else {
      throw VerificationError(.incomplete, "an entry has neither orderId nor purchaseToken")
    }
    guard let voidedAt = try fields.date("voidedTimeMillis") else {
      throw VerificationError(.incomplete, "voidedTimeMillis of \(id) is missing")
    }
    let purchasedAt = try fields.date("purchaseTimeMillis") ?? voidedAt
    return StoreTransaction(
      store: .google, environment: environment, transactionID: id,
      originalTransactionID: order.map(GoogleFields.original) ?? id, productID: nil, purchaseDate: purchasedAt,
      purchaseToken: token, signedDate: voidedAt, trust: .unsigned, statement: .revoked,
      revocation: Revocation(
        date: voidedAt, reason: try fields.count("voidedReason").map(String.init),
        quantity: try fields.count("voidedQuantity")))
  }
}

extension GoogleVerifier {
  /// Decodes a bare purchase token: a question to the store.
  func token(_ answer: GoogleAnswer, _ context: EvidenceContext) throws(VerificationError) -> VerifiedEvidence {
    let fields = GoogleFields(value: answer.body)
    try checkPackage(try fields.identifier("packageName") ?? context.packageName, isRequired: false)
    guard let token = try fields.token(), let product = try fields.identifier("productId") else {
      throw VerificationError(.incomplete, "purchaseToken or productId is empty")
    }
    var found = VerifiedEvidence(kind: .googleToken, store: .google, environment: nil, notes: ["look-up"])
    found.lookups = [
      LookupHint(
        key: TransactionKey(store: .google, environment: environment(context), id: token), productID: product,
        purchaseToken: token)
    ]
    return found
  }

  /// Decodes a real-time developer notification, with or without its Pub/Sub envelope. It is unsigned, so it yields no
  /// facts, only a look-up at the store.
  func notification(_ answer: GoogleAnswer, _ context: EvidenceContext) throws(VerificationError) -> VerifiedEvidence {
    let fields = GoogleFields(value: answer.body)
    try checkPackage(try fields.identifier("packageName"), isRequired: true)
    let date = try fields.date("eventTimeMillis") ?? 0
    let name = GoogleAnswer.messageNames.first { answer.body[$0] != nil }
    let environment = environment(context)
    var found = VerifiedEvidence(
      kind: .googleNotification, store: .google, environment: nil, signedDate: date, notes: ["look-up"])
    var subtype: String?
    var key: TransactionKey?
    var token: String?
    if let name, let message = answer.body[name] {
      let fields = GoogleFields(value: message)
      let order = try fields.identifier("orderId")
      token = try fields.token()
      subtype = message["notificationType"]?.identifier ?? message["refundType"]?.identifier
      // Google keeps subscriptions at an address of their own, which nobody asks: regions are not sold as such.
      let isSubscription = name == "subscriptionNotification" || message["productType"]?.integer == 1
      if isSubscription { found.notes = ["subscription"] }
      key = (order ?? token).map { TransactionKey(store: .google, environment: environment, id: $0) }
      if let key, !isSubscription {
        found.lookups = [
          LookupHint(
            key: key,
            productID: try fields.identifier("sku", "subscriptionId"), purchaseToken: token)
        ]
      }
    }
    if found.lookups.isEmpty { found.notes.removeAll { $0 == "look-up" } }
    if name == nil { found.notes.append("unknown-type") }
    // Without an envelope there is no id. A hash of the fields serves as one, so that redeliveries are recognised.
    let fallback = "\(name ?? "") \(subtype ?? "") \(token ?? "") \(date)"
    let digest = Hexadecimal.text(SHA256.hash(data: Data(fallback.utf8)))
    found.notification = NotificationFact(
      store: .google, environment: environment,
      uuid: try FieldRules.identifier(answer.messageID ?? "rtdn:\(digest)", "messageId"),
      type: name ?? "unknown", subtype: subtype, signedDate: date, transaction: key)
    return found
  }
}
