package import Support

/// Reads the tiles of a PMTiles v3 archive from any producer, with directories that are compressed with gzip or
/// uncompressed.
///
/// A reader has one descriptor and is for one thread at a time. Opening reads the header, the root directory and the
/// metadata. After an archive is replaced by rename, open readers keep the old file.
public final class PMTilesReader: BundleReader {
  /// The file, as the caller named it.
  public let path: String
  /// PMTiles has no other grid than Web Mercator.
  public let matrixSet: TileMatrixSet = .webMercatorQuad
  /// Header and metadata of the archive under the names of MBTiles.
  public let metadata: StoredMetadata

  let archive: PMTilesArchive
  private let unpacksTiles: Bool

  /// - Parameter path: a PMTiles archive.
  /// - Throws: ``BundleError`` with `.notFound`, `.malformed` (including other versions, brotli and zstd) or
  ///   `.readFailed`.
  public convenience init(path: String) throws { try self.init(PMTilesArchive(path: path)) }

  /// Reads an archive from another byte source, such as a server.
  ///
  /// - Parameter name: the name of the archive in messages.
  package convenience init(name: String, _ bytes: any ByteSource) throws {
    try self.init(PMTilesArchive(path: name, bytes))
  }

  private init(_ archive: PMTilesArchive) throws {
    path = archive.path
    self.archive = archive
    metadata = try PMTilesMetadata.stored(archive)
    // Vector tiles are served compressed; image tiles that were compressed as well must be decompressed, since no
    // client expects it.
    unpacksTiles = archive.header.tileCompression == .gzip && [2, 3, 4, 5].contains(archive.header.tileType)
  }

  /// Passes a tile's bytes to a closure; nil when the archive has no such tile. Vector tiles are passed as stored,
  /// compressed or not.
  ///
  /// - Complexity: O(log tiles); one read for a tile, and one for each leaf directory that is not cached.
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

  /// The directory entry of a tile.
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

/// The metadata of a PMTiles archive under the names of MBTiles.
enum PMTilesMetadata {
  /// Values of the header replace those of the metadata where both exist, because readers of archives use the header,
  /// and archives with differences exist.
  ///
  /// - Throws: ``BundleError`` with `.malformed` when the metadata are not a JSON object.
  static func stored(_ archive: PMTilesArchive) throws -> StoredMetadata {
    let found = try entries(archive)
    let header = headerEntries(archive.header)
    let known = Set(header.map(\.name))
    var entries = found.filter { !known.contains($0.name) }
    let place = entries.firstIndex { $0.name == "name" }.map { $0 + 1 } ?? 0
    entries.insert(contentsOf: header, at: place)
    return StoredMetadata(entries)
  }

  private static func entries(_ archive: PMTilesArchive) throws -> [StoredMetadata.Entry] {
    let text = try archive.metadataText()
    if text.isEmpty { return [] }
    do {
      guard let members = try JSONValue(parsing: text, duplicates: .lastWins).members else {
        throw archive.damaged("its metadata are not a JSON object")
      }
      return MetadataDocument.entries(members)
    } catch let error as JSONValue.SyntaxError {
      throw archive.damaged("its metadata are not JSON: \(error)")
    }
  }

  private static func headerEntries(_ header: PMTilesHeader) -> [StoredMetadata.Entry] {
    var entries: [StoredMetadata.Entry] = []
    func add(_ name: String, _ value: String) { entries.append(StoredMetadata.Entry(name: name, value: value)) }
    switch header.tileType {
    case 1: add("format", TileFormat.pbf.rawValue)
    case 2: add("format", TileFormat.png.rawValue)
    case 3: add("format", TileFormat.jpg.rawValue)
    case 4: add("format", TileFormat.webp.rawValue)
    case 5: add("format", "avif")
    case 6: add("format", "mlt")
    default: break
    }
    let box = header.bounds
    // A box without area means that its producer did not know; no bounds are better than wrong ones.
    if box.west < box.east, box.south < box.north, box.west >= -180, box.east <= 180, box.south >= -90, box.north <= 90
    {
      add("bounds", [box.west, box.south, box.east, box.north].map(DecimalText.text).joined(separator: ","))
      let center = header.center
      // GDAL writes centers whose average of two longitudes has overflowed 32 bits.
      if (box.west...box.east).contains(center.longitude), (box.south...box.north).contains(center.latitude) {
        add("center", "\(DecimalText.text(center.longitude)),\(DecimalText.text(center.latitude)),\(center.zoom)")
      }
    }
    if header.zooms.min <= header.zooms.max, header.zooms.max <= TileID.zoomMax {
      add("minzoom", String(header.zooms.min))
      add("maxzoom", String(header.zooms.max))
    }
    return entries
  }
}
