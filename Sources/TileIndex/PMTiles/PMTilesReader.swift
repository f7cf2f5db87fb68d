package import Support

/// Reads the tiles of a PMTiles v3 archive of any maker, with directories that are packed with gzip or not at all.
///
/// A reader holds one descriptor and is for one thread at a time. Opening reads the header, the root directory and the metadata.
/// An archive that is replaced by rename is read on as it was.
public final class PMTilesReader: BundleReader {
  /// The file, as the caller named it.
  public let path: String
  /// PMTiles knows no other grid than Web Mercator.
  public let matrixSet: TileMatrixSet = .webMercatorQuad
  /// Header and metadata of the archive in the words of MBTiles.
  public let metadata: StoredMetadata

  let archive: PMTilesArchive
  private let unpacksTiles: Bool

  /// - Parameter path: a PMTiles archive.
  /// - Throws: ``BundleError`` with `.notFound`, `.malformed` (also for other versions and for brotli and zstd) or `.readFailed`.
  public convenience init(path: String) throws { try self.init(PMTilesArchive(path: path)) }

  /// Reads an archive that lies elsewhere.
  ///
  /// - Parameter name: the archive in messages.
  package convenience init(name: String, _ bytes: any ByteSource) throws {
    try self.init(PMTilesArchive(path: name, bytes))
  }

  private init(_ archive: PMTilesArchive) throws {
    path = archive.path
    self.archive = archive
    metadata = try PMTilesMetadata.stored(archive)
    // Vector tiles travel as gzip; images that somebody packed as well would be of no use to anyone.
    unpacksTiles = archive.header.tileCompression == .gzip && [2, 3, 4, 5].contains(archive.header.tileType)
  }

  /// Hands a tile's bytes to a closure; nil when the archive has no such tile. Vector tiles come packed with gzip or not, as they are stored.
  ///
  /// - Complexity: O(log tiles); one read for a tile and one for each leaf directory that is not remembered.
  public func withTile<Result>(
    _ tile: TileID, _ body: (UnsafeRawBufferPointer) throws -> Result
  ) throws -> Result? {
    guard matrixSet.contains(tile), let entry = try entry(of: tile.hilbertID) else { return nil }
    return try archive.withBytes(entry) { bytes in
      guard unpacksTiles else { return try body(bytes) }
      let image: [UInt8]
      do {
        image = try Gunzip.bytes(bytes, byteCountMax: PMTilesArchive.tileBytesMax)
      } catch {
        throw archive.damaged("tile \(tile) cannot be unpacked")
      }
      return try image.withUnsafeBytes(body)
    }
  }

  /// The entry with a tile's bytes.
  private func entry(of id: UInt64) throws -> PMTilesDirectory.Entry? {
    var directory = archive.root
    var ids = 0..<TileID.firstHilbertID(zoom: TileID.zoomMax + 1)
    for _ in 0..<PMTilesArchive.depthMax {
      guard let index = directory.index(atOrBefore: id) else { return nil }
      let entry = directory.entries[index]
      guard entry.isLeaf else { return id < entry.endID ? entry : nil }
      ids = directory.ids(ofLeafAt: index, in: ids)
      directory = try archive.leaf(entry, ids: ids)
    }
    throw archive.damaged("its directories lie too deep in each other")
  }
}

extension PMTilesDirectory {
  /// The ids that a leaf may have: from its own entry to the next, or to the end of what this directory may have.
  func ids(ofLeafAt index: Int, in ids: Range<UInt64>) -> Range<UInt64> {
    entries[index].firstID..<(index + 1 < entries.count ? entries[index + 1].firstID : ids.upperBound)
  }
}
