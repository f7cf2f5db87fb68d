import NIOCore

/// The header fields of a plain request as they came, looked through when one is needed: most never are.
struct RawFields: Sendable {
  /// Lines that end with CRLF; checked by ``PlainRequest``.
  let lines: ByteBuffer

  /// The values of a field, in their order.
  ///
  /// - Parameter name: in small letters.
  /// - Complexity: O(bytes).
  func values(_ name: StaticString) -> [String] {
    lines.withUnsafeReadableBytes { bytes in
      name.withUTF8Buffer { name in
        var values: [String] = []
        var start = 0
        while start < bytes.count {
          let line = bytes[start...]
          let end = line.firstIndex(of: UInt8(ascii: "\r")) ?? bytes.count
          defer { start = end + 2 }
          guard start + name.count < end, bytes[start + name.count] == UInt8(ascii: ":"),
            zip(bytes[start..<(start + name.count)], name).allSatisfy({ $0 | 0x20 == $1 })
          else { continue }
          var value = bytes[(start + name.count + 1)..<end]
          while let first = value.first, first == 0x20 || first == 0x09 { value = value.dropFirst() }
          while let last = value.last, last == 0x20 || last == 0x09 { value = value.dropLast() }
          values.append(String(decoding: value, as: UTF8.self))
        }
        return values
      }
    }
  }
}
