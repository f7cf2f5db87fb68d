import Support

/// A strong entity tag (RFC 9110, section 8.8.3): a hash of the bytes, so that an unchanged tile keeps its tag when its
/// bundle is replaced.
struct EntityTag: Hashable, Sendable {
  private let hash: UInt64
  /// True for a vector tile that was unpacked: a representation of another coding must have another tag.
  private let isUnpacked: Bool

  init(hash: UInt64, isUnpacked: Bool = false) {
    self.hash = hash
    self.isUnpacked = isUnpacked
  }

  /// Sixteen hexadecimal digits in quotation marks.
  var text: String { withBytes { String(decoding: $0, as: UTF8.self) } }

  /// Hands the text's bytes to a closure.
  func withBytes<Result>(_ body: (UnsafeRawBufferPointer) -> Result) -> Result {
    withUnsafeTemporaryAllocation(of: UInt8.self, capacity: 20) { digits in
      var count = 0
      func put(_ byte: UInt8) {
        digits[count] = byte
        count += 1
      }
      put(UInt8(ascii: "\""))
      for shift in stride(from: UInt64(60), through: 0, by: -4) {
        let digit = UInt8(truncatingIfNeeded: hash >> shift & 15)
        put(digit < 10 ? digit + UInt8(ascii: "0") : digit - 10 + UInt8(ascii: "a"))
      }
      if isUnpacked {
        put(UInt8(ascii: "-"))
        put(UInt8(ascii: "i"))
      }
      put(UInt8(ascii: "\""))
      return body(UnsafeRawBufferPointer(UnsafeBufferPointer(rebasing: digits[..<count])))
    }
  }

  /// True when an If-None-Match field names the tag; the comparison is weak (section 13.1.2).
  func isNamed(in field: String) -> Bool { EntityTagList.matches(field, text) }
}
