import MapDrawing
import RegionCatalog
import Support
import TileImage
import TileIndex

/// A GPX or GeoJSON file as a bundle of any grid: transparent tiles with its tracks, areas and places, drawn when they
/// are read.
final class TrackReader: BundleReader {
  /// The grid of the tiles.
  struct Grid: Hashable, Sendable {
    var matrixSet = TileMatrixSet.webMercatorQuad
    /// Pixels of a tile for each of the grid.
    var factor = 1
    /// Pixels of a tile for each of the screen.
    var density = 1
  }

  let path: String
  let matrixSet: TileMatrixSet
  let metadata: StoredMetadata
  private let bounds: BoundingBox
  private let painter: TilePainter
  private let encoder = TileEncoder(.png(PNGOptions()))

  private let zoomMax: Int
  /// The finest pixels, those of zoom 18 of WebMercatorQuad with some tolerance: clients enlarge beyond.
  private static let degreesPerPixelMin = 0.7 * 360 / Double(256 << 18)
  static let extensions = [".gpx", ".geojson"]

  /// - Throws: `BundleError` for a file that cannot be read or drawn.
  init(path: String, on grid: Grid = Grid()) throws(BundleError) {
    self.path = path
    matrixSet = grid.matrixSet
    let degreesPerUnit = matrixSet.metresPerUnit * (180 / WebMercator.halfWorld)
    zoomMax =
      matrixSet.zooms.last { grid.matrixSet[$0].cellSize * degreesPerUnit >= Self.degreesPerPixelMin }
      ?? matrixSet.zooms.lowerBound
    let features: [MapFeature]
    do {
      features = try FeatureFile.features(path: path, properties: ["name", "sym"])
    } catch let error as TrackError {
      throw BundleError(
        error.code == .unreadable ? .notFound : .malformed, path: path, error.message, remedy: error.remedy)
    } catch {
      throw BundleError(.readFailed, path: path, "cannot be read: \(error)")
    }
    var bounds: BoundingBox?
    for feature in features { Self.extend(&bounds, feature.geometry) }
    guard let bounds else {
      throw BundleError(.malformed, path: path, "has no track and no place", remedy: "export the track again")
    }
    self.bounds = bounds
    do {
      painter = TilePainter(try Self.map(features, grid), insideOnly: false)
    } catch {
      throw BundleError(.readFailed, path: path, "cannot be drawn: \(error.message)", remedy: error.remedy)
    }
    let name = path.split(separator: "/").last.map(String.init) ?? path
    let box = [bounds.west, bounds.south, bounds.east, bounds.north].map(DecimalText.text).joined(separator: ",")
    metadata = StoredMetadata([
      .init(name: "name", value: name), .init(name: "format", value: "png"), .init(name: "type", value: "overlay"),
      .init(name: "bounds", value: box), .init(name: TileSizeRow.scale, value: "\(grid.density)"),
    ])
  }

  /// With the names of places, if fonts for them are there.
  private static func map(_ features: [MapFeature], _ grid: Grid) throws(DrawingError) -> VectorMap {
    // The factor is at most 8, which every grid's tiles can have.
    let matrixSet = (try? grid.matrixSet.withPixels(times: grid.factor)) ?? grid.matrixSet
    func map(_ style: String) throws(DrawingError) -> VectorMap {
      let rules = (try? JSONValue(parsing: Array(style.utf8)))?.array?.compactMap { StyleRule($0) { _, _, _ in } } ?? []
      let map = try VectorMap(
        [VectorMap.Layer(.features(features), rules: rules)], matrixSet: matrixSet, density: Double(grid.density))
      try map.check()
      return map
    }
    do {
      return try map("[\(lines),\(places)]")
    } catch  where !error.isCancelled {
      return try map("[\(lines),\(points)]")
    }
  }

