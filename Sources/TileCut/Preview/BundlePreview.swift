package import TileImage
public import TileIndex

/// One picture of any place and zoom, drawn from a bundle's tiles. For lists and shelves, and for a look before a map is shipped.
///
/// Where the bundle has no tile, the nearest of its coarser tiles is enlarged; where it has none of these either, the picture is transparent.
public struct BundlePreview: Sendable {
  /// Pixels.
  public struct Size: Hashable, Sendable, Codable {
    public var width: Int
    public var height: Int

    public init(width: Int, height: Int) {
      self.width = width
      self.height = height
    }
  }

  /// Degrees; a west greater than the east crosses the antimeridian. Nil for the bundle's bounds.
  public var bounds: BoundingBox?
  /// Nil for the zoom that the size asks for.
  public var zoom: Int?
  /// Nil for what the box has at the zoom, or for the box's shape with ``edgeDefault`` as the longer edge.
  public var size: Size?

  public static let edgeDefault = 1024
  /// Larger pictures are refused.
  public static let edgeMax = 16_384
  private static let pixelsMax = 100_000_000

  public init(bounds: BoundingBox? = nil, zoom: Int? = nil, size: Size? = nil) {
    self.bounds = bounds
    self.zoom = zoom
    self.size = size
  }

  /// Draws the picture as a PNG file.
  ///
  /// With a zoom, a pixel is one of that zoom and the box's centre is the picture's; with a size alone, the scale is the largest at which all of the box is seen.
  /// Either way the picture is filled: around a box of another shape the map goes on.
  ///
  /// - Throws: ``CutError`` with `.invalidOption` for boxes, zooms and sizes that cannot be; ``BundleError`` when the bundle cannot be read, has no tiles, or
  ///   a tile of it cannot be decoded.
  public func png(of bundle: any BundleReader) throws -> [UInt8] {
    try TileEncoder(.png(PNGOptions())).encode(try pixels(of: bundle))
  }

  package func pixels(of bundle: any BundleReader) throws -> PixelBuffer {
    // 1. Where, and at which scale. 2. The tiles of the next finer zoom side by side. 3. Reduced or enlarged to the scale.
    let tiles = try TileDrawing(bundle)
    let box = try frame(of: bundle)
    let view = try view(of: box, tiles)
    let level = tiles.level(for: view.cellSize, asked: zoom)
    return try tiles.canvas(over: view, zoom: level)
  }

  /// What a picture shows: its middle in CRS units, CRS units a pixel, and pixels.
  struct View {
    var centre: SIMD2<Double>
    var cellSize: Double
    var size: Size
  }

  private func view(of box: BoundingBox, _ tiles: TileDrawing) throws -> View {
    var cell: Double?
    if let zoom {
      guard tiles.matrixSet.zooms.contains(zoom) else {
        throw CutError(
          .invalidOption, path: tiles.path, "there is no zoom \(zoom) in \(tiles.matrixSet.identifier)",
          remedy: "choose one of \(tiles.matrixSet.zooms.lowerBound) to \(tiles.matrixSet.zooms.upperBound)")
      }
      cell = tiles.cellSize(zoom: zoom)
    }
    var size = size
    if size == nil {
      let edge = cell ?? max(box.width, box.height) / Double(Self.edgeDefault)
      let pixels = SIMD2(box.width, box.height) / edge
      guard pixels.max() < 1e9 else { throw tooLarge("more than \(Self.edgeMax)", tiles.path) }
      size = Size(width: max(Int(pixels.x.rounded()), 1), height: max(Int(pixels.y.rounded()), 1))
    }
    guard let size, size.width > 0, size.height > 0, max(size.width, size.height) <= Self.edgeMax,
      size.width * size.height <= Self.pixelsMax
    else { throw tooLarge(size.map { "\($0.width) x \($0.height)" } ?? "", tiles.path) }
    let fitting = max(box.width / Double(size.width), box.height / Double(size.height))
    return View(centre: box.centre, cellSize: cell ?? fitting, size: size)
  }

  private func tooLarge(_ size: String, _ path: String) -> CutError {
    CutError(
      .invalidOption, path: path, "a picture of \(size) pixels is none that can be drawn",
      remedy: "choose a smaller box, a coarser zoom, or a --size up to \(Self.edgeMax) pixels an edge")
  }

  /// The box in CRS units; beyond the grid's eastern edge where it crosses the antimeridian.
  private func frame(of bundle: any BundleReader) throws -> BoundingBox {
    let matrixSet = bundle.matrixSet
    var degrees: BoundingBox
    if let bounds { degrees = bounds } else { degrees = try Self.bounds(of: bundle) }
    guard [degrees.west, degrees.south, degrees.east, degrees.north].allSatisfy({ $0.isFinite }),
      degrees.south < degrees.north, degrees.west != degrees.east, abs(degrees.west) <= 540, abs(degrees.east) <= 540
    else {
      throw CutError(
        .invalidOption, path: bundle.path,
        "the box \(degrees.west),\(degrees.south),\(degrees.east),\(degrees.north) has no area",
        remedy: "give west,south,east,north in degrees")
    }
    if degrees.west > degrees.east { degrees.east += 360 }
    degrees.east = min(degrees.east, degrees.west + 360)
    let latitudes = matrixSet.latitudes
    degrees.south = min(max(degrees.south, latitudes.lowerBound), latitudes.upperBound)
    degrees.north = min(max(degrees.north, latitudes.lowerBound), latitudes.upperBound)
    let box = matrixSet.crsBounds(ofGeographicBounds: degrees)
    guard box.width > 0, box.height > 0 else {
      throw CutError(
        .invalidOption, path: bundle.path, "the box lies beyond the latitudes of \(matrixSet.identifier)",
        remedy: "give a box between \(latitudes.lowerBound) and \(latitudes.upperBound) degrees")
    }
    return box
  }

  private static func bounds(of bundle: any BundleReader) throws -> BoundingBox {
    if let stored = bundle.metadata.bounds, stored.west < stored.east, stored.south < stored.north,
      abs(stored.west) <= 180, abs(stored.east) <= 180
    {
      return stored
    }
    guard let zoom = try bundle.zooms().last, let range = try bundle.range(zoom: zoom) else {
      throw BundleError(.malformed, path: bundle.path, "has no tiles to show", remedy: "check what made it")
    }
    let matrix = bundle.matrixSet[zoom]
    let first = matrix.bounds(column: range.columns.lowerBound, row: range.rows.lowerBound)
    let last = matrix.bounds(column: range.columns.upperBound, row: range.rows.upperBound)
    return bundle.matrixSet.geographicBounds(ofCRSBounds: first.union(last))
  }
}
