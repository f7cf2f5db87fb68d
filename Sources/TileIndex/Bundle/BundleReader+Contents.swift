import Support

extension BundleReader {
  /// See ``placementWarning``.
  package var placementWarning: BundleError? { nil }
  /// The default for containers that cannot be without an index.
  package var scansForTiles: Bool { false }
  /// See ``scansForTiles``.
  package func prepareLookups() throws {}
  /// The default for bundles that a change ends.
  package func readingOneState<Result>(_ body: () throws -> Result) throws -> Result { try body() }
  /// See ``readingOneState(_:)``.
  package func holdOneState() throws {}
  /// The default for bundles that a change ends.
  package var version: UInt64 { 0 }
  /// See ``opener``.
  package var opener: (@Sendable () -> any BundleReader)? { nil }
  /// See ``memoryBytes``.
  package var memoryBytes: Int { 0 }
  /// See ``firstTile(in:)``.
  package func firstTile(in range: TileRange) throws -> TileID? { nil }
  /// The default for bundles without places.
  package func places() throws -> StoredPlaces { StoredPlaces(of: path) }
  /// See ``placeTable()``.
  package func placeTable() throws -> PlaceTable? { nil }
  /// See ``knownTileCount``.
  package var knownTileCount: Int? { nil }
  /// The default for containers in which each tile is read.
  package var knownReadCount: Int? { knownTileCount }
  /// The default reads each tile.
  package func inspection(_ progress: @escaping (Int) -> Void) throws -> BundleInspection {
    try BundleInspection(walking: self, .folder, fileBytes: nil, progress)
  }
  /// The default for containers that are files.
  package func leftOutFiles(read: Int) -> Int { 0 }
  /// The default for containers without a table of tiles.
  package func leftOutRows(read: Int) -> Int { 0 }
  /// The default for what is one bundle.
  package func forEachTileInOrder(_ body: (TileID, UnsafeRawBufferPointer) throws -> Void) throws {
    try forEachTile(body)
  }
  /// See ``rowCount(in:)``.
  package func rowCount(in range: TileRange) throws -> Int? { nil }
  /// See ``mixesFormats``.
  package var mixesFormats: Bool { false }
  /// The default for containers that have tiles in no other order.
  package func forEachTile(byID isWanted: Bool, _ body: (TileID, UnsafeRawBufferPointer) throws -> Void) throws {
    try forEachTile(body)
  }
  /// The default reads the tiles.
  package func forEachTileSize(_ body: (TileID, Int) throws -> Void) throws {
    try forEachTile { try body($0, $1.count) }
  }
  /// See ``putOrder``.
  package var putOrder: (any PutOrder)? { nil }
  /// The default for containers that cannot store hashes.
  package var storesTileHashes: Bool { false }
  /// See ``storesTileHashes``.
  package func storedHash(of tile: TileID) throws -> UInt64? { nil }
  /// The default for what has the metadata of something else.
  package func replaceMetadata(
    _ rows: [StoredMetadata.Entry], changed name: String, progress: (Int) -> Void
  ) throws {
    throw BundleError(
      .invalidContent, path: path, "has no metadata of its own that can be changed",
      remedy: "convert it into a bundle first")
  }
  /// See ``bytesCopiedForMetadata``.
  package var bytesCopiedForMetadata: Int? { nil }

  /// The default for readers that do not know what is in memory.
  package func withResidentTile<Value>(
    _ tile: TileID, _ body: (UnsafeRawBufferPointer) throws -> Value
  ) throws -> ResidentRead<Value> { .wouldWait }

  /// Passes every tile to a closure: by zoom, then column, then row from the south, which is the order of MBTiles'
  /// index. The bytes are valid until the closure returns.
  public func forEachTile(_ body: (TileID, UnsafeRawBufferPointer) throws -> Void) throws {
    for zoom in try zooms() {
      if let range = try range(zoom: zoom) { try forEachTile(in: range, body) }
    }
  }

  /// The last part of the path without its extension: a title for bundles that have none.
  package var fileStem: String {
    let name = path.split(separator: "/").last ?? ""
    guard let dot = name.lastIndex(of: "."), dot != name.startIndex else { return name.isEmpty ? "map" : String(name) }
    return String(name[..<dot])
  }

  /// A tile's bytes as stored; nil when the bundle has no such tile.
  ///
  /// - Throws: ``BundleError`` with `.malformed`, `.busy`, `.changed` or `.readFailed`.
  public func tile(_ tile: TileID) throws -> [UInt8]? {
    try withTile(tile) { Array($0) }
  }
}

