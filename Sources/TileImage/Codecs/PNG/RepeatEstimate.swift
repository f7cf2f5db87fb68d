/// Estimates what a search for repeats would save of filtered rows, from an eighth of them.
final class RepeatEstimate {
  /// Bits of a length and of the class of a distance, about as codes have them.
  private static let repeatBits = 11

  /// Where four bytes with a hash were last.
  private let places: UnsafeMutablePointer<UInt32>
  private static let hashBits: UInt32 = 12

  init() { places = .allocate(capacity: 1 << Self.hashBits) }

  deinit { places.deallocate() }

  /// The share of bits that repeats of four bytes or more save in bands of rows, of what they take with a Huffman code
  /// alone. libdeflate's level 1 saves about as much of the whole (correlation 0.9 on 311 tiles of imagery).
  ///
  /// - Parameter data: `height` rows of `rowBytes` bytes.
  /// - Complexity: about 0.1 ms for a tile of 256 x 256 pixels.
  func share(_ data: UnsafeRawPointer, height: Int, rowBytes: Int) -> Double {
    let bands = PNGScanlines.bands(of: data, height: height, rowBytes: rowBytes, bandRows: max(height / 32, 1))
    var frequencies = [UInt32](repeating: 0, count: 256)
    for band in bands { for byte in band { frequencies[Int(byte)] += 1 } }
    let lengths = PrefixCode(frequencies: frequencies, lengthMax: 14).lengths
    let bits = frequencies.indices.reduce(0) { $0 + Int(frequencies[$1]) * Int(lengths[$1]) }
    places.update(repeating: .max, count: 1 << Self.hashBits)
    let saved = lengths.withUnsafeBufferPointer { lengths in
      bands.reduce(0) { $0 + bitsSaved(of: $1, in: data, lengths: lengths.baseAddress!) }
    }
    return Double(saved) / Double(max(bits, 1))
  }

  private func bitsSaved(
    of band: UnsafeRawBufferPointer, in data: UnsafeRawPointer, lengths: UnsafePointer<UInt8>
  ) -> Int {
    let places = places
    let first = band.baseAddress! - data
    let end = first &+ band.count
    var (position, saved) = (first, 0)
    while position &+ 4 <= end {
      let four = data.loadUnaligned(fromByteOffset: position, as: UInt32.self)
      let hash = Int((four &* 0x9e37_79b1) &>> (32 &- Self.hashBits))
      let place = places[hash]
      places[hash] = UInt32(truncatingIfNeeded: position)
      guard place != .max, data.loadUnaligned(fromByteOffset: Int(place), as: UInt32.self) == four else {
        // Longer repeats are found from any of their bytes.
        position &+= 2
        continue
      }
      let earlier = Int(place)
      var length = 0
      var bits = 0
      while position &+ length < end {
        let byte = data.load(fromByteOffset: position &+ length, as: UInt8.self)
        guard byte == data.load(fromByteOffset: earlier &+ length, as: UInt8.self) else { break }
        bits &+= Int(lengths[Int(byte)])
        length &+= 1
      }
      let cost = Self.repeatBits &+ (Int.bitWidth &- (position &- earlier).leadingZeroBitCount)
      saved &+= max(bits &- cost, 0)
      position &+= length
    }
    return saved
  }
}
