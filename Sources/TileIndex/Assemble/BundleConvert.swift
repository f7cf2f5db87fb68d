import Support

/// Writes a bundle in another container, with every tile as stored and all metadata and places.
public struct BundleConvert: Sendable {
  /// Of the rows in the file names of a folder.
  public var scheme: TileScheme

  /// A conversion; `scheme` numbers the rows of a folder of tiles.
  public init(scheme: TileScheme = .xyz) { self.scheme = scheme }

  /// Writes all of a bundle; the output's name chooses the container by its ending or a slash at its end.
  ///
  /// Metadata rows are kept as they are. Only what the container requires is added or corrected: a name, the format of
  /// the tiles, or their formats where a GeoPackage mixes them, the grid where it is not Web Mercator.
  ///
  /// - Parameters:
  ///   - bundle: of any container.
  ///   - output: the file or folder to write.
  ///   - replacing: replace an existing bundle.
  ///   - progress: called every 256 tiles with the number of tiles read so far.
  /// - Throws: ``BundleError``: `.malformed` for a bundle with tiles of other formats or with a tile twice, `.mismatch`
  ///   for a grid that the container does not know; errors of reading and writing bundles.
  /// - Complexity: O(bytes).
  @discardableResult
  public func write(
    _ bundle: any BundleReader, to output: String, replacing: Bool = false,
    progress: @escaping (Int) -> Void = { _ in }
  ) throws -> BundleSummary {
    try BundleFile.protect([bundle.path], from: output)
    return try bundle.readingOneState { try copy(bundle, to: output, replacing: replacing, progress: progress) }
  }

  private func copy(
    _ bundle: any BundleReader, to output: String, replacing: Bool, progress: @escaping (Int) -> Void
  ) throws -> BundleSummary {
    let format = try bundle.requiredFormat()
    let sink = try BundleFile.create(
      output, matrixSet: bundle.matrixSet, format: format, replacing: replacing, scheme: scheme,
      mixing: bundle.formats(beside: format))
    defer { sink.discard() }
    var tally = TileTally(sink, TileCount(progress))
    try forEachTile(of: bundle, for: sink) { tile, bytes, hash in
      tally.insert(bytes)
      try sink.copy(tile, bytes, hash: hash, from: bundle)
    }
    let places = try bundle.allPlaces()
    if !places.isEmpty { try sink.write(places: places) }
    return try sink.finish(
      .rows(Self.rows(of: bundle, format: format, found: tally.formats ?? [])), copyOf: [bundle])
  }

  /// Walks the tiles in the order that costs least: that of their ids where an archive is read, which is the order of
  /// its file, or written, which then needs no second copy.
  private func forEachTile(
    of bundle: any BundleReader, for sink: any TileSink,
    _ body: (TileID, UnsafeRawBufferPointer, UInt64?) throws -> Void
  ) throws {
    try TileReadAhead.forEachTile(
      hashing: sink.usesHashes,
      { body in
        switch bundle {
        case let bundle as PMTilesReader: try bundle.forEachTileByID(body)
        case let bundle as any DatabaseReader where sink is PMTilesWriter: try bundle.forEachTileByID(body)
        default: try bundle.forEachTile(body)
        }
      }, body)
  }

  /// The bundle's rows, completed.
  ///
  /// - Parameter found: formats of tiles, which are stated if the bundle does not say that it mixes them.
  static func rows(
    of bundle: any BundleReader, format: TileFormat, found: Set<TileFormat> = []
  ) -> [StoredMetadata.Entry] {
    let isUnstated = bundle.metadata.mixedFormats.isEmpty && found.count > 1
    let format = isUnstated ? TileFormat(stating: found) : format
    var seen: Set<String> = []
    // Of repeated names the first counts, as for readers.
    var rows = bundle.metadata.entries.filter { seen.insert($0.name).inserted }
    func set(_ name: String, _ value: String, unless isRight: (String) -> Bool) {
      if let index = rows.firstIndex(where: { $0.name == name }) {
        if !isRight(rows[index].value) { rows[index] = StoredMetadata.Entry(name: name, value: value) }
      } else {
        rows.append(StoredMetadata.Entry(name: name, value: value))
      }
    }
    set("name", bundle.fileStem) { !$0.isEmpty }
    set("format", format.rawValue) { TileFormat(rawValue: $0) == format }
    if isUnstated { set(MetadataKey.formats, MetadataKey.text(found)) { _ in false } }
    let matrixSet = bundle.matrixSet
    guard matrixSet != .webMercatorQuad else { return rows }
    set(MetadataKey.matrixSet, matrixSet.uri) { $0 == matrixSet.uri }
    set(MetadataKey.crs, matrixSet.crs) { $0 == matrixSet.crs }
    if TileMatrixSet.named(matrixSet.uri) != matrixSet, let definition = matrixSet.definition?.text {
      set(MetadataKey.grid, definition) { _ in bundle.metadata.definedMatrixSet == matrixSet }
    }
    return rows
  }
}

extension BundleReader {
  /// The format of the tiles.
  ///
  /// - Throws: ``BundleError`` with `.malformed` for tiles of unknown formats, and for a bundle without tiles.
  func requiredFormat() throws -> TileFormat {
    if let format = try tileFormat() { return format }
    throw BundleError(
      .malformed, path: path, "has no tiles that are PNG, JPEG, WebP or gzipped vector tiles",
      remedy: "check what made it")
  }
}

extension PMTilesReader {
  /// A run may claim billions of tiles.
  private static let tilesMax = 1 << 28

  /// Passes every tile to a closure by rising id: each content is read once for the tiles of a run.
  fileprivate func forEachTileByID(_ body: (TileID, UnsafeRawBufferPointer) throws -> Void) throws {
    var count = 0
    let block = PMTilesBlock()
    try forEachEntry { entry, _ in
      guard !entry.isLeaf else { return }
      count += Int(entry.runLength)
      guard count <= Self.tilesMax else {
        throw BundleError(
          .malformed, path: path, "has more than \(Self.tilesMax) tiles", remedy: "extract a part of it")
      }
      let first = try TileID(hilbertID: entry.firstID)
      try withContent(entry, of: first, ahead: block) { bytes in
        for id in entry.firstID..<entry.endID { try body(try TileID(hilbertID: id), bytes) }
      }
    }
  }
}

extension DatabaseReader {
  /// Passes every tile of a bundle in Web Mercator to a closure by rising id.
  ///
  /// - Complexity: O(tiles log tiles), 8 bytes of memory for each.
  fileprivate func forEachTileByID(_ body: (TileID, UnsafeRawBufferPointer) throws -> Void) throws {
    try prepareLookups()
    var ids: [UInt64] = []
    try reading {
      let keys = try connection.prepare("SELECT zoom_level, tile_column, tile_row FROM \(keyTable)")
      while try keys.step() {
        if let tile = tile(zoom: keys.int(0), column: keys.int(1), storedRow: keys.int(2)) {
          ids.append(tile.hilbertID)
        }
      }
    }
    ids.sort()
    for (index, id) in ids.enumerated() {
      let tile = try TileID(hilbertID: id)
      if index > 0, id == ids[index - 1] { throw BundleError.repeated(tile, path: path) }
      _ = try withTile(tile) { try body(tile, $0) }
    }
  }
}