extension BundleReader {
  /// The format of the first tile, or what a bundle of mixed formats says it is (``StoredMetadata/mixedFormats``); nil
  /// when there are no tiles, or the first is of no known format.
  package func tileFormat() throws -> TileFormat? {
    if let format = metadata.format, !metadata.mixedFormats.isEmpty { return format }
    return try firstTile { TileFormat(tile: $0) } ?? nil
  }

  /// The pixels along the edge of the first tile; nil when there are no tiles, or its header does not state them.
  package func tilePixels() throws -> Int? { try firstTile { ImageHeader($0)?.width } ?? nil }

  /// Both of the above, of one search for a tile.
  package func tileFormatAndPixels() throws -> (format: TileFormat?, pixels: Int?) {
    let tile = try firstTile { (format: TileFormat(tile: $0), pixels: ImageHeader($0)?.width) }
    return (metadata.mixedFormats.isEmpty ? tile?.format : metadata.format ?? tile?.format, tile?.pixels)
  }

  /// The formats that tiles may have beside that of the first: as the metadata state, and where makers mix them without
  /// a word, as in GeoPackages (OGC 12-128r18, requirements 36 and 37).
  package func formats(beside format: TileFormat) -> Set<TileFormat> {
    let mixed = metadata.mixedFormats
    let mixture: Set<TileFormat> = [.png, .jpg]
    return (mixed.isEmpty && mixesFormats && mixture.contains(format) ? mixture : mixed).subtracting([format])
  }

  /// Passes the bytes of the first tile to a closure; nil when there are no tiles.
  func firstTile<Result>(_ body: (UnsafeRawBufferPointer) throws -> Result) throws -> Result? {
    for zoom in try zooms() {
      guard let range = try range(zoom: zoom) else { continue }
      // A level may be sparse, so its first tile is anywhere in the rectangle: a few lookups usually find one,
      // otherwise all tiles are walked. Without an index a lookup costs as much as a walk.
      let tiles = scansForTiles ? try firstTile(in: range).map { [$0] } ?? [] : Array(range.prefix(1024))
      for tile in tiles {
        do {
          if let result = try withTile(tile, body) { return result }
        } catch let error as BundleError where error.code == .damagedTile {
          // It says nothing of the others.
        }
      }
      var found: Result?
      do {
        try forEachTile(in: range) { _, bytes in
          found = try body(bytes)
          throw Enough()
        }
      } catch is Enough {}
      if let found { return found }
    }
    return nil
  }
}

/// Ends the walk after the first tile.
private struct Enough: Error {}

extension BundleReader {
  /// Refuses bytes whose hash is another than the bundle has for the tile: a copy, with hashes of its own, would hide
  /// the damage.
  ///
  /// - Parameter hash: of the bytes, if it is known.
  /// - Throws: ``BundleError`` with `.damagedTile`.
  func requireUndamaged(_ tile: TileID, _ bytes: UnsafeRawBufferPointer, hash: UInt64? = nil) throws {
    guard storesTileHashes, let stored = try storedHash(of: tile), stored != hash ?? ContentHash.hash(bytes) else {
      return
    }
    throw BundleError.damaged(tile, path: path)
  }
}

extension BundleError {
  /// A tile whose bytes are not those that its maker wrote.
  static func damaged(_ tile: TileID, path: String) -> BundleError {
    BundleError(
      .damagedTile, path: path,
      "the bytes of tile \(tile) are not those that were written: the file was damaged, or another program changed it",
      remedy: "take the bundle from a copy, or make it again", repair: .verify)
  }
}

extension PlaceQuery {
  /// The matches in a bundle of any container, by its index where it has one; nil for a bundle without places.
  ///
  /// - Throws: ``BundleError``.
  package func search(_ bundle: any BundleReader) throws -> [PlaceMatch]? {
    if let index = try PlaceIndex(bundle) { return try index.search(self) }
    let places = try bundle.places().valid
    return places.isEmpty ? nil : PlaceList(places).search(self)
  }
}

extension BundleReader {
  /// Whether there is anything to search, in a bundle of any container.
  ///
  /// - Throws: ``BundleError``.
  package var hasPlaces: Bool {
    get throws { try PlaceIndex(self) != nil || !places().valid.isEmpty }
  }
}

extension PlaceIndex {
  /// Nil for a bundle without places, and for one that is not MBTiles.
  ///
  /// - Throws: `BundleError`.
  public convenience init?(_ bundle: any BundleReader) throws {
    guard let table = try bundle.placeTable() else { return nil }
    self.init(table)
  }
}
