/// Bytes that can be read at any place: of a file, or of one that another machine has.
package protocol ByteSource {
  /// All of them.
  var byteCount: Int { get }

  /// Fills a buffer with the bytes from a place on.
  ///
  /// - Returns: how many there were; fewer than asked for where they end.
  func read(into buffer: UnsafeMutableRawBufferPointer, at offset: Int) throws -> Int

  /// The bytes from a place on, fewer than asked for where they end.
  func bytes(at offset: Int, count: Int) throws -> [UInt8]
}

extension ByteSource {
  package func bytes(at offset: Int, count: Int) throws -> [UInt8] {
    try [UInt8](unsafeUninitializedCapacity: count) { buffer, initialized in
      initialized = try read(into: UnsafeMutableRawBufferPointer(buffer), at: offset)
    }
  }
}

extension ReadOnlyFile: ByteSource {}
