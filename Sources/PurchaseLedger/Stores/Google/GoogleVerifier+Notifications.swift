import Crypto
import Foundation
import Support

extension GoogleVerifier {
  static let messageNames = [
    "oneTimeProductNotification", "voidedPurchaseNotification", "subscriptionNotification", "testNotification",
  ]

  /// A real-time developer notification, in its Pub/Sub envelope or bare. Nobody signed it: it changes nothing and asks for a look-up.
  func notification(_ answer: GoogleAnswer, _ context: EvidenceContext) throws(Refusal) -> VerifiedEvidence {
    let fields = GoogleFields(value: answer.body)
    try checkPackage(try fields.identifier("packageName"), isRequired: true)
    let date = try fields.date("eventTimeMillis") ?? 0
    let name = Self.messageNames.first { answer.body[$0] != nil }
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
    let digest = Hexadecimal.text(SHA256.hash(data: Data(fallback.utf8)))
    found.notification = NotificationFact(
      store: .google, environment: environment,
      uuid: try FieldRules.identifier(answer.messageID ?? "rtdn:\(digest)", "messageId"),
      type: name ?? "unknown", subtype: subtype, signedDate: date, transaction: found.lookups.first?.key)
    return found
  }
}
