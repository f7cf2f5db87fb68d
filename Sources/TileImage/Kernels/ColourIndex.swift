/// Finds the distinct colours of an image, up to 256, and gives every pixel its colour's number.
///
/// One instance per worker: it reuses the hash table.
final class ColourIndex {
  /// The colours as pixel words, in the order of their first appearance; the first `count` are valid.
  let colours: UnsafeMutablePointer<UInt32>
  private(set) var count = 0

  static let colourCountMax = 256
  private static let slotBits: UInt32 = 10
  /// Open addressing with a load factor of at most 1/4. A slot holds 0 when free, otherwise a colour's number plus 1.
  private let slots: UnsafeMutablePointer<UInt16>

  init() {
    colours = .allocate(capacity: Self.colourCountMax)
    colours.initialize(repeating: 0, count: Self.colourCountMax)
    slots = .allocate(capacity: 1 << Self.slotBits)
    slots.initialize(repeating: 0, count: 1 << Self.slotBits)
  }

  deinit {
    colours.deallocate()
    slots.deallocate()
  }

  /// Numbers `pixelCount` RGBA8 pixels.
  ///
  /// - Parameter indices: one byte per pixel: its colour's index in ``colours``.
  /// - Returns: false when there are more than 256 colours; the indices are then invalid.
  /// - Complexity: O(pixels). An image with many colours is abandoned after its first few hundred pixels.
  func number(_ pixels: UnsafeRawPointer, count pixelCount: Int, into indices: UnsafeMutablePointer<UInt8>) -> Bool {
    let colours = self.colours
    let slots = self.slots
    slots.update(repeating: 0, count: 1 << Self.slotBits)
    count = 0
    guard pixelCount > 0 else { return true }
    var found = 0
    // In images with few colours neighbours are mostly equal: a run costs one comparison per pixel.
    var last = ~pixels.loadUnaligned(as: UInt32.self)
    var index: UInt8 = 0
    for i in 0..<pixelCount {
      let colour = pixels.loadUnaligned(fromByteOffset: i &* 4, as: UInt32.self)
      if colour != last {
        last = colour
        var slot = Int(truncatingIfNeeded: (colour &* 0x9e37_79b1) &>> (32 &- Self.slotBits))
        while true {
          let number = Int(truncatingIfNeeded: slots[slot])
          if number == 0 {
            if found == Self.colourCountMax { return false }
            colours[found] = colour
            index = UInt8(truncatingIfNeeded: found)
            found &+= 1
            slots[slot] = UInt16(truncatingIfNeeded: found)
            break
          }
          if colours[number &- 1] == colour {
            index = UInt8(truncatingIfNeeded: number &- 1)
            break
          }
          slot = (slot &+ 1) & (1 << Int(Self.slotBits) &- 1)
        }
      }
      indices[i] = index
    }
    count = found
    return true
  }
}
