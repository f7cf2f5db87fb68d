import TileIndex

/// The location of a tile in its bundle's file, to send it from the system's page cache without reading it.
struct BlobLocation: Sendable {
  let file: ResidentReader
  /// In order; together they are the tile.
  let pieces: [FilePiece]

  /// Smaller bodies cost less to keep in memory than to read.
  static let bytesMin = 16384

  init(file: ResidentReader, pieces: [FilePiece]) {
    self.file = file
    self.pieces = pieces
  }

  /// Looks for a tile in a tileset's file; nil when it cannot be found without waiting for a disk.
  init?(of tile: TileID, _ tileset: Tileset, matching bytes: UnsafeRawBufferPointer) {
    let found = tileset.withOpenReader { reader -> BlobLocation? in
      guard let shards = reader.bundle as? ShardedReader else {
        return BlobLocation(of: tile, in: reader.bundle, matching: bytes)
      }
      return shards.withOpenBundle(of: tile) { BlobLocation(of: tile, in: $0, matching: bytes) } ?? nil
    }
    guard let found = found ?? nil else { return nil }
    self = found
  }

  private init?(of tile: TileID, in bundle: any BundleReader, matching bytes: UnsafeRawBufferPointer) {
    guard let bundle = bundle as? any BundleInFile else { return nil }
    var pieces: [FilePiece]?
    switch bundle {
    case let bundle as MBTilesReader:
      // Within a resident read no read of the file waits for a disk.
      let read = try? bundle.withResidentTile(tile) { _ in pieces = bundle.pieces(of: tile, matching: bytes) }
      guard read == .found else { return nil }
    case let bundle as PMTilesReader:
      guard let place = bundle.location(of: tile), place.count == bytes.count else { return nil }
      pieces = [FilePiece(offset: Int64(place.offset), count: place.count)]
    default: return nil
    }
    guard let pieces, let file = ResidentReader.shared(of: bundle) else { return nil }
    (self.file, self.pieces) = (file, pieces)
  }
}
