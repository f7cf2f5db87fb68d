import Crypto
import Foundation

extension GoogleVerifier {
  /// A page of `purchases.voidedpurchases.list`: each entry revokes at the time of voiding, which is later than the purchase.
  func voided(_ answer: GoogleAnswer, _ context: EvidenceContext) throws(Refusal) -> VerifiedEvidence {
    try checkPackage(context.packageName, isRequired: false)
    let entries = answer.body["voidedPurchases"]
    guard answer.isEmpty || entries?.elements != nil || answer.body["tokenPagination"] != nil else {
      throw Refusal(.malformed, "voidedPurchases is missing")
    }
    var found = VerifiedEvidence(kind: .googleVoided, store: .google, environment: nil)
    var seen: Set<StoreTransaction> = []
    for entry in entries?.elements ?? [] {
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
  ) throws(Refusal) -> StoreTransaction {
    let (order, token) = (try fields.identifier("orderId"), try fields.token())
    guard let id = order ?? token else { throw Refusal(.incomplete, "an entry has neither orderId nor purchaseToken") }
    guard let voidedAt = try fields.date("voidedTimeMillis") else {
      throw Refusal(.incomplete, "voidedTimeMillis of \(id) is missing")
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
  /// A real-time developer notification, in its Pub/Sub envelope or bare. Nobody signed it: it changes nothing and asks for a look-up.
  func notification(_ answer: GoogleAnswer, _ context: EvidenceContext) throws(Refusal) -> VerifiedEvidence {
    let fields = GoogleFields(value: answer.body)
    try checkPackage(try fields.identifier("packageName"), isRequired: true)
    let date = try fields.date("eventTimeMillis") ?? 0
    let name = GoogleAnswer.messageNames.first { answer.body[$0] != nil }
    let environment = environment(context)
    var found = VerifiedEvidence(
      kind: .googleNotification, store: .google, environment: nil, signedDate: date, notes: ["look-up"])
    var subtype: String?
    var token: String?
    if let name, let message = answer.body[name] {
      let fields = GoogleFields(value: message)
      let order = try fields.identifier("orderId")
      token = try fields.token()
      subtype = message["notificationType"]?.identifier ?? message["refundType"]?.identifier
      if let id = order ?? token {
        found.lookups = [
          LookupHint(
            key: TransactionKey(store: .google, environment: environment, id: id),
            productID: try fields.identifier("sku", "subscriptionId"), purchaseToken: token)
        ]
      }
    }
    if found.lookups.isEmpty { found.notes = [] }
    if name == nil { found.notes.append("unknown-type") }
    // Without an envelope there is no id; the fields stand in for it, so that a redelivery is one message.
    let fallback = "\(name ?? "") \(subtype ?? "") \(token ?? "") \(date)"
    let digest = SHA256.hash(data: Data(fallback.utf8)).map { String(format: "%02x", $0) }.joined()
    found.notification = NotificationFact(
      store: .google, environment: environment,
      uuid: try FieldRules.identifier(answer.messageID ?? "rtdn:\(digest)", "messageId"),
      type: name ?? "unknown", subtype: subtype, signedDate: date, transaction: found.lookups.first?.key)
    return found
  }
}
