package import MapStoreWire
import PurchaseLedger

extension ListedPrice {
  /// - Parameters:
  ///   - amount: digits with a decimal point; missing decimals of the currency are filled with zeros.
  ///   - currency: a code of ISO 4217.
  /// - Throws: ``Fault``.
  package init(checking amount: String, _ currency: String, taxNote: String?) throws(Fault) {
    guard Money(milliunits: 0, currency: currency).namesCurrency else {
      throw Fault(
        "\"\(currency)\" is not a currency of ISO 4217", remedy: "give its code of three letters in upper case: EUR")
    }
    let parts = amount.split(separator: ".", omittingEmptySubsequences: false)
    let areDigits = parts.allSatisfy { !$0.isEmpty && $0.utf8.allSatisfy { (0x30...0x39).contains($0) } }
    guard (1...2).contains(parts.count), areDigits, parts[0].utf8.count <= 12 else {
      throw Fault("\"\(amount)\" is not a price", remedy: "give digits with a decimal point: 4.99")
    }
    let (decimals, count) = (parts.count == 2 ? parts[1] : "", Self.decimals(of: currency))
    guard decimals.utf8.count <= count else {
      throw Fault(
        "\"\(amount)\" has \(decimals.utf8.count) decimals, and \(currency) has \(count)",
        remedy: "give at most \(count) digits after the point")
    }
    let filled = decimals + String(repeating: "0", count: count - decimals.utf8.count)
    self.init(amount: filled.isEmpty ? String(parts[0]) : "\(parts[0]).\(filled)", currency: currency, taxNote: taxNote)
  }

  package struct Fault: Error {
    package let message: String
    package let remedy: String

    package init(_ message: String, remedy: String) { (self.message, self.remedy) = (message, remedy) }
  }

  /// The digits of the minor unit (ISO 4217, list one).
  static func decimals(of currency: String) -> Int {
    if withoutDecimals.contains(currency) { return 0 }
    if withThree.contains(currency) { return 3 }
    return ["CLF", "UYW"].contains(currency) ? 4 : 2
  }

  private static let withoutDecimals: Set = [
    "BIF", "CLP", "DJF", "GNF", "ISK", "JPY", "KMF", "KRW", "PYG", "RWF", "UGX", "UYI", "VND", "VUV", "XAF", "XOF",
    "XPF",
  ]
  private static let withThree: Set = ["BHD", "IQD", "JOD", "KWD", "LYD", "OMR", "TND"]
}
