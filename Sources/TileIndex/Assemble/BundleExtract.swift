/// Extracts an area and some zooms of a bundle: tiles as stored, adjusted metadata, and the places inside.
package struct BundleExtract: Sendable {
  /// What is taken.
  package var area: TileArea
  /// Nil for all zooms.
  package var zooms: ClosedRange<Int>?
  /// Of the rows in the file names, if the output is a folder.
  package var scheme = TileScheme.xyz
  /// Whether the output gets a hash of each tile, which MBTiles alone can store.
  package var hashes = false

  /// An extract of an area; of all stored zooms unless some are named.
  package init(area: TileArea = .everywhere, zooms: ClosedRange<Int>? = nil) {
    self.area = area
    self.zooms = zooms
  }

  /// Writes the extract as a new bundle.
  ///
  /// Every tile that intersects the area is copied whole. Bounds are the intersection of the area's and the bundle's
  /// own, the center is the middle; all other metadata are kept. Tiles are in the order of
  /// ``BundleReader/forEachTile(_:)``: equal inputs give equal files.
  ///
  /// - Parameters:
  ///   - bundle: of any format.
  ///   - output: the file or folder to write; its name chooses the container.
  ///   - replacing: replace an existing file.
  ///   - progress: called every 256 tiles with how many were read so far.
  /// - Throws: ``BundleError``: `.invalidContent` when no tile intersects the area and zooms; `.malformed` for a whole
  ///   bundle whose tiles are not those that were written, as its hash of them tells (a part is not checked, since that
  ///   would read all of it); errors of reading and writing bundles.
  /// - Complexity: O(tiles in the rectangle around the area), for polygons times their edges.
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
    let matrixSet = bundle.matrixSet
    let writer = try BundleFile.create(
      output, matrixSet: matrixSet, format: format, replacing: replacing, scheme: scheme,
      mixing: bundle.formats(beside: format), hashes: hashes)
    defer { writer.discard() }
    var tally = TileTally(writer, TileCount(isWhole ? progress : { _ in }))
    var leftOutRows = 0
    func take(_ tile: TileID, _ bytes: UnsafeRawBufferPointer) throws {
      tally.insert(bytes)
      try writer.copy(tile, bytes, from: bundle)
    }
    if isWhole {
      try bundle.forEachWrittenTile(take)
    } else {
      var position = Position(bundle, progress)
      for zoom in try bundle.zooms() where zooms?.contains(zoom) ?? true {
        for range in area.ranges(zoom: zoom, in: matrixSet) {
          defer { position.leave(range) }
          var read = 0
          try bundle.forEachTile(in: range) { tile, bytes in
            read += 1
            position.reach(tile, in: range)
            if area.contains(tile, in: matrixSet) { try take(tile, bytes) }
          }
          leftOutRows += try bundle.rowCount(in: range).map { max($0 - read, 0) } ?? 0
        }
      }
    }
    guard writer.tileCount > 0 else {
      throw try noTile(of: bundle, output)
    }
    let allPlaces = try bundle.places().all()
    let places = allPlaces.filter { area.contains(longitude: $0.longitude, latitude: $0.latitude) }
    if !places.isEmpty { try writer.write(places: places) }
    var metadata = metadata(of: bundle)
    metadata.formats = tally.formats
    let count = writer.tileCount
    var summary = try writer.finish(.composed(metadata), copyOf: [bundle])
    if isWhole { summary.leftOut.note(bundle, read: count) }
    summary.leftOut.rows += leftOutRows
    summary.leftOutPlaces = allPlaces.count - places.count
    return summary
  }

  private func noTile(of bundle: any BundleReader, _ output: String) throws -> BundleError {
    let stored = try bundle.zooms()
    guard let zooms, let first = stored.first, let last = stored.last, !stored.contains(where: zooms.contains) else {
      return BundleError(
        .invalidContent, path: output, "\(bundle.path) has no tile in the area and zooms asked for",
        remedy: "ask for a part of its bounds and zooms")
    }
    func text(_ zooms: ClosedRange<Int>) -> String {
      zooms.count == 1 ? "\(zooms.lowerBound)" : "\(zooms.lowerBound)-\(zooms.upperBound)"
    }
    return BundleError(
      .invalidContent, path: output, "\(bundle.path) has no tile of zoom \(text(zooms))",
      remedy: "ask for some of its zooms, \(text(first...last))")
  }

  private var isWhole: Bool { area.isEverywhere && zooms == nil }

  /// What the progress of ``write(_:to:replacing:progress:)`` counts: the tiles of a whole bundle, nil if it does not
  /// know how many it has; else the places for tiles in the area's rectangles, as far as the bundle's bounds go.
  package func tilesToRead(of bundle: any BundleReader) throws -> Int? {
    if isWhole { return bundle.knownTileCount }
    let position = Position(bundle) { _ in }
    return try bundle.zooms().filter { zooms?.contains($0) ?? true }
      .flatMap { area.ranges(zoom: $0, in: bundle.matrixSet) }.reduce(0) { $0 + (position.counted($1)?.count ?? 0) }
  }

  /// Where a walk over rectangles of tiles is, of all their places within the bounds that the metadata state. A bundle
  /// may have few tiles there, and says how many only when it was read.
  private struct Position {
    private let matrixSet: TileMatrixSet
    private let bounds: BoundingBox?
    private let progress: (Int) -> Void
    private var passed = 0
    private var visited = 0

    init(_ bundle: any BundleReader, _ progress: @escaping (Int) -> Void) {
      (matrixSet, bounds, self.progress) = (bundle.matrixSet, bundle.metadata.bounds, progress)
    }

    /// The part of a rectangle whose places count; nil for none.
    func counted(_ range: TileRange) -> TileRange? {
      guard let bounds else { return range.intersection(matrixSet.wholeRange(zoom: range.zoom)) }
      let parts = matrixSet.ranges(covering: bounds, zoom: range.zoom)
      guard let first = parts.first else { return nil }
      return range.intersection(parts.dropFirst().reduce(first) { $0.union($1) })
    }

    /// Tiles come by column, then by row from the south.
    mutating func reach(_ tile: TileID, in range: TileRange) {
      visited += 1
      guard visited % 256 == 0, let counted = counted(range) else { return }
      let column = tile.column - counted.columns.lowerBound
      let row = min(max(counted.rows.upperBound - tile.row + 1, 0), counted.rows.count)
      progress(passed + min(max(column * counted.rows.count + row, 0), counted.count))
    }

    mutating func leave(_ range: TileRange) { passed += counted(range)?.count ?? 0 }
  }

  private func metadata(of bundle: any BundleReader) -> BundleMetadata {
    var metadata = BundleMetadata(bundle.metadata, fallbackName: bundle.fileStem)
    guard !area.isEverywhere else { return metadata }
    metadata.center = nil
    guard let box = area.box else { return metadata }
    // The writer handles boxes across the antimeridian.
    let parts = bundle.matrixSet.isGlobal ? TileMatrixSet.splitAtAntimeridian(box) : [box]
    metadata.bounds = parts.count == 1 ? (metadata.bounds?.intersection(parts[0]) ?? parts[0]) : box
    return metadata
  }
}
