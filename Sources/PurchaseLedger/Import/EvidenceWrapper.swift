/// The JSON Lines wrapper `{"account", "evidence", ...}` (docs/ledger.md, The command).
struct EvidenceWrapper {
  var account: String?
  var evidence: [UInt8]
  var format: String?
  var isExplicit: Bool
  var context: EvidenceContext

  /// Nil for what is no wrapper.
  init?(_ bytes: [UInt8]) {
    guard bytes.first(where: { $0 > 0x20 }) == UInt8(ascii: "{"), let value = try? JSONReader.read(bytes),
      let evidence = value["evidence"]
    else { return nil }
    account = value["account"]?.identifier
    self.evidence = Array((evidence.string ?? evidence.text).utf8)
    format = value["format"]?.string
    isExplicit = value["intent"]?.string != "refresh"
    context = EvidenceContext(
      productID: value["productId"]?.identifier, purchaseToken: value["purchaseToken"]?.identifier,
      packageName: value["packageName"]?.identifier,
      environment: value["environment"]?.string.map(StoreEnvironment.init(storeText:)))
  }
}
