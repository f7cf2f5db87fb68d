import Support

extension TilesHash {
  /// The hash of a bundle's tiles.
  ///
  /// - Complexity: O(bytes), in constant memory for MBTiles; a PMTiles archive takes 8 bytes for each tile of its
  ///   largest zoom.
  /// - Throws: ``BundleError``, also `.malformed` for a tile that occurs twice, since it is undefined which one counts.
  public static func of(_ bundle: any BundleReader) throws -> TilesHash { try of(bundle, count: nil) }

  static func of(_ bundle: any BundleReader, count: TileCount?) throws -> TilesHash {
    try counted(bundle, count: count).hash
  }

  /// With the number of tiles that were read.
  static func counted(_ bundle: any BundleReader, count: TileCount?) throws -> (hash: TilesHash, tiles: Int) {
    var hasher = Hasher(matrixSet: bundle.matrixSet)
    var last: TileID?
    try bundle.forEachTileInOrder { tile, bytes in
      // In index order, equal addresses are adjacent.
      if tile == last { throw BundleError.repeated(tile, path: bundle.path) }
      last = tile
      hasher.insert(tile, bytes)
      count?.add()
    }
    return (hasher.finalize(), hasher.tileCount)
  }
}

/// The SHA-256 of a file, as downloads are checked with.
package enum FileHash {
  /// - Parameter onBytes: gets the number of bytes of each piece that was read; throwing ends the reading.
  /// - Returns: 64 hexadecimal digits in lower case.
  /// - Throws: ``BundleError`` with `.notFound` or `.readFailed`.
  /// - Complexity: O(bytes), a quarter of a megabyte at a time.
  package static func sha256(ofFile path: String, onBytes: (Int) throws -> Void = { _ in }) throws -> String {
    do {
      let file = try ReadOnlyFile(path)
      var hash = SHA256Hash()
      var offset = 0
      while offset < file.byteCount {
        let bytes = try file.bytes(at: offset, count: min(1 << 18, file.byteCount - offset))
        guard !bytes.isEmpty else { break }
        hash.update(bytes)
        offset += bytes.count
        try onBytes(bytes.count)
      }
      return Hexadecimal.text(hash.digest())
    } catch let error as FileSystem.SystemError {
      throw BundleError.unopened(error, path: path)
    } catch is ReadOnlyFile.NotAFile {
      throw BundleError(.notFound, path: path, "is not a plain file", remedy: "name a file")
    }
  }
}

extension FileHash {
  /// The SHA-256 of a text in UTF-8: 64 hexadecimal digits in lower case.
  package static func sha256(ofText text: String) -> String {
    Hexadecimal.text(SHA256Hash.digest(of: Array(text.utf8)))
  }
}
