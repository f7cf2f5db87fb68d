package import Foundation

/// Writes the bytes that are hashed (docs/ledger.md, Bytes that are hashed): integers big-endian, text with its length.
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

  /// Bytes whose number the format fixes: keys, digests.
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
