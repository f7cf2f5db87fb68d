import Crypto
import Foundation

/// The unique key of an event: the first 16 bytes of a SHA-256, as two integers, which hash and compare faster.
struct EventKey: Sendable, Hashable {
  private var high: UInt64
  private var low: UInt64

  init(type: EventType, fields: [UInt8]) {
    var hasher = SHA256()
    let type = [UInt8(type.rawValue >> 8), UInt8(truncatingIfNeeded: type.rawValue)]
    hasher.update(data: type)
    hasher.update(data: fields)
    (high, low) = hasher.finalize().withUnsafeBytes {
      ($0.loadUnaligned(as: UInt64.self), $0.loadUnaligned(fromByteOffset: 8, as: UInt64.self))
    }
  }

  var bytes: [UInt8] {
    withUnsafeBytes(of: high) { high in withUnsafeBytes(of: low) { low in [UInt8](high) + [UInt8](low) } }
  }
}

/// The head of the chain: each event's hash covers the one before it.
struct EventChain: Sendable {
  private(set) var seq: Int64
  private(set) var hash: [UInt8]

  /// hash[0].
  static let genesis = [UInt8](SHA256.hash(data: Array("map-toolkit purchase ledger 1".utf8)))

  init(seq: Int64 = 0, hash: [UInt8] = genesis) {
    self.seq = seq
    self.hash = hash
  }

  /// The hash that an event behind this head has.
  func next(
    type: UInt16, version: UInt16, recordedAt: Int64, key: [UInt8], evidence: [UInt8]?, body: [UInt8]
  ) -> [UInt8] {
    var encoder = CanonicalEncoder(reserving: 128 + body.count)
    encoder.raw(hash)
    encoder.i64(seq &+ 1)
    encoder.u16(type)
    encoder.u16(version)
    encoder.i64(recordedAt)
    encoder.raw(key)
    encoder.optional(evidence) { $0.raw($1) }
    encoder.blob(body)
    return [UInt8](SHA256.hash(data: encoder.bytes))
  }

  /// The hash that a row selected as `LedgerEvent.columns` has behind this head.
  func next(_ row: borrowing SQLStatement) -> [UInt8] {
    next(
      type: UInt16(truncatingIfNeeded: row.int(1)), version: UInt16(truncatingIfNeeded: row.int(2)),
      recordedAt: row.int(3), key: row.blob(4), evidence: row.optionalBlob(5), body: row.blob(6))
  }

  mutating func advance(to hash: [UInt8]) {
    seq &+= 1
    self.hash = hash
  }

  /// Goes on over a row selected as `LedgerEvent.columns`, from the number and hash that it has: one changed row breaks
  /// the chain once.
  ///
  /// - Returns: Whether its number follows this head's, and whether its hash follows from it and the one before.
  mutating func advance(over row: borrowing SQLStatement) -> (isNext: Bool, isChained: Bool) {
    let isNext = row.int(0) == seq &+ 1
    seq = row.int(0) &- 1
    let stored = row.blob(7)
    let isChained = next(row) == stored
    advance(to: stored)
    return (isNext, isChained)
  }
}
