import CDeflate

/// A libdeflate compressor, kept for a worker's whole life: making one costs more than compressing a small tile.
final class Deflater {
  private let compressor: OpaquePointer

  /// - Parameter level: 1 (fastest) to 12 (smallest).
  /// - Throws: ``ImageError`` `encodingFailed` when there is no memory for it.
  init(level: Int) throws(ImageError) {
    precondition((1...12).contains(level), "libdeflate has levels 1 to 12")
    guard let compressor = libdeflate_alloc_compressor(Int32(level)) else {
      throw ImageError(.encodingFailed, "no memory for a compressor")
    }
    self.compressor = compressor
  }

  deinit { libdeflate_free_compressor(compressor) }

  /// The most bytes that a zlib stream of `count` input bytes can take.
  func byteCountMax(_ count: Int) -> Int { libdeflate_zlib_compress_bound(compressor, count) }

  /// Compresses into a zlib stream (RFC 1950).
  ///
  /// - Returns: the stream's bytes, or 0 when `capacity` does not suffice.
  func compress(
    _ input: UnsafeRawPointer, count: Int, into output: UnsafeMutableRawPointer, capacity: Int
  ) -> Int {
    libdeflate_zlib_compress(compressor, input, count, output, capacity)
  }

  /// The CRC-32 of PNG and gzip.
  static func crc32(_ bytes: UnsafeRawPointer, count: Int) -> UInt32 { libdeflate_crc32(0, bytes, count) }
}
