import Support

/// Writes a bundle in another container, with every tile as stored and all metadata and places.
package struct BundleConvert: Sendable {
  /// Of the rows in the file names of a folder.
  package var scheme: TileScheme
  /// Whether the copy gets a hash of each tile, which MBTiles alone can store.
  package var hashes = false

  /// A conversion; `scheme` numbers the rows of a folder of tiles.
  package init(scheme: TileScheme = .xyz) { self.scheme = scheme }

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
  package func write(
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
      mixing: bundle.formats(beside: format), hashes: hashes)
    defer { sink.discard() }
    var tally = TileTally(sink, TileCount(progress))
    var count = 0
    // An archive that gets its tiles by id needs no second copy.
    try TileReadAhead.forEachTile(
      hashing: sink.usesHashes, { try bundle.forEachTile(byID: sink.isOrderedByID, $0) },
      { tile, bytes, hash in
        tally.insert(bytes)
        count += 1
        try sink.copy(tile, bytes, hash: hash, from: bundle)
      })
    let places = try bundle.places().all()
    if !places.isEmpty { try sink.write(places: places) }
    var summary = try sink.finish(
      .rows(Self.rows(of: bundle, format: format, found: tally.formats ?? [])), copyOf: [bundle])
    summary.leftOut.note(bundle, read: count)
    return summary
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
    if try firstTile({ Gunzip.isGzip($0) }) == true {
      throw BundleError(
        .malformed, path: path,
        "has images that were compressed with gzip, or vector tiles that were compressed twice, which no reader of"
          + " bundles expects",
        remedy: "decompress its tiles once, or make it again without that gzip")
    }
    throw BundleError(
      .malformed, path: path, "has no tiles that are PNG, JPEG, WebP or gzipped vector tiles",
      remedy: "check what made it")
  }
}
