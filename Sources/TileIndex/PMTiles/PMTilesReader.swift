package import Support

/// Reads the tiles of a PMTiles v3 archive from any producer, with directories that are compressed with gzip or
/// uncompressed.
///
/// A reader has one descriptor and is for one thread at a time. Opening reads the header, the root directory and the
/// metadata. All that a reader gives is of the edition that it opened: after the archive is replaced by a rename it
/// keeps the old file, and after a change in place it throws `.changed`.
package final class PMTilesReader: BundleReader {
  /// The file, as the caller named it.
  package let path: String
  /// PMTiles has no other grid than Web Mercator.
  package let matrixSet: TileMatrixSet = .webMercatorQuad
  /// Header and metadata of the archive under the names of MBTiles.
  package let metadata: StoredMetadata

  let archive: PMTilesArchive
  /// The places in the metadata, as ``PMTilesWriter`` stores them.
  let storedPlaces: StoredPlaces
  private let unpacksTiles: Bool

  /// Opens an archive on the disk.
  ///
  /// - Parameter path: a PMTiles archive.
  /// - Throws: ``BundleError`` with `.notFound`, `.malformed` (including other versions, brotli and zstd) or
  ///   `.readFailed`.
  package convenience init(path: String) throws { try self.init(PMTilesArchive(path: path)) }

  /// Reads an archive from another byte source, such as a server.
  ///
  /// - Parameter name: the name of the archive in messages.
  package convenience init(name: String, _ bytes: any ByteSource) throws {
    try self.init(PMTilesArchive(path: name, bytes))
  }

  /// Opens an archive again from the same bytes, for another thread: nothing is parsed a second time.
  package convenience init(name: String, _ bytes: any ByteSource, _ contents: Contents) throws {
    try self.init(PMTilesArchive(path: name, bytes, contents), contents)
  }

  /// What is parsed of an archive at opening.
  package struct Contents: Sendable {
    let header: PMTilesHeader
    let root: PMTilesDirectory
    let metadata: StoredMetadata
    let places: StoredPlaces
  }

  package var contents: Contents {
    Contents(header: archive.header, root: archive.root, metadata: metadata, places: storedPlaces)
  }

  private init(_ archive: PMTilesArchive, _ contents: Contents? = nil) throws {
    path = archive.path
    self.archive = archive
    (metadata, storedPlaces) = try contents.map { ($0.metadata, $0.places) } ?? PMTilesMetadata.stored(archive)
    // Vector tiles are served compressed; image tiles that were compressed as well must be decompressed, since no
    // client expects it.
    unpacksTiles = archive.header.tileCompression == .gzip && [2, 3, 4, 5].contains(archive.header.tileType)
  }

  /// Passes a tile's bytes to a closure; nil when the archive has no such tile. Vector tiles are passed as stored,
  /// compressed or not.
  ///
  /// - Complexity: O(log tiles); one read for a tile, and one for each leaf directory that is not cached.
  package func withTile<Result>(
    _ tile: TileID, _ body: (UnsafeRawBufferPointer) throws -> Result
  ) throws -> Result? {
    guard matrixSet.contains(tile), let entry = try entry(of: tile.hilbertID) else { return nil }
    return try withContent(entry, of: tile, body)
  }

  package func withResidentTile<Value>(
    _ tile: TileID, _ body: (UnsafeRawBufferPointer) throws -> Value
  ) throws -> ResidentRead<Value> {
    try withoutWaiting { try withTile(tile, body).map(ResidentRead.found) ?? .absent } ?? .wouldWait
  }

  /// The result of a closure that reads only what is in memory; nil if it would wait.
  private func withoutWaiting<Result>(_ body: () throws -> Result) throws -> Result? {
    guard let file = archive.localFile, file.canReadResident else { return nil }
    file.mayWait = false
    defer { file.mayWait = true }
    do {
      return try body()
    } catch is ResidentFile.WouldWait {
      return nil
    }
  }

  /// Passes the bytes of an entry to a closure, as ``withTile(_:_:)`` does.
  ///
  /// - Parameters:
  ///   - tile: one of its tiles, for messages.
  ///   - block: for a walk through the archive.
  func withContent<Result>(
    _ entry: PMTilesDirectory.Entry, of tile: TileID, ahead block: PMTilesBlock? = nil,
    _ body: (UnsafeRawBufferPointer) throws -> Result
  ) throws -> Result {
    try archive.withBytes(entry, ahead: block) { bytes in
      guard unpacksTiles else { return try body(bytes) }
      let image: [UInt8]
      do {
        image = try Gunzip.bytes(bytes, byteCountMax: BundleAccess.tileBytesMax)
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
  /// Values of the header replace those of the metadata where they differ by more than the header's precision, because
  /// readers of archives use the header, and archives with differences exist.
  ///
  /// - Throws: ``BundleError`` with `.malformed` when the metadata are not a JSON object.
  static func stored(_ archive: PMTilesArchive) throws -> (metadata: StoredMetadata, places: StoredPlaces) {
    var members = try members(archive)
    var places = StoredPlaces(of: archive.path)
    if let index = members.firstIndex(where: { $0.name == PlaceDocument.member }),
      let found = try PlaceDocument.places(members[index].value, of: archive.path)
    {
      places = found
      members.remove(at: index)
    }
    let found = StoredMetadata(MetadataDocument.entries(members))
    let header = headerEntries(archive.header).filter { !agrees($0, with: found) }
    let known = Set(header.map(\.name))
    var entries = found.entries.filter { !known.contains($0.name) }
    let place = entries.firstIndex { $0.name == "name" }.map { $0 + 1 } ?? 0
    entries.insert(contentsOf: header, at: place)
    return (try MetadataLimits.stored(entries, path: archive.path), places)
  }

  /// True when the metadata have the header's value, possibly with more digits.
  private static func agrees(_ entry: StoredMetadata.Entry, with found: StoredMetadata) -> Bool {
    let header = StoredMetadata([entry])
    func isNear(_ a: [Double], _ b: [Double]) -> Bool { zip(a, b).allSatisfy { abs($0 - $1) < 1e-7 } }
    switch entry.name {
    case "format": return found.format != nil && found.format == header.format
    case "minzoom": return found.minZoom != nil && found.minZoom == header.minZoom
    case "maxzoom": return found.maxZoom != nil && found.maxZoom == header.maxZoom
    case "bounds":
      guard let a = header.bounds, let b = found.bounds else { return false }
      return isNear([a.west, a.south, a.east, a.north], [b.west, b.south, b.east, b.north])
    case "center":
      guard let a = header.center, let b = found.center, a.zoom == b.zoom else { return false }
      return isNear([a.longitude, a.latitude], [b.longitude, b.latitude])
    default: return false
    }
  }

  /// The document of a new archive: the rows as strings, in their order; those in `json` as members of their own, which
  /// PMTiles v3 (section 5) requires of vector tiles; and the places.
  ///
  /// - Throws: ``BundleError`` with `.invalidContent` for a document that readers would refuse.
  static func document(_ rows: [StoredMetadata.Entry], places: [Place], path: String) throws -> [UInt8] {
    var members = MetadataDocument.members(rows)
    if !places.isEmpty { members.append(.init(PlaceDocument.member, PlaceDocument.json(places))) }
    let bytes = JSONValue.object(members).bytes
    guard bytes.count <= PMTilesDirectory.byteCountMax else {
      throw BundleError(
        .invalidContent, path: path, "metadata and places have \(bytes.count) bytes, too many for a PMTiles archive",
        remedy: "write MBTiles, or leave the places out")
    }
    return bytes
  }

  private static func members(_ archive: PMTilesArchive) throws -> [JSONValue.Member] {
    let text = try archive.metadataText()
    if text.isEmpty { return [] }
    do {
      guard let members = try MetadataLimits.document(text, path: archive.path).members else {
        throw archive.damaged("its metadata are not a JSON object")
      }
      return members
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
