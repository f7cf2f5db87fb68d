/// Writes a PNG file's chunks into memory that the caller has measured.
struct PNGChunkWriter {
  let bytes: UnsafeMutableRawPointer
  private(set) var count = 0

  /// The signature and IHDR take this much; every further chunk ``chunkOverhead`` and its data.
  static let headerBytes = 8 + chunkOverhead + 13
  static let chunkOverhead = 12
  /// PLTE and tRNS with 256 entries each.
  static let paletteBytesMax = 2 * chunkOverhead + 256 * 4

  /// Starts a file with its signature and IHDR.
  init(_ bytes: UnsafeMutableRawPointer, width: Int, height: Int, form: PNGForm) {
    self.bytes = bytes
    for byte: UInt8 in [0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a] { put(byte) }
    let ihdr = begin("IHDR")
    put(UInt32(width))
    put(UInt32(height))
    put(form.bitDepth)
    put(form.colourType)
    // Deflate, the five adaptive filters, not interlaced.
    for _ in 0..<3 { put(UInt8(0)) }
    end(ihdr)
  }

  mutating func put(_ byte: UInt8) {
    bytes.storeBytes(of: byte, toByteOffset: count, as: UInt8.self)
    count += 1
  }

  mutating func put(_ value: UInt32) {
    bytes.storeBytes(of: value.bigEndian, toByteOffset: count, as: UInt32.self)
    count += 4
  }

  /// Counts bytes that were written at ``next`` by someone else.
  mutating func advance(by byteCount: Int) { count += byteCount }

  /// Where the next byte goes.
  var next: UnsafeMutableRawPointer { bytes + count }

  /// Starts a chunk; its length and checksum are filled in by ``end(_:)``.
  mutating func begin(_ type: StaticString) -> Int {
    let start = count
    count += 4
    next.copyMemory(from: type.utf8Start, byteCount: 4)
    count += 4
    return start
  }

  mutating func end(_ start: Int) {
    let length = UInt32(count - start - 8)
    bytes.storeBytes(of: length.bigEndian, toByteOffset: start, as: UInt32.self)
    put(Deflater.crc32(bytes + start + 4, count: count - start - 4))
  }

  mutating func writePalette(_ palette: PNGPalette) {
    let plte = begin("PLTE")
    for colour in palette.colours {
      for shift: UInt32 in [0, 8, 16] { put(UInt8(truncatingIfNeeded: colour >> shift)) }
    }
    end(plte)
    guard palette.translucentCount > 0 else { return }
    let trns = begin("tRNS")
    for colour in palette.colours.prefix(palette.translucentCount) { put(UInt8(colour >> 24)) }
    end(trns)
  }

  mutating func finish() {
    end(begin("IEND"))
  }
}
