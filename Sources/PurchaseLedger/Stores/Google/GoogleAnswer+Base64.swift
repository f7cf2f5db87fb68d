import Foundation

extension GoogleAnswer {
  /// Either alphabet, with or without padding and white space.
  static func base64(_ text: String) -> [UInt8]? {
    var text = text.filter { !$0.isWhitespace && $0 != "=" }
    text = text.replacingOccurrences(of: "-", with: "+").replacingOccurrences(of: "_", with: "/")
    text += String(repeating: "=", count: (4 - text.utf8.count % 4) % 4)
    return Data(base64Encoded: text).map { Array($0) }
  }
}
