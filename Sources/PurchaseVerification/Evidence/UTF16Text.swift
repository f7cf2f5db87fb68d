/// Turns UTF-16 with a byte order mark, as PowerShell writes it, into UTF-8, chunk by chunk.
package struct UTF16Text {
  private let isBigEndian: Bool
  /// Half a unit, and the first half of a pair, which wait for the next chunk.
  private var rest: [UInt8] = []
  private var isAtStart = true

  /// Nil for a text that does not begin with the mark.
  package init?(_ start: some Collection<UInt8>) {
    if start.starts(with: [0xff, 0xfe]) {
      isBigEndian = false
    } else if start.starts(with: [0xfe, 0xff]) {
      isBigEndian = true
    } else {
      return nil
    }
  }

  /// The next chunk in UTF-8, without the mark; half of a pair becomes U+FFFD.
  package mutating func utf8(_ chunk: [UInt8]) -> [UInt8] {
    let bytes = rest + chunk
    var units = stride(from: 0, to: bytes.count - bytes.count % 2, by: 2).map {
      UInt16(bytes[isBigEndian ? $0 : $0 + 1]) << 8 | UInt16(bytes[isBigEndian ? $0 + 1 : $0])
    }
    if let last = units.last, UTF16.isLeadSurrogate(last) { units.removeLast() }
    rest = Array(bytes[(units.count * 2)...])
    let text = isAtStart && !units.isEmpty ? units[1...] : units[...]
    isAtStart = isAtStart && units.isEmpty
    return Array(String(decoding: text, as: UTF16.self).utf8)
  }
}
