import Support

/// The rows of the metadata table for a finished set of tiles.
///
/// 1. Clip the bounds to what every zoom covers; if areas end at different zooms, every zoom before the first of these.
/// 2. Take the zooms from the tiles.
/// 3. Choose a center if none is given.
/// 4. Format everything as text.
struct MetadataRows {
  /// Names and values in the order of the table.
  let rows: [(name: String, value: String)]
  let zooms: ClosedRange<Int>

  /// - Throws: ``BundleError`` with `.invalidContent` when there are no tiles or a value may not be stored.
  init(
    _ metadata: BundleMetadata, coverage: TileCoverage, matrixSet: TileMatrixSet, format: TileFormat,
    mixing: Set<TileFormat> = [], path: String
  ) throws {
    let whole = coverage.ofWholeZooms(metadata.extra[VariableDepthMetadata.key])
    guard let zooms = coverage.zooms, let covered = whole.bounds(in: matrixSet) else {
      throw BundleError(
        .invalidContent, path: path, "not one tile was written, so there is no bundle",
        remedy: "check that the source has visible pixels inside the bounds and zooms asked for")
    }
    self.zooms = zooms
    let bounds = Self.clipped(metadata.bounds, to: covered, whole, matrixSet)
    let center =
      metadata.center.map { Self.clipped($0, to: bounds, zooms: zooms) }
      ?? Self.center(bounds: bounds, given: metadata.bounds, whole, zooms: zooms, matrixSet: matrixSet)
    let formats = metadata.formats ?? mixing.union([format])
    let format = formats.isEmpty ? format : TileFormat(stating: formats)

    var rows: [(name: String, value: String)] = [
      ("name", metadata.name),
      ("format", format.rawValue),
      ("bounds", [bounds.west, bounds.south, bounds.east, bounds.north].map(DecimalText.text).joined(separator: ",")),
      (
        "center",
        "\(DecimalText.text(center.longitude)),\(DecimalText.text(center.latitude)),\(center.zoom)"
      ),
      ("minzoom", String(zooms.lowerBound)),
      ("maxzoom", String(zooms.upperBound)),
    ]
    if let attribution = metadata.attribution { rows.append(("attribution", attribution)) }
    if let description = metadata.description { rows.append(("description", description)) }
    rows.append(("type", metadata.type.rawValue))
    rows.append(("version", metadata.version))
    if let json = metadata.json { rows.append(("json", json)) }
    if matrixSet != .webMercatorQuad {
      rows.append((MetadataKey.matrixSet, matrixSet.uri))
      rows.append((MetadataKey.crs, matrixSet.crs))
      if TileMatrixSet.named(matrixSet.uri) != matrixSet, let definition = matrixSet.definition {
        rows.append((MetadataKey.grid, definition.text))
      }
    }
    if formats.count > 1 {
      rows.append((MetadataKey.formats, MetadataKey.text(formats)))
    }
    if let hash = metadata.tilesHash { rows.append((MetadataKey.tilesHash, hash.description)) }
    for (name, value) in metadata.extra.sorted(by: { $0.key < $1.key }) {
      guard !MetadataKey.reserved.contains(name), !name.isEmpty else {
        throw BundleError(.invalidContent, path: path, "extra metadata may not be called \"\(name)\"")
      }
      rows.append((name, value))
    }
    guard !metadata.name.isEmpty else {
      throw BundleError(.invalidContent, path: path, "the bundle has no name", remedy: "give it one")
    }
    if let bad = rows.first(where: { $0.name.utf8.contains(0) || $0.value.utf8.contains(0) }) {
      throw BundleError(.invalidContent, path: path, "the \(bad.name) in the metadata holds a NUL character")
    }
    self.rows = rows
  }

  /// The given bounds, clipped to the tiles. MBTiles requires west < east, so an area across the antimeridian gets all
  /// longitudes.
  private static func clipped(
    _ given: BoundingBox?, to covered: BoundingBox, _ coverage: TileCoverage, _ matrixSet: TileMatrixSet
  ) -> BoundingBox {
    guard var box = given else { return covered }
    guard [box.west, box.south, box.east, box.north].allSatisfy(\.isFinite) else { return covered }
    if box.west > box.east || box.west < -180 || box.east > 180 { (box.west, box.east) = (-180, 180) }
    guard box.intersection(covered) != nil else { return covered }
    let common = coverage.reached(by: box, in: matrixSet).intersection(covered)
    guard let common, common.width > 0, common.height > 0 else { return covered }
    return common
  }

  private static func clipped(
    _ center: BundleMetadata.Center, to bounds: BoundingBox, zooms: ClosedRange<Int>
  ) -> BundleMetadata.Center {
    BundleMetadata.Center(
      longitude: min(max(center.longitude, bounds.west), bounds.east),
      latitude: min(max(center.latitude, bounds.south), bounds.north),
      zoom: min(max(center.zoom, zooms.lowerBound), zooms.upperBound))
  }

  /// The middle of the bounds, at the deepest zoom that fits a screen of 1024 x 768 pixels.
  private static func center(
    bounds: BoundingBox, given: BoundingBox?, _ coverage: TileCoverage, zooms: ClosedRange<Int>,
    matrixSet: TileMatrixSet
  ) -> BundleMetadata.Center {
    var box = bounds
    // An area across the antimeridian has its middle there, not at longitude 0.
    if let given, bounds.west == -180, bounds.east == 180,
      let parts = Optional(TileMatrixSet.splitAtAntimeridian(given)), parts.count == 2
    {
      (box.west, box.east) = (parts[0].west, parts[1].east + 360)
    } else if let (west, east) = coverage.longitudesAcrossAntimeridian(in: matrixSet) {
      (box.west, box.east) = (west, east)
    }
    var projected = matrixSet.crsBounds(ofGeographicBounds: box)
    if projected.width == 0 { projected = matrixSet.boundingBox }
    let zoom =
      zooms.last { zoom in
        projected.width <= 1024 * matrixSet[zoom].cellSize && projected.height <= 768 * matrixSet[zoom].cellSize
      } ?? zooms.lowerBound
    let middle = matrixSet.coordinate(of: projected.centre)
    // Between two areas beside the antimeridian there may be none: then the edge of one of them.
    return clipped(
      BundleMetadata.Center(
        longitude: TileMatrixSet.wrapped(middle.longitude), latitude: middle.latitude, zoom: zoom),
      to: bounds, zooms: zooms)
  }
}

