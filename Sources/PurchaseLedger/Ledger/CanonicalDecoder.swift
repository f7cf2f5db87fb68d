import Foundation

/// Reads what `CanonicalEncoder` wrote. Bytes come from our own file, which may be damaged: everything is checked.
struct CanonicalDecoder {
  struct Damaged: Error {}

  private let bytes: [UInt8]
  private var position = 0

  init(_ bytes: [UInt8]) { self.bytes = bytes }

  mutating func u8() throws -> UInt8 {
    guard position < bytes.count else { throw Damaged() }
    defer { position += 1 }
    return bytes[position]
  }

  mutating func u16() throws -> UInt16 { UInt16(try u8()) << 8 | UInt16(try u8()) }

  mutating func u64() throws -> UInt64 {
    guard bytes.count - position >= 8 else { throw Damaged() }
    defer { position += 8 }
    return bytes.withUnsafeBytes { UInt64(bigEndian: $0.loadUnaligned(fromByteOffset: position, as: UInt64.self)) }
  }

  mutating func i64() throws -> Int64 { Int64(bitPattern: try u64()) }

  mutating func bool() throws -> Bool { try u8() != 0 }

  mutating func text() throws -> String {
    let count = try u64()
    guard count <= UInt64(bytes.count - position) else { throw Damaged() }
    defer { position += Int(count) }
    return String(decoding: bytes[position..<position + Int(count)], as: UTF8.self)
  }

  mutating func id16() throws -> UUID {
    guard bytes.count - position >= 16 else { throw Damaged() }
    defer { position += 16 }
    return bytes.withUnsafeBytes { UUID(uuid: $0.loadUnaligned(fromByteOffset: position, as: uuid_t.self)) }
  }

  mutating func optional<Value>(_ read: (inout Self) throws -> Value) throws -> Value? {
    try u8() == 0 ? nil : try read(&self)
  }

  mutating func key() throws -> TransactionKey {
    guard let store = Store(code: try u8()), let environment = StoreEnvironment(code: try u8()) else { throw Damaged() }
    return TransactionKey(store: store, environment: environment, id: try text())
  }

  var isAtEnd: Bool { position == bytes.count }

  /// Everything was read.
  func end() throws {
    guard position == bytes.count else { throw Damaged() }
  }
}
