/// The JSON Lines wrapper `{"account", "evidence", ...}` (docs/ledger.md, The command).
struct EvidenceWrapper {
  var account: String?
  /// The text that `evidence` is, or its JSON with the bytes that stand there.
  var evidence: [UInt8]
  var format: String?
  var isExplicit: Bool
  var context: EvidenceContext

  /// Nil for what is no wrapper.
  ///
  /// - Complexity: O(bytes). JSON inside is passed over, not read: whoever verifies it does that.
  init?(_ bytes: [UInt8]) {
    guard bytes.first(where: { $0 > 0x20 }) == UInt8(ascii: "{"),
      let members = try? JSONReader.members(bytes[...]),
      let place = members.first(where: { $0.name == "evidence" })?.value
    else { return nil }
    let isText = bytes[place.lowerBound] == UInt8(ascii: "\"")
    var others: [JSONValue.Member] = []
    for member in members where isText || member.name != "evidence" {
      guard let value = try? JSONReader.read(bytes[member.value]) else { return nil }
      others.append(.init(name: member.name, value: value))
    }
    let fields = JSONValue.object(others)
    if isText {
      guard let text = fields["evidence"]?.string else { return nil }
      evidence = Array(text.utf8)
    } else {
      evidence = Array(bytes[place])
      if evidence.elementsEqual("null".utf8) { return nil }
    }
    account = fields["account"]?.identifier
    format = fields["format"]?.string
    isExplicit = fields["intent"]?.string != "refresh"
    context = EvidenceContext(
      productID: fields["productId"]?.identifier, purchaseToken: fields["purchaseToken"]?.identifier,
      packageName: fields["packageName"]?.identifier,
      environment: fields["environment"]?.string.map(StoreEnvironment.init(storeText:)))
  }
}