  private static let lines = ##"""
    {"type": "fill", "paint": {"fill-color": "#be1e4b", "fill-opacity": 0.12}},
    {"type": "line", "layout": {"line-cap": "round", "line-join": "round"},
      "paint": {"line-color": "#ffffff", "line-opacity": 0.85,
        "line-width": ["interpolate", ["linear"], ["zoom"], 6, 4, 14, 7]}},
    {"type": "line", "layout": {"line-cap": "round", "line-join": "round"},
      "paint": {"line-color": "#be1e4b", "line-width": ["interpolate", ["linear"], ["zoom"], 6, 2, 14, 4]}}
    """##

  private static let points = ##"""
    {"type": "circle", "paint": {"circle-color": "#be1e4b", "circle-radius": 5, "circle-stroke-color": "#ffffff",
      "circle-stroke-width": 2}}
    """##

  /// The symbols are those of Garmin's devices.
  private static let places = ##"""
    {"type": "symbol", "filter": ["==", ["geometry-type"], "Point"],
      "layout": {
        "icon-image": ["match", ["get", "sym"], "Campground", "campground-badge", "Trail Head", "trailhead-badge",
          "Summit", "peak-badge", "Parking Area", "parking-badge", ["Drinking Water", "Water Source"], "water-badge",
          "Scenic Area", "viewpoint-badge", "Picnic Area", "picnic-badge", "Lodge", "shelter-badge",
          "Information", "information-badge", "circle"],
        "icon-size": 0.9, "icon-allow-overlap": true, "text-optional": true, "text-field": "{name}", "text-size": 12,
        "text-variable-anchor": ["left", "right", "top", "bottom"], "text-radial-offset": 1},
      "paint": {"icon-color": "#be1e4b", "icon-halo-color": "#ffffff", "icon-halo-width": 1.5, "text-color": "#7d1231",
        "text-halo-color": "#ffffff", "text-halo-width": 1.5}}
    """##

  private static func extend(_ box: inout BoundingBox?, _ geometry: GeoJSONGeometry) {
    func extend(_ points: [SIMD2<Double>]) {
      for point in points {
        let one = BoundingBox(west: point.x, south: point.y, east: point.x, north: point.y)
        box = box?.union(one) ?? one
      }
    }
    switch geometry {
    case .points(let points): extend(points)
    case .lines(let lines): for line in lines { extend(line) }
    case .polygons(let polygons): for polygon in polygons { extend(polygon.rings[0]) }
    case .collection(let parts): for part in parts { Self.extend(&box, part) }
    }
  }

  func zooms() -> [Int] { Array(matrixSet.zooms.lowerBound...zoomMax) }

  /// With a tile on each side, onto which names may reach.
  func range(zoom: Int) -> TileRange? {
    guard (matrixSet.zooms.lowerBound...zoomMax).contains(zoom) else { return nil }
    let matrix = matrixSet[zoom]
    var first = matrixSet.tileCoordinates(longitude: bounds.west, latitude: bounds.north, zoom: zoom)
    var last = matrixSet.tileCoordinates(longitude: bounds.east, latitude: bounds.south, zoom: zoom)
    if case .fitted = matrixSet.projection {
      // A box of degrees is a curved shape there, or lies elsewhere.
      guard let range = matrixSet.ranges(covering: bounds, zoom: zoom).first else { return nil }
      first = SIMD2(Double(range.columns.lowerBound), Double(range.rows.lowerBound))
      last = SIMD2(Double(range.columns.upperBound), Double(range.rows.upperBound))
    }
    func run(_ low: Double, _ high: Double, _ count: Int) -> ClosedRange<Int> {
      let start = max(0, min(count - 1, Int(low.rounded(.down)) - 1))
      return start...max(start, min(count - 1, Int(high.rounded(.down)) + 1))
    }
    return TileRange(
      zoom: zoom, columns: run(first.x, last.x, matrix.matrixWidth), rows: run(first.y, last.y, matrix.matrixHeight))
  }

  func withTile<Result>(_ tile: TileID, _ body: (UnsafeRawBufferPointer) throws -> Result) throws -> Result? {
    guard let range = range(zoom: tile.zoom), range.columns.contains(tile.column), range.rows.contains(tile.row),
      let pixels = try painter.painted(nil, tile)
    else { return nil }
    return try encoder.encode(pixels).withUnsafeBytes { try body($0) }
  }

  func forEachTile(in range: TileRange, _ body: (TileID, UnsafeRawBufferPointer) throws -> Void) throws {
    for column in range.columns {
      for row in range.rows.reversed() {
        let tile = TileID(unchecked: range.zoom, column, row)
        _ = try withTile(tile) { try body(tile, $0) }
      }
    }
  }
}
