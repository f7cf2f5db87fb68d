#if canImport(Darwin)
  import Foundation
#else
  import CUnistring
  import LibC
#endif

/// Forms of text in which what looks alike is alike.
///
/// Foundation's own come with 34 MB of locale data; Apple's platforms have them anyway.
enum UnicodeForm {
  /// Normalisation form KC (Unicode Standard Annex 15). Stored logins and hashed passwords have it, and it never
  /// changes for characters that have been assigned.
  static func nfkc(_ text: String) -> String {
    #if canImport(Darwin)
      text.precomposedStringWithCompatibilityMapping
    #else
      guard !text.utf8.allSatisfy({ $0 < 0x80 }) else { return text }
      var text = text
      return text.withUTF8 { bytes in
        var count = 0
        // Swift's strings are valid UTF-8, so that only a lack of memory is left as a reason.
        guard let form = u8_normalize(cunistring_nfkc(), bytes.baseAddress, bytes.count, nil, &count) else {
          fatalError("there is no memory to normalise a text")
        }
        defer { free(form) }
        return String(decoding: UnsafeBufferPointer(start: form, count: count), as: UTF8.self)
      }
    #endif
  }
}

extension String {
  /// Without white space, line ends and zero width spaces at both ends, which come along when people paste.
  func trimmingWhitespace() -> String {
    func isSpace(_ scalar: Unicode.Scalar) -> Bool { scalar.properties.isWhitespace || scalar == "\u{200B}" }
    let scalars = unicodeScalars
    guard let first = scalars.firstIndex(where: { !isSpace($0) }), let last = scalars.lastIndex(where: { !isSpace($0) })
    else { return "" }
    return String(scalars[first...last])
  }
}
