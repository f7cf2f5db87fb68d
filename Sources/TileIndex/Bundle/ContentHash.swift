import LibC

/// A fast 64-bit hash of a tile's bytes, the same on every machine and in every run. Not collision-resistant: equal
/// hashes are always followed by a comparison.
package enum ContentHash {
  // Odd constants with about half of their bits set, from the digits of pi.
  private static let keys: (UInt64, UInt64, UInt64, UInt64) = (
    0x243f_6a88_85a3_08d3, 0x1319_8a2e_0370_7345, 0xa409_3822_299f_31d1, 0x082e_fa98_ec4e_6c89
  )

  /// - Complexity: O(bytes), about 0.1 ns a byte.
  package static func hash(_ bytes: UnsafeRawBufferPointer) -> UInt64 {
    let count = bytes.count
    guard count > 0, let start = bytes.baseAddress else { return mix(keys.0, keys.3) }
    // Four lanes of 16 bytes overlap their multiplications.
    var a = keys.0 ^ UInt64(truncatingIfNeeded: count)
    var b = keys.1
    var offset = 0
    if count >= 64 {
      var c = keys.2
      var d = keys.3
      while offset &+ 64 <= count {
        a = mix(word(start, offset) ^ keys.2, word(start, offset &+ 8) ^ a)
        b = mix(word(start, offset &+ 16) ^ keys.3, word(start, offset &+ 24) ^ b)
        c = mix(word(start, offset &+ 32) ^ keys.0, word(start, offset &+ 40) ^ c)
        d = mix(word(start, offset &+ 48) ^ keys.1, word(start, offset &+ 56) ^ d)
        offset &+= 64
      }
      a = mix(a ^ keys.1, c)
      b = mix(b ^ keys.0, d)
    }
    while offset &+ 8 <= count {
      a = mix(word(start, offset) ^ keys.2, a)
      offset &+= 8
    }
    var tail: UInt64 = 0
    while offset < count {
      tail = tail << 8 | UInt64(bytes[offset])
      offset &+= 1
    }
    return mix(mix(a ^ tail, keys.3), b ^ keys.2)
  }

  /// The number of different hashes. Sorting in place needs far less memory than a set.
  static func distinctCount(_ hashes: consuming [UInt64]) -> Int {
    var hashes = hashes
    hashes.sort()
    return zip(hashes, hashes.dropFirst()).reduce(hashes.isEmpty ? 0 : 1) { $0 + ($1.0 == $1.1 ? 0 : 1) }
  }

  @inline(__always) private static func word(_ start: UnsafeRawPointer, _ offset: Int) -> UInt64 {
    UInt64(littleEndian: start.loadUnaligned(fromByteOffset: offset, as: UInt64.self))
  }

  /// Both halves of the 128-bit product, folded.
  @inline(__always) private static func mix(_ a: UInt64, _ b: UInt64) -> UInt64 {
    let product = a.multipliedFullWidth(by: b)
    return product.low ^ product.high
  }
}

extension UnsafeRawBufferPointer {
  /// True when both hold the same bytes. `elementsEqual` would compare byte by byte.
  func isSame(as other: UnsafeRawBufferPointer) -> Bool {
    guard count == other.count else { return false }
    guard count > 0, let a = baseAddress, let b = other.baseAddress else { return true }
    return memcmp(a, b, count) == 0
  }
}

/// Maps content hashes to the places of stored images, in bounded memory: 8 bytes a slot, at most ``slotsMax`` slots.
///
/// A place is a number by which the caller finds the image, or a few among which it is. Open addressing with linear
/// probing: a slot holds 32 bits of the hash, the place and whether the image was ever found again. The caller compares
/// bytes, so a false match costs a comparison, and a forgotten image costs only disk space.
///
/// When the table is full, a new image replaces one that was never found again, so that frequent tiles (open sea) stay
/// and single tiles pass through. The state depends only on the sequence of calls: equal sequences give equal bundles.
struct DuplicateTable {
  /// 2^21 slots are 16 MiB; growing to that size takes 24 MiB for a moment.
  static let slotsMax = 1 << 21

  private struct Slot {
    var fingerprint: UInt32 = 0
    /// In the low 31 bits, 0 for an empty slot; the top bit marks an image that was found again.
    var place: UInt32 = 0
  }

  private static let sharedBit: UInt32 = 1 << 31
  private let slotsMax: Int
  private var slots: [Slot]
  private(set) var count = 0

  init(slotsMax: Int = DuplicateTable.slotsMax) {
    precondition(slotsMax >= 8 && slotsMax & (slotsMax - 1) == 0, "the number of slots is a power of 2")
    self.slotsMax = slotsMax
    slots = Array(repeating: Slot(), count: min(slotsMax, 1 << 10))
  }

  /// The place of the first known image with this hash that `isSame` accepts; it then stays in the table.
  mutating func find(_ hash: UInt64, isSame: (Int) throws -> Bool) rethrows -> Int? {
    let fingerprint = Self.fingerprint(hash)
    var index = home(fingerprint)
    while slots[index].place != 0 {
      if slots[index].fingerprint == fingerprint {
        let place = Int(slots[index].place & ~Self.sharedBit)
        if try isSame(place) {
          slots[index].place |= Self.sharedBit
          return place
        }
      }
      index = (index + 1) & (slots.count - 1)
    }
    return nil
  }

  /// Adds an image that ``find(_:isSame:)`` did not find. Places beyond 2^31 are not kept.
  mutating func insert(_ hash: UInt64, place: Int) {
    guard place > 0, place < Int(Self.sharedBit) else { return }
    let slot = Slot(fingerprint: Self.fingerprint(hash), place: UInt32(place))
    if count * 4 >= slots.count * 3 {
      if slots.count < slotsMax {
        grow()
      } else {
        // Overwriting an occupied slot keeps every probe chain intact.
        let index = home(slot.fingerprint)
        if slots[index].place != 0, slots[index].place & Self.sharedBit == 0 { slots[index] = slot }
        return
      }
    }
    add(slot)
    count += 1
  }

  private mutating func add(_ slot: Slot) {
    var index = home(slot.fingerprint)
    while slots[index].place != 0 { index = (index + 1) & (slots.count - 1) }
    slots[index] = slot
  }

  private mutating func grow() {
    let old = slots
    slots = Array(repeating: Slot(), count: old.count * 2)
    for slot in old where slot.place != 0 { add(slot) }
  }

  private static func fingerprint(_ hash: UInt64) -> UInt32 { UInt32(truncatingIfNeeded: hash >> 32) }
  private func home(_ fingerprint: UInt32) -> Int { Int(fingerprint) & (slots.count - 1) }
}
