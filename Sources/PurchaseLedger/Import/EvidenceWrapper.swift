import Support

/// The JSON Lines wrapper `{"account", "evidence", ...}` (docs/ledger.md, The command).
///
/// It is the operator's own writing, so whatever in it is not understood is refused by its name: a typing error must not book something else than was meant.
struct EvidenceWrapper {
  var account: String?
  /// The text that `evidence` is, or its JSON with the bytes that stand there.
  var evidence: [UInt8]
  var kind: EvidenceKind?
  var isExplicit = true
  var context = EvidenceContext()

  private static let names = [
    "account", "environment", "evidence", "format", "intent", "packageName", "productId", "purchaseToken",
  ]

  /// Nil for what is no wrapper: what has no member `evidence`.
  ///
  /// - Complexity: O(bytes). JSON inside is passed over, not read: whoever verifies it does that.
  /// - Throws: `Refusal` that names the member that is not known, is there twice, or has a value that is none.
  init?(_ bytes: [UInt8]) throws(Refusal) {
    guard bytes.first(where: { $0 > 0x20 }) == UInt8(ascii: "{"),
      let members = try? JSONReader.members(bytes[...]),
      let place = members.first(where: { $0.name == "evidence" })?.value
    else { return nil }
    for (index, member) in members.enumerated() {
      guard Self.names.contains(member.name) else { throw Self.unknown("member", member.name, Self.names) }
      guard !members[..<index].contains(where: { $0.name == member.name }) else {
        throw Refusal(.malformed, "the line has \"\(member.name)\" twice; leave one of them")
      }
    }
    evidence = Array(bytes[place])
    if evidence.elementsEqual("null".utf8) { return nil }
    for (name, place) in members where name != "evidence" || evidence.first == UInt8(ascii: "\"") {
      let value: JSONValue
      do { value = try JSONReader.read(bytes[place]) } catch {
        throw Refusal(.malformed, "\"\(name)\" of the line is not JSON: \(error.message)")
      }
      // Programs write null for what they do not have.
      if value != .null { try take(name, value) }
    }
  }

  private mutating func take(_ name: String, _ value: JSONValue) throws(Refusal) {
    guard let text = value.identifier else {
      throw Refusal(.malformed, "\"\(name)\" of the line must be a text in quotation marks")
    }
    switch name {
    case "account": account = text
    case "evidence": evidence = Array(text.utf8)
    case "productId": context.productID = text
    case "purchaseToken": context.purchaseToken = text
    case "packageName": context.packageName = text
    case "intent":
      guard ["restore", "refresh"].contains(text) else { throw Self.unknown(name, text, ["restore", "refresh"]) }
      isExplicit = text == "restore"
    case "format":
      kind = EvidenceKind(name: text)
      guard kind != nil else { throw Self.unknown(name, text, EvidenceKind.allCases.map(\.name)) }
    default:
      let environment = StoreEnvironment(storeText: text)
      guard environment.code != nil else { throw Self.unknown(name, text, ["Production", "Sandbox"]) }
      context.environment = environment
    }
  }

  private static func unknown(_ what: String, _ text: String, _ known: [String]) -> Refusal {
    Refusal(
      .malformed, "\(what) \"\(text.prefix(40))\" of the line is not known; there are \(known.joined(separator: ", "))")
  }
}
