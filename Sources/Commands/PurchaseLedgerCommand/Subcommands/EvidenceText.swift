import PurchaseLedger
import Support

/// Verified evidence and refusals for people and programs.
enum EvidenceText {
  /// A reason with the option that mends it, which the library does not know.
  static func message(_ refusal: VerificationError) -> String {
    let option: String? =
      switch refusal.code {
      case .noRootCertificate: "--root-certificate"
      case .noLicensingKey: "googlePublicKey in the configuration file"
      case .noBundleID: "--bundle-id"
      case .noPackageName: "packageName in the configuration file"
      case .unknownKind: "--as"
      default: nil
      }
    return refusal.advice + (option.map { " (\($0))" } ?? "")
  }

  /// The reason's code and the message.
  static func line(_ refusal: VerificationError) -> String { "\(refusal.code.rawValue): \(message(refusal))" }

  static func json(_ evidence: VerifiedEvidence) -> JSONValue {
    .fields([
      ("valid", .bool(evidence.quarantine == nil)), ("signed", .bool(evidence.isSigned)),
      ("kind", .string(evidence.kind.name)),
      ("store", .string(evidence.store.rawValue)), ("environment", .init(evidence.environment?.rawValue)),
      ("signedDate", .init(evidence.signedDate)), ("reason", .init(evidence.quarantine?.code.rawValue)),
      ("message", .init(evidence.quarantine.map(message))),
      ("notes", .array(evidence.notes.map(JSONValue.string))),
      ("notification", evidence.notification.map(json) ?? .null),
      ("renewal", evidence.renewal.map(json) ?? .null),
      ("transactions", .array(evidence.transactions.map(\.json))),
      ("lookups", .array(evidence.lookups.map(json))),
      ("details", .object(evidence.details.map { .init($0.name, .string($0.value)) })),
    ])
  }

  static func json(_ refusal: VerificationError) -> JSONValue {
    .fields([
      ("valid", .bool(false)), ("reason", .string(refusal.code.rawValue)),
      ("message", .string(message(refusal))),
    ])
  }

  /// One field per line.
  static func lines(_ evidence: VerifiedEvidence) -> [String] {
    var lines = [
      evidence.quarantine.map { "quarantined: \(line($0))" }
        ?? (evidence.isSigned ? "valid" : "readable, but not signed: nothing proves that a store wrote it"),
      "  kind: \(evidence.kind.name)", "  store: \(evidence.store.rawValue)",
    ]
    if let environment = evidence.environment { lines.append("  environment: \(environment)") }
    if let date = evidence.signedDate { lines.append("  signed: \(TimeText.rfc3339(date))") }
    if let notification = evidence.notification {
      lines.append(
        "  notification: \(notification.type)\(notification.subtype.map { " \($0)" } ?? "") \(notification.uuid)")
    }
    for detail in evidence.details { lines.append("  \(detail.name): \(detail.value)") }
    for transaction in evidence.transactions {
      lines.append("  transaction \(transaction.transactionID)")
      for member in transaction.json.members ?? [] where member.name != "transactionId" && member.value != .null {
        let text = member.value.identifier ?? member.value.text
        let isTime = member.name.hasSuffix("Date")
        lines.append("    \(member.name): \(isTime ? TimeText.rfc3339(member.value.integer ?? 0) : text)")
      }
    }
    for hint in evidence.lookups { lines.append("  look up: \(hint.key.id) \(hint.productID ?? "")") }
    if !evidence.notes.isEmpty { lines.append("  notes: \(evidence.notes.joined(separator: ", "))") }
    return lines
  }

  private static func json(_ notification: NotificationFact) -> JSONValue {
    .fields([
      ("type", .string(notification.type)), ("subtype", .init(notification.subtype)),
      ("uuid", .string(notification.uuid)), ("signedDate", .init(notification.signedDate)),
    ])
  }

  private static func json(_ renewal: RenewalFact) -> JSONValue {
    .fields([
      ("originalTransactionId", .init(renewal.originalTransactionID)), ("productId", .init(renewal.productID)),
      ("signedDate", .init(renewal.signedDate)),
    ])
  }

  private static func json(_ hint: LookupHint) -> JSONValue {
    .fields([
      ("id", .string(hint.key.id)), ("productId", .init(hint.productID)), ("purchaseToken", .init(hint.purchaseToken)),
    ])
  }
}

extension StoreTransaction {
  /// In the order and with the names of reports; null for fields that the fact does not state.
  var json: JSONValue {
    .fields([
      ("transactionId", .string(transactionID)), ("originalTransactionId", .string(originalTransactionID)),
      ("productId", .init(productID)), ("type", .string(productType.rawValue)),
      ("state", .string("\(statement)")), ("environment", .string(environment.rawValue)),
      ("purchaseDate", .init(purchaseDate)), ("expiresDate", .init(expiresDate)), ("quantity", .init(quantity)),
      ("ownership", .string(ownership.rawValue)), ("appAccountToken", .init(appAccountToken?.description)),
      ("price", .init(price?.milliunits)), ("currency", .init(price?.currency)), ("reason", .string(reason)),
      ("purchaseToken", .init(purchaseToken)), ("signedDate", .init(signedDate)),
      ("trust", .string("\(trust)")), ("revocationDate", .init(revocation?.date)),
      ("revocationReason", .init(revocation?.reason)), ("revocationPercentage", .init(revocation?.percentageMilli)),
      ("revocationType", .init(revocation?.type)), ("revocationQuantity", .init(revocation?.quantity)),
    ])
  }
}

extension JSONValue {
  /// An object with members in this order.
  static func fields(_ fields: [(String, JSONValue)]) -> JSONValue {
    .object(fields.map { Member($0.0, $0.1) })
  }

  /// Null for nil.
  init(_ number: Int64?) { self = number.map { .number("\($0)") } ?? .null }
}
