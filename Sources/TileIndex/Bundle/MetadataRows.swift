import Support

/// The rows of the metadata table for a finished set of tiles.
///
/// 1. Bounds are cut to what every zoom has, and reach all tiles; 2. zooms come from the tiles; 3. a missing center is chosen; 4. all becomes text.
struct MetadataRows {
  /// Names and values in the order of the table.
  let rows: [(name: String, value: String)]
  let zooms: ClosedRange<Int>

  /// - Throws: ``BundleError`` with `.invalidContent` when there are no tiles or a value may not be stored.
  init(
    _ metadata: BundleMetadata, coverage: TileCoverage, matrixSet: TileMatrixSet, format: TileFormat, path: String
  ) throws {
    guard let zooms = coverage.zooms, let covered = coverage.bounds(in: matrixSet) else {
      throw BundleError(
        .invalidContent, path: path, "not one tile was written, so there is no bundle",
        remedy: "check that the source has visible pixels inside the bounds and zooms asked for")
    }
    self.zooms = zooms
    let bounds = Self.clipped(metadata.bounds, to: covered, coverage, matrixSet)
    let center =
      metadata.center.map { Self.clipped($0, to: bounds, zooms: zooms) }
      ?? Self.center(bounds: bounds, given: metadata.bounds, zooms: zooms, matrixSet: matrixSet)

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
      rows.append((MBTilesSchema.matrixSetKey, matrixSet.uri))
      rows.append((MBTilesSchema.crsKey, matrixSet.crs))
      if TileMatrixSet.named(matrixSet.uri) != matrixSet, let definition = matrixSet.definition {
        rows.append((MBTilesSchema.gridKey, definition.text))
      }
    }
    for (name, value) in metadata.extra.sorted(by: { $0.key < $1.key }) {
      guard !MBTilesSchema.ownKeys.contains(name), !name.isEmpty else {
        throw BundleError(.invalidContent, path: path, "extra metadata may not be called \"\(name)\"")
      }
      rows.append((name, value))
    }
    guard !metadata.name.isEmpty else {
      throw BundleError(.invalidContent, path: path, "the bundle has no name", remedy: "give one with --name")
    }
    if let bad = rows.first(where: { $0.name.utf8.contains(0) || $0.value.utf8.contains(0) }) {
      throw BundleError(.invalidContent, path: path, "the \(bad.name) in the metadata holds a NUL character")
    }
    self.rows = rows
  }

  /// The given bounds, where tiles are. MBTiles wants west < east, so a region across the antimeridian goes all the way round.
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

  /// The middle, at the deepest zoom where the region still fits a screen of 1024 x 768 pixels.
  private static func center(
    bounds: BoundingBox, given: BoundingBox?, zooms: ClosedRange<Int>, matrixSet: TileMatrixSet
  ) -> BundleMetadata.Center {
    var box = bounds
    if let given, bounds.west == -180, bounds.east == 180,
      let parts = Optional(TileMatrixSet.splitAtAntimeridian(given)), parts.count == 2
    {
      // The middle of a region across the antimeridian is not the middle of the world.
      (box.west, box.east) = (parts[0].west, parts[1].east + 360)
    }
    let projected = matrixSet.crsBounds(ofGeographicBounds: box)
    let zoom =
      zooms.last { zoom in
        projected.width <= 1024 * matrixSet[zoom].cellSize && projected.height <= 768 * matrixSet[zoom].cellSize
      } ?? zooms.lowerBound
    let middle = matrixSet.coordinate(of: projected.centre)
    return BundleMetadata.Center(
      longitude: TileMatrixSet.wrapped(middle.longitude), latitude: middle.latitude, zoom: zoom)
  }
}
