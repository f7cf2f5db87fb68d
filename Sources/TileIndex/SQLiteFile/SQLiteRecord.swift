/// The encoding of rows (SQLite's "Database File Format", section 2.1).
package enum SQLiteRecord {
  /// The bytes of a row's payload that lie on its leaf page in a table; the rest has pages of its own (section 1.6).
  ///
  /// - Parameter usableBytes: of a page.
  package static func localBytes(ofPayload payload: Int, usableBytes: Int) -> Int {
    let largest = usableBytes - 35
    guard payload > largest else { return payload }
    let smallest = (usableBytes - 12) * 32 / 255 - 23
    let rest = smallest + (payload - smallest) % (usableBytes - 4)
    return rest <= largest ? rest : smallest
  }

  /// The bytes of a number that is not negative.
  static func varintBytes(_ value: Int) -> Int {
    var (bytes, rest) = (1, value >> 7)
    while rest > 0 { (bytes, rest) = (bytes + 1, rest >> 7) }
    return bytes
  }

  /// Appends a number below 2^56 that is not negative, seven bits a byte, the first ones first.
  static func append(varint value: Int, to bytes: inout [UInt8]) {
    for index in (0..<varintBytes(value)).reversed() {
      bytes.append(UInt8(value >> (7 * index) & 0x7f) | (index > 0 ? 0x80 : 0))
    }
  }

  /// Reads a number that ``append(varint:to:)`` wrote, and advances behind it.
  static func varint(_ bytes: UnsafeRawBufferPointer, at offset: inout Int) -> Int {
    var value = 0
    while true {
      let byte = bytes[offset]
      offset += 1
      value = value << 7 | Int(byte & 0x7f)
      if byte < 0x80 { return value }
    }
  }

  /// Appends the head of a record and its integers, which are not negative; behind them comes its blob if it has one.
  ///
  /// - Parameters:
  ///   - startsWithNull: whether the first column is NULL, as an INTEGER PRIMARY KEY is stored.
  ///   - blobBytes: of the last column; nil without it.
  static func append(
    _ integers: [UInt32], startsWithNull: Bool = false, blobBytes: Int? = nil, to bytes: inout [UInt8]
  ) {
    let blobType = blobBytes.map { 2 * $0 + 12 }
    // The head has fewer than 128 bytes.
    bytes.append(UInt8(1 + (startsWithNull ? 1 : 0) + integers.count + (blobType.map(varintBytes) ?? 0)))
    if startsWithNull { bytes.append(0) }
    for value in integers { bytes.append(type(value)) }
    if let blobType { append(varint: blobType, to: &bytes) }
    for value in integers {
      for index in (0..<size(value)).reversed() {
        bytes.append(UInt8(truncatingIfNeeded: UInt64(value) >> (8 * index)))
      }
    }
  }

  private static func type(_ value: UInt32) -> UInt8 {
    switch value {
    case 0: 8
    case 1: 9
    case ..<0x80: 1
    case ..<0x8000: 2
    case ..<0x80_0000: 3
    case ..<0x8000_0000: 4
    default: 5
    }
  }

  private static func size(_ value: UInt32) -> Int {
    switch value {
    case 0...1: 0
    case ..<0x80: 1
    case ..<0x8000: 2
    case ..<0x80_0000: 3
    case ..<0x8000_0000: 4
    default: 6
    }
  }
}
