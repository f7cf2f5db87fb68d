import Support
import Synchronization

/// Writes a ``ShardedTileset`` of bundles that are there already: ``add(_:root:tiles:)`` for each, `put` for the tiles
/// above their roots, which get a bundle of their own, then `finish`.
package final class ShardedWriter: TileSink {
  package let path: String
  package let matrixSet: TileMatrixSet
  package let format: TileFormat
  package let mixing: Set<TileFormat>
  private let topPath: String
  private let replacing: Bool

  private struct State {
    var tileset: ShardedTileset
    var top: (any TileSink)?
    var ranges: [Int: TileRange] = [:]

    mutating func insert(_ range: TileRange) { ranges[range.zoom] = ranges[range.zoom]?.union(range) ?? range }
  }
  private let state: Mutex<State>

  /// - Parameters:
  ///   - top: the bundle to write for the tiles above the roots; replaced if it exists.
  ///   - shardZoom: of the roots.
  /// - Throws: ``BundleError`` `.exists`.
  package init(
    path: String, top: String, shardZoom: Int, matrixSet: TileMatrixSet, format: TileFormat, replacing: Bool = false,
    mixing: Set<TileFormat> = []
  ) throws {
    try OutputFile.check(path, replacing: replacing)
    (self.path, topPath, self.matrixSet, self.format) = (path, top, matrixSet, format)
    (self.replacing, self.mixing) = (replacing, mixing)
    state = Mutex(State(tileset: ShardedTileset(zoom: shardZoom, path: path)))
  }

  package var tileCount: Int { state.withLock { $0.tileset.tiles } }

  /// Adds a bundle with the tiles below a root.
  ///
  /// - Complexity: no tile is read.
  /// - Throws: ``BundleError`` `.malformed` for a bundle with another number of tiles, or tiles elsewhere.
  package func add(_ bundle: any BundleReader, root: TileID, tiles: Int) throws {
    let ranges = try bundle.zooms().compactMap { try bundle.range(zoom: $0) }
    let corners = ranges.flatMap { range in
      [
        TileID(unchecked: range.zoom, range.columns.lowerBound, range.rows.lowerBound),
        TileID(unchecked: range.zoom, range.columns.upperBound, range.rows.upperBound),
      ]
    }
    guard bundle.knownTileCount ?? tiles == tiles,
      corners.allSatisfy({ matrixSet.ancestor(of: $0, zoom: root.zoom) == root })
    else {
      throw BundleError(
        .malformed, path: bundle.path, "does not have the tiles below \(root)", remedy: "make the bundle again")
    }
    let file = relative(bundle.path)
    state.withLock { state in
      for range in ranges { state.insert(range) }
      state.tileset.shards.append(ShardedTileset.Shard(root: root, file: file))
      state.tileset.tiles += tiles
      state.tileset.bytes += FileSystem.size(bundle.path)
    }
  }

  package func put(_ tile: TileID, _ data: UnsafeRawBufferPointer) throws {
    try check(tile, data)
    try state.withLock { state in
      let top =
        try state.top
        ?? BundleFile.create(topPath, matrixSet: matrixSet, format: format, replacing: true, mixing: mixing)
      state.top = top
      try top.put(tile, data)
      state.insert(
        TileRange(zoom: tile.zoom, columns: tile.column...tile.column, rows: tile.row...tile.row))
      state.tileset.tiles += 1
    }
  }

  package func write(places: [Place]) throws {
    try check(places)
    var stored = StoredPlaces(of: path)
    for place in places.sorted(by: Place.precedes) { try stored.add(place) }
    state.withLock { $0.tileset.places = stored }
  }

  package func finish(_ metadata: SinkMetadata) throws -> BundleSummary {
    // The shards have hashes of their own tiles.
    let metadata = metadata.withoutTilesHash
    return try state.withLock { state in
      var coverage = TileCoverage()
      for range in state.ranges.values { coverage.insert(zoom: range.zoom, count: 1, range: range) }
      state.tileset.metadata = StoredMetadata(try metadata.rows(coverage: coverage, of: self))
      guard let zooms = coverage.zooms else { throw SinkMetadata.noTiles(path) }
      state.tileset.ranges = state.ranges
      if let top = state.top {
        state.tileset.bytes += try top.finish(metadata).bytes
        state.tileset.top = relative(topPath)
        state.top = nil
      }
      try OutputFile.write(state.tileset.json, to: path, replacing: replacing)
      return BundleSummary(
        tiles: state.tileset.tiles, distinctTiles: state.tileset.tiles, bytes: state.tileset.bytes,
        minZoom: zooms.lowerBound, maxZoom: zooms.upperBound)
    }
  }

  package func discard() {
    state.withLock { state in
      state.top?.discard()
      state.top = nil
    }
  }

  /// Bundles beside the file, or in folders there, may be moved with it.
  private func relative(_ file: String) -> String {
    let (file, folder) = (FileSystem.absolutePath(file), FileSystem.absolutePath(FileSystem.split(path).folder))
    return file.hasPrefix(folder + "/") ? String(file.dropFirst(folder.utf8.count + 1)) : file
  }
}
