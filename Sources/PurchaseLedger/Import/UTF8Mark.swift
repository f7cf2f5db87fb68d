/// The byte order mark that some programs put in front of UTF-8, where it says nothing and is no part of the text.
package enum UTF8Mark {
  static let bytes: [UInt8] = [0xef, 0xbb, 0xbf]

  /// The text without it.
  package static func removed(from text: [UInt8]) -> [UInt8] {
    text.starts(with: bytes) ? Array(text.dropFirst(bytes.count)) : text
  }
}
