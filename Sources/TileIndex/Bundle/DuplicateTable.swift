/// Remembers which image had which content hash, in bounded memory: 8 bytes a slot, at most ``slotsMax`` slots.
///
/// Open addressing with linear probing. A slot holds 32 bits of the hash, the image's id and whether it was ever found again.
/// The caller compares bytes, so a false match costs a comparison and a forgotten image costs only its place on the disk.
///
/// Once full, a new image takes the place of one that was never found again, so that the sea stays known while single tiles pass through.
/// Everything is a function of the sequence of calls: equal sequences give equal bundles.
struct DuplicateTable {
  /// 2^21 slots are 16 MiB; growing to them holds 24 for a moment.
  static let slotsMax = 1 << 21

  private struct Slot {
    var fingerprint: UInt32 = 0
    /// Image id in the low 31 bits, 0 for an empty slot; the top bit says that it was found again.
    var image: UInt32 = 0
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

  /// The first remembered image of this hash that `isSame` accepts; it is then kept for good.
  mutating func find(_ hash: UInt64, isSame: (Int) throws -> Bool) rethrows -> Int? {
    let fingerprint = Self.fingerprint(hash)
    var index = home(fingerprint)
    while slots[index].image != 0 {
      if slots[index].fingerprint == fingerprint {
        let image = Int(slots[index].image & ~Self.sharedBit)
        if try isSame(image) {
          slots[index].image |= Self.sharedBit
          return image
        }
      }
      index = (index + 1) & (slots.count - 1)
    }
    return nil
  }

  /// Remembers an image that ``find(_:isSame:)`` did not find. Ids beyond 2^31 are not remembered.
  mutating func insert(_ hash: UInt64, image: Int) {
    guard image > 0, image < Int(Self.sharedBit) else { return }
    let slot = Slot(fingerprint: Self.fingerprint(hash), image: UInt32(image))
    if count * 4 >= slots.count * 3 {
      if slots.count < slotsMax {
        grow()
      } else {
        // Overwriting a taken slot leaves every probe chain whole.
        let index = home(slot.fingerprint)
        if slots[index].image != 0, slots[index].image & Self.sharedBit == 0 { slots[index] = slot }
        return
      }
    }
    place(slot)
    count += 1
  }

  private mutating func place(_ slot: Slot) {
    var index = home(slot.fingerprint)
    while slots[index].image != 0 { index = (index + 1) & (slots.count - 1) }
    slots[index] = slot
  }

  private mutating func grow() {
    let old = slots
    slots = Array(repeating: Slot(), count: old.count * 2)
    for slot in old where slot.image != 0 { place(slot) }
  }

  private static func fingerprint(_ hash: UInt64) -> UInt32 { UInt32(truncatingIfNeeded: hash >> 32) }
  private func home(_ fingerprint: UInt32) -> Int { Int(fingerprint) & (slots.count - 1) }
}
