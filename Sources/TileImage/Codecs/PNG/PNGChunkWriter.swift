import CDeflate

/// Writes the chunks of a PNG file into memory of sufficient size, which the caller provides.
struct PNGChunkWriter {
  let bytes: UnsafeMutableRawPointer
  private(set) var count = 0

  /// The size of signature and IHDR. Every further chunk takes ``chunkOverhead`` and its data.
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

  /// Counts bytes that were written at ``next`` directly.
  mutating func advance(by byteCount: Int) { count += byteCount }

  /// The address of the next byte.
  var next: UnsafeMutableRawPointer { bytes + count }

  /// Starts a chunk. ``end(_:)`` fills in its length and checksum.
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

/// Compresses bytes into zlib streams (RFC 1950).
protocol ZlibCompressor {
  /// The upper bound for the stream of `count` input bytes.
  func byteCountMax(_ count: Int) -> Int

  /// - Parameter capacity: of the output; ``byteCountMax(_:)`` is always enough.
  /// - Returns: the stream's size in bytes, or 0 when `capacity` is too small.
  func compress(
    _ input: UnsafeRawPointer, count: Int, into output: UnsafeMutableRawPointer, capacity: Int
  ) -> Int
}

/// A libdeflate compressor. It is reused, because creating one costs more than compressing a small tile.
final class Deflater: ZlibCompressor {
  private let compressor: OpaquePointer

  /// - Parameter level: 1 (fastest) to 12 (smallest).
  /// - Throws: ``ImageError`` `encodingFailed` when memory for it cannot be allocated.
  init(level: Int) throws(ImageError) {
    precondition((1...12).contains(level), "libdeflate has levels 1 to 12")
    guard let compressor = libdeflate_alloc_compressor(Int32(level)) else {
      throw ImageError(.encodingFailed, "no memory for a compressor")
    }
    self.compressor = compressor
  }

  deinit { libdeflate_free_compressor(compressor) }

  func byteCountMax(_ count: Int) -> Int { libdeflate_zlib_compress_bound(compressor, count) }

  func compress(
    _ input: UnsafeRawPointer, count: Int, into output: UnsafeMutableRawPointer, capacity: Int
  ) -> Int {
    libdeflate_zlib_compress(compressor, input, count, output, capacity)
  }

  /// The CRC-32 of PNG and gzip.
  static func crc32(_ bytes: UnsafeRawPointer, count: Int) -> UInt32 { libdeflate_crc32(0, bytes, count) }
}
