#if canImport(FoundationEssentials)
  package import FoundationEssentials
#else
  package import Foundation
#endif

/// Writes the canonical bytes that are hashed (docs/reference/ledger-schema.md, Bytes that are hashed): integers
/// big-endian, text with its length.
package struct CanonicalEncoder: Sendable {
  package private(set) var bytes: [UInt8] = []

  package init(reserving count: Int = 256) { bytes.reserveCapacity(count) }

  package mutating func u8(_ value: UInt8) { bytes.append(value) }

  package mutating func u16(_ value: UInt16) { integer(value) }

  package mutating func u64(_ value: UInt64) { integer(value) }

  package mutating func i64(_ value: Int64) { integer(UInt64(bitPattern: value)) }

  package mutating func bool(_ value: Bool) { u8(value ? 1 : 0) }

  package mutating func text(_ value: String) {
    u64(UInt64(value.utf8.count))
    bytes.append(contentsOf: value.utf8)
  }

  package mutating func blob(_ value: some Collection<UInt8>) {
    u64(UInt64(value.count))
    bytes.append(contentsOf: value)
  }

  package mutating func id16(_ value: UUID) {
    withUnsafeBytes(of: value.uuid) { bytes.append(contentsOf: $0) }
  }

  /// Bytes of fixed length: keys, digests.
  package mutating func raw(_ value: some Collection<UInt8>) { bytes.append(contentsOf: value) }

  package mutating func optional<Value>(_ value: Value?, _ write: (inout Self, Value) -> Void) {
    guard let value else { return u8(0) }
    u8(1)
    write(&self, value)
  }

  private mutating func integer<Value: FixedWidthInteger>(_ value: Value) {
    withUnsafeBytes(of: value.bigEndian) { bytes.append(contentsOf: $0) }
  }
}

/// Reads what `CanonicalEncoder` wrote. Every read is checked, because the file may be damaged.
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

  /// - Throws: `Damaged` if bytes are left.
  func end() throws {
    guard position == bytes.count else { throw Damaged() }
  }
}
