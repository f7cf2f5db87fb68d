import Support

/// Takes evidence out of what client libraries and pages of the stores' interfaces wrap around it, by the names of
/// members (docs/reference/ledger.md, Forms).
package enum EvidenceForm {
  /// How often one piece may be wrapped: a text in quotes in an object in a list is three times.
  private static let depthMax = 8

  /// The pieces of evidence in some bytes: the bytes themselves if nothing known wraps them.
  ///
  /// - Throws: `VerificationError` that names a form without evidence, with what to send instead.
  /// - Complexity: O(bytes), at most `depthMax` times.
  package static func pieces(in bytes: [UInt8]) throws(VerificationError) -> [[UInt8]] {
    var text = UTF8Mark.removed(from: bytes)
    if var wide = UTF16Text(text) { text = wide.utf8(text) }
    var found: [[UInt8]] = []
    try open(text, 0, &found)
    return found
  }

  /// Whether a page of a store's list says that there are more; nil for what is no page of one.
  package static func pageHasMore(_ bytes: ArraySlice<UInt8>) -> Bool? {
    guard let outline = try? JSONReader.members(bytes) else { return nil }
    func member(_ name: String) -> JSONValue? {
      outline.first { $0.name == name }.flatMap { try? JSONReader.read(bytes[$0.value], duplicates: .kept) }
    }
    let names = Set(outline.map(\.name))
    if !names.isDisjoint(with: ["signedTransactions", "notificationHistory"]) {
      return member("hasMore")?.bool ?? false
    }
    guard names.contains("voidedPurchases") || names.contains("tokenPagination") else { return nil }
    let token = member("tokenPagination")?["nextPageToken"] ?? member("nextPageToken")
    return !(token?.string ?? "").isEmpty
  }

  /// The one piece in some bytes.
  package static func piece(in bytes: [UInt8]) throws(VerificationError) -> [UInt8] {
    let pieces = try pieces(in: bytes)
    guard let piece = pieces.first, pieces.count == 1 else {
      throw VerificationError(
        .unknownKind, "a list of \(pieces.count) pieces of evidence",
        remedy: "import it with purchase-ledger, or send each piece by itself")
    }
    return piece
  }

  // MARK: Names

  /// Members that list pieces, and the member of each that is one, if it is not the whole.
  private static let lists: [(list: String, member: String?)] = [
    ("signedTransactions", nil), ("notificationHistory", "signedPayload"),
    ("lastTransactions", "signedTransactionInfo"), ("orders", nil),
    ("purchases", nil), ("transactions", nil), ("data", nil),
  ]
  /// Google's signed text and its signature, beside the names that ``GoogleAnswer`` reads.
  private static let signed: [(text: String, signature: String)] = [
    (text: "dataAndroid", signature: "signatureAndroid"), ("transactionReceipt", "signatureAndroid"),
    ("data", "signature"), ("localVerificationData", "signature"), ("originalJson", "signatureAndroid"),
  ]
  /// Apple's signed text or receipt.
  private static let apple = [
    "jwsRepresentation", "jwsRepresentationIOS", "jwsRepresentationIos", "jwsTransaction", "signedTransaction", "jws",
    "serverVerificationData", "purchaseToken", "fetch_token", "verificationResultIOS", "verificationResult",
    "transactionReceipt", "signedTransactionInfo", "signedAppTransactionInfo", "appTransaction", "appStoreReceipt",
    "receipt-data", "receiptData", "receipt", "Payload", "data",
  ]
  /// Objects, or their JSON as text, that hold the evidence.
  private static let nested = [
    "billingClientPurchase", "nativePurchase", "Payload", "verificationData", "localVerificationData", "purchase",
    "transaction", "transactionReceipt", "dataAndroid",
  ]
  private static let tokens = ["purchaseToken", "purchaseTokenAndroid", "purchase_token", "fetch_token"]
  private static let products = ["productId", "productID", "product_id", "productIdentifier", "sku"]
  private static let names: Set<String> = {
    var names = Set(apple + nested + tokens + ["event", "subscriber", "signature"])
    names.formUnion(lists.map(\.list))
    names.formUnion(signed.map(\.text))
    return names
  }()

  // MARK: Opening

  private static func open(_ bytes: [UInt8], _ depth: Int, _ found: inout [[UInt8]]) throws(VerificationError) {
    switch bytes.first(where: { !$0.isSpace }) {
    case UInt8(ascii: "{"):
      // Most evidence in JSON has none of the names, and is not parsed here.
      guard let outline = try? JSONReader.members(bytes[...]), outline.contains(where: { names.contains($0.name) }),
        let object = try? JSONReader.read(bytes, duplicates: .kept)
      else { break }
      if try unwrap(object, depth, &found) { return }
    case UInt8(ascii: "["), UInt8(ascii: "\""):
      guard let value = try? JSONReader.read(bytes, duplicates: .kept) else { break }
      return try open(value, depth, &found)
    default: break
    }
    found.append(bytes)
  }

  private static func open(_ value: JSONValue, _ depth: Int, _ found: inout [[UInt8]]) throws(VerificationError) {
    guard depth < depthMax else {
      throw VerificationError(
        .malformed, "evidence is wrapped more than \(depthMax) times", remedy: "send the signed text itself")
    }
    switch value {
    case .string(let text): try open(Array(text.utf8), depth + 1, &found)
    case .array(let values):
      guard !values.isEmpty else {
        throw VerificationError(.unknownKind, "an empty list of evidence", remedy: "there is nothing to send")
      }
      for value in values { try open(value, depth + 1, &found) }
    case .object:
      if try unwrap(value, depth + 1, &found) { return }
      found.append(Array(value.text.utf8))
    default: found.append(Array(value.text.utf8))
    }
  }

  /// - Returns: False for an object that no form describes.
  private static func unwrap(
    _ object: JSONValue, _ depth: Int, _ found: inout [[UInt8]]
  ) throws(VerificationError) -> Bool {
    // A name that occurs twice is for the verifier to refuse.
    if object.repeatedName != nil { return false }
    for (name, member) in lists {
      guard let list = object[name]?.array else { continue }
      guard !list.isEmpty else {
        throw VerificationError(.unknownKind, "\(name) is empty", remedy: "there is nothing to send")
      }
      for element in list { try open(member.flatMap { element[$0] } ?? element, depth + 1, &found) }
      return true
    }
    if let (text, signature) = signedText(object) {
      found.append(
        Array(JSONValue.object([.init("json", .string(text)), .init("signature", .string(signature))]).text.utf8))
      return true
    }
    if GoogleAnswer.signed(object) != nil { return false }
    let texts = apple.compactMap { object[$0]?.string }
    if let text = texts.first(where: isJWS) ?? texts.first(where: isReceipt) {
      found.append(Array(text.utf8))
      return true
    }
    for name in nested {
      guard let inner = object[name] else { continue }
      if inner.members == nil, inner.string?.utf8.first(where: { !$0.isSpace }) != UInt8(ascii: "{") { continue }
      try open(inner, depth + 1, &found)
      return true
    }
    if let token = bareToken(object) {
      found.append(Array(token.text.utf8))
      return true
    }
    if let refusal = refusal(object) { throw refusal }
    return false
  }

  /// Google's text with its signature, where ``GoogleAnswer`` does not read it: under other names, or beside the fields
  /// of the text, which it takes for an answer of the store's.
  private static func signedText(_ object: JSONValue) -> (text: String, signature: String)? {
    if let known = GoogleAnswer.signed(object) {
      let isMixed = ["purchaseState", "purchaseTimeMillis", "purchaseStateContext"].contains { object[$0] != nil }
      return isMixed ? known : nil
    }
    for pair in signed {
      guard let text = object[pair.text]?.string, let signature = object[pair.signature]?.string, !signature.isEmpty
      else { continue }
      return (text, signature)
    }
    return nil
  }

  /// A purchase of Google's without its signature: product and token, which the store can be asked about.
  private static func bareToken(_ object: JSONValue) -> JSONValue? {
    guard !GoogleAnswer.isToken(object),
      !["kind", "purchaseTimeMillis", "purchaseStateContext", "voidedTimeMillis", "http_status"].contains(where: {
        object[$0] != nil
      }),
      let token = tokens.lazy.compactMap({ object[$0]?.string }).first(where: { !$0.isEmpty }),
      let product = products.lazy.compactMap({ object[$0]?.string }).first(where: { !$0.isEmpty })
    else { return nil }
    let package = (object["packageName"] ?? object["packageNameAndroid"])?.string
    return .object(
      (package.map { [.init("packageName", .string($0))] } ?? [])
        + [.init("productId", .string(product)), .init("purchaseToken", .string(token))])
  }

  private static func refusal(_ object: JSONValue) -> VerificationError? {
    let send = "send the signed transaction of StoreKit, or Google's purchase with its signature or token"
    if object["event"]?["app_user_id"] != nil {
      return VerificationError(.unknownKind, "a webhook of RevenueCat, which no store has signed", remedy: send)
    }
    if object["subscriber"]?.members != nil {
      return VerificationError(.unknownKind, "customer info of RevenueCat, which no store has signed", remedy: send)
    }
    return nil
  }

  /// The app that a piece of signed evidence names, which is read and not verified.
  package static func app(in bytes: [UInt8], as kind: EvidenceKind) -> String? {
    if kind.store == .google {
      let answer = (try? JSONReader.read(bytes)).flatMap { try? GoogleAnswer($0) }
      return answer?.body["packageName"]?.string
    }
    guard let text = try? AppleFormat.compactJWS(in: bytes), let payload = try? CompactJWS(text).decodedPayload() else {
      return nil
    }
    return (payload["bundleId"] ?? payload["data"]?["bundleId"])?.string
  }

  private static func isJWS(_ text: String) -> Bool {
    text.utf8.starts(with: "eyJ".utf8) && text.utf8.count { $0 == UInt8(ascii: ".") } == 2
  }

  /// Base64 of a SEQUENCE whose length takes two bytes or more.
  private static func isReceipt(_ text: String) -> Bool {
    text.utf8.count > 256 && text.utf8.starts(with: "MI".utf8) && Base64.isAlphabet(text.utf8)
  }
}
