import Crypto
import Support

extension AppleVerifier {
  /// Decodes an App Store Server Notification, version 1. It is unsigned, so it yields no facts, only look-ups at the
  /// store.
  func decode(versionOne document: JSONValue) throws(VerificationError) -> VerifiedEvidence {
    let fields = AppleFields(document)
    guard let type = try fields.word("notification_type") else {
      throw VerificationError(.wrongKind, "no notification of version 1: notification_type is missing")
    }
    try identity.check(
      bundleID: document["bid"]?.string ?? document["unified_receipt"]?["bid"]?.string, in: "notification")
    let environment = StoreEnvironment(storeText: try fields.word("environment") ?? "")
    let unknown = try identity.check(environment, in: "notification")
    let entries = entries(of: document)
    let date = try latestDate(of: entries)
    let hints = try lookups(of: entries, in: environment)
    let original = try fields.optionalIdentifier("original_transaction_id") ?? hints.first?.key.id ?? ""
    let message = NotificationFact(
      store: .apple, environment: environment, uuid: Self.uuid(type: type, original: original, date: date), type: type,
      subtype: nil, signedDate: date, transaction: nil)
    return VerifiedEvidence(
      kind: .notificationV1, store: .apple, environment: environment, notification: message,
      lookups: unknown == nil ? hints : [], signedDate: date, quarantine: unknown,
      notes: (environment == .sandbox ? ["sandbox"] : []) + ["look-up"])
  }

  /// Limits how many look-ups one unsigned notification can add to the queue.
  private static let lookupsMax = 100

  private func entries(of document: JSONValue) -> [JSONValue] {
    let unified = document["unified_receipt"]?["latest_receipt_info"]
    let single = document["latest_receipt_info"] ?? document["latest_expired_receipt_info"]
    return (unified?.array ?? []) + (single?.array ?? single.map { [$0] } ?? [])
  }

  private func latestDate(of entries: [JSONValue]) throws(VerificationError) -> Int64 {
    var latest: Int64 = 0
    for entry in entries {
      for name in ["purchase_date", "cancellation_date"] {
        if let date = try StoreDate.read(name, in: entry) { latest = max(latest, date) }
      }
    }
    return latest
  }

  private func lookups(of entries: [JSONValue], in environment: StoreEnvironment) throws(VerificationError)
    -> [LookupHint]
  {
    var hints: [LookupHint] = []
    var seen: Set<String> = []
    for entry in entries where hints.count < Self.lookupsMax {
      let fields = AppleFields(entry)
      guard let id = try fields.optionalIdentifier("transaction_id"), seen.insert(id).inserted else { continue }
      hints.append(
        LookupHint(
          key: TransactionKey(store: .apple, environment: environment, id: id),
          productID: try fields.optionalIdentifier("product_id"), purchaseToken: nil))
    }
    return hints
  }

  /// These notifications have no id, so a hash of their content serves as one.
  private static func uuid(type: String, original: String, date: Int64) -> String {
    let digest = SHA256.hash(data: Array("\(type)\n\(original)\n\(date)".utf8))
    return "v1:" + Hexadecimal.text(digest)
  }
}

/// The app's shared secret, which a version 1 notification carries as `password`.
///
/// It authorises requests in the app's name, so it is removed before the evidence is stored.
package enum VersionOneSecret {
  /// The same JSON with asterisks in place of the secret, at any depth, of any type, and in whatever capitals its name
  /// is written, as forwarders of notifications rename it.
  ///
  /// - Complexity: O(bytes) for each of the spellings.
  package static func blanked(_ bytes: [UInt8]) -> [UInt8] {
    var blanked = bytes
    let places = spellings(in: bytes).flatMap { (try? JSONReader.places(of: $0, in: bytes)) ?? [] }
    for place in places {
      // Whatever it is: a list of one has a secret in it, too. A text of the same length takes its place, or a digit.
      for index in place { blanked[index] = UInt8(ascii: place.count < 2 ? "0" : "*") }
      guard place.count >= 2 else { continue }
      for end in [place.lowerBound, place.upperBound - 1] { blanked[end] = UInt8(ascii: "\"") }
    }
    return blanked
  }

  private static let name = "password"

  /// The name as the store writes it, and with other capitals as they occur in the bytes.
  private static func spellings(in bytes: [UInt8]) -> Set<String> {
    var spellings: Set = [name]
    let small = Array(name.utf8)
    for start in bytes.indices.dropLast(small.count) where bytes[start] | 0x20 == small[0] {
      let word = bytes[start..<start + small.count]
      if zip(word, small).allSatisfy({ $0 | 0x20 == $1 }) { spellings.insert(String(decoding: word, as: UTF8.self)) }
    }
    return spellings
  }
}
