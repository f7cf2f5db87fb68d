/// The byte order mark that some programs, Windows' editors among them, write before UTF-8; it is not part of the text.
package enum UTF8Mark {
  /// U+FEFF in UTF-8.
  package static let bytes: [UInt8] = [0xef, 0xbb, 0xbf]

  /// The text without a byte order mark.
  package static func removed(from text: [UInt8]) -> [UInt8] {
    text.starts(with: bytes) ? Array(text.dropFirst(bytes.count)) : text
  }

  /// The text without a byte order mark; invalid UTF-8 becomes U+FFFD.
  package static func text(_ bytes: [UInt8]) -> String {
    String(decoding: bytes.starts(with: Self.bytes) ? bytes[Self.bytes.count...] : bytes[...], as: UTF8.self)
  }
}