/// The extent of a bundle's tiles: for each zoom their number and the rectangle around them.
struct TileCoverage {
  struct Level {
    var count = 0
    var range: TileRange
    /// Those with tiles; nil if they are many, or not known.
    var columns: Set<Int>? = []
  }

  /// Enough to see where an area lies, also one that a zoom of 64 columns has in two parts.
  fileprivate static let columnsMax = 64

  /// By zoom; only zooms that have tiles.
  private(set) var levels: [Int: Level] = [:]
  private(set) var count = 0

  mutating func insert(_ tile: TileID) {
    let single = TileRange(zoom: tile.zoom, columns: tile.column...tile.column, rows: tile.row...tile.row)
    count += 1
    levels[tile.zoom, default: Level(range: single)].insert(tile, single)
  }

  /// The longitudes of an area on both sides of the antimeridian that leaves at least half of the Earth out; the
  /// eastern one is beyond 180. Nil for other areas, and in grids that do not go around the Earth.
  func longitudesAcrossAntimeridian(in matrixSet: TileMatrixSet) -> (west: Double, east: Double)? {
    guard matrixSet.isGlobal, let zoom = levels.keys.filter({ levels[$0]?.columns != nil }).max(),
      let columns = levels[zoom]?.columns?.sorted(), let first = columns.first, let last = columns.last
    else { return nil }
    let gaps = zip(columns, columns.dropFirst()).map { (before: $0, after: $1, width: $1 - $0) }
    let width = matrixSet[zoom].matrixWidth
    guard let widest = gaps.max(by: { $0.width < $1.width }), 2 * widest.width > width,
      widest.width > first + width - last
    else { return nil }
    func bounds(_ column: Int) -> BoundingBox {
      matrixSet.geographicBounds(of: TileID(unchecked: zoom, column, levels[zoom]!.range.rows.lowerBound))
    }
    return (bounds(widest.after).west, bounds(widest.before).east + 360)
  }

  mutating func insert(zoom: Int, count: Int, range: TileRange) {
    levels[zoom] = Level(count: count, range: range, columns: nil)
    self.count += count
  }

  /// From the coarsest zoom with tiles to the finest; nil without tiles.
  var zooms: ClosedRange<Int>? {
    guard let first = levels.keys.min(), let last = levels.keys.max() else { return nil }
    return first...last
  }

  /// The zooms that no area ends before, or all if there are none.
  ///
  /// - Parameter variableDepth: the value of the metadata row ``VariableDepthMetadata``.
  func ofWholeZooms(_ variableDepth: String?) -> TileCoverage {
    guard let last = variableDepth.flatMap(VariableDepthMetadata.coarsest) else { return self }
    let whole = levels.filter { $0.key <= last }
    guard !whole.isEmpty else { return self }
    return TileCoverage(levels: whole, count: whole.values.reduce(0) { $0 + $1.count })
  }

  /// The box in degrees that the tiles of every zoom cover: the intersection of the zooms' boxes.
  ///
  /// If the intersection is empty, the box of the finest zoom. Nil without tiles.
  func bounds(in matrixSet: TileMatrixSet) -> BoundingBox? {
    guard let zooms else { return nil }
    func box(_ level: Level) -> BoundingBox { matrixSet.geographicBounds(of: level.range) }
    guard let finest = levels[zooms.upperBound].map(box) else { return nil }
    var common: BoundingBox? = finest
    for level in levels.values { common = common?.intersection(box(level)) }
    guard let common, common.width > 0, common.height > 0 else { return finest }
    return common
  }

  /// The box in degrees, extended until it touches the outermost tiles of every zoom. In a fitted CRS the box itself:
  /// around curved shapes it reaches further anyway.
  func reached(by box: BoundingBox, in matrixSet: TileMatrixSet) -> BoundingBox {
    if case .fitted = matrixSet.projection { return box }
    var box = box
    for level in levels.values {
      let corners = level.corners(in: matrixSet)
      box.west = min(box.west, corners.northWest.east)
      box.north = max(box.north, corners.northWest.south)
      box.east = max(box.east, corners.southEast.west)
      box.south = min(box.south, corners.southEast.north)
    }
    return box
  }
}

extension TileCoverage.Level {
  /// The boxes in degrees of the outermost tiles.
  fileprivate func corners(in matrixSet: TileMatrixSet) -> (northWest: BoundingBox, southEast: BoundingBox) {
    let first = TileID(unchecked: range.zoom, range.columns.lowerBound, range.rows.lowerBound)
    let last = TileID(unchecked: range.zoom, range.columns.upperBound, range.rows.upperBound)
    return (matrixSet.geographicBounds(of: first), matrixSet.geographicBounds(of: last))
  }
}

extension TileCoverage.Level {
  fileprivate mutating func insert(_ tile: TileID, _ single: TileRange) {
    count += 1
    if !range.contains(tile) { range = range.union(single) }
    if columns?.insert(tile.column).inserted == true, columns!.count > TileCoverage.columnsMax { columns = nil }
  }
}
