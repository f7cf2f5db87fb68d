import PurchaseLedger

/// Base64url as text.
enum Base64Text {
  /// Without padding.
  static func encodeURL(_ bytes: [UInt8]) -> String { String(decoding: Base64.encodeURL(bytes), as: UTF8.self) }
}
