import Support
package import TileImage
package import TileIndex

/// A picture of any part of a map, drawn from a bundle's tiles: for lists, catalogues and checks before publication.
///
/// Where a tile is missing, the nearest coarser tile is enlarged; where there is none, the picture is transparent.
///
/// 1. Determine the box, the scale and the size (``PictureView``).
/// 2. Put the tiles of the next finer zoom side by side (``TileDrawing``).
/// 3. Reduce or enlarge them to the scale (``PictureScaler``).
package struct BundlePreview: Sendable {
  /// In pixels.
  package struct Size: Hashable, Sendable, Codable {
    package var width: Int
    package var height: Int

    package init(width: Int, height: Int) {
      self.width = width
      self.height = height
    }
  }

  /// WGS 84 degrees; west may exceed east across the antimeridian. Nil means the bundle's bounds.
  package var bounds: BoundingBox?
  /// Nil means the zoom that fits the size.
  package var zoom: Int?
  /// Nil means the size of the box at the zoom, or the shape of the box with ``edgeDefault`` as the longer edge.
  package var size: Size?

  package static let edgeDefault = 1024
  /// The largest edge; larger pictures are refused.
  package static let edgeMax = 16_384
  private static let pixelsMax = 100_000_000

  package init(bounds: BoundingBox? = nil, zoom: Int? = nil, size: Size? = nil) {
    self.bounds = bounds
    self.zoom = zoom
    self.size = size
  }

  /// Draws the picture as a PNG file.
  ///
  /// With a zoom, the picture has that zoom's pixel size and is centred on the box. With a size alone, the scale is the
  /// largest one at which the whole box is visible. In both cases the map fills the picture beyond a box of another
  /// shape.
  ///
  /// - Throws: ``CutError`` `.invalidOption` for impossible boxes, zooms and sizes; ``BundleError`` if the bundle
  ///   cannot be read, has no tiles, or has a tile that cannot be decoded.
  package func png(of bundle: any BundleReader) throws -> [UInt8] { try png(of: bundle, refusingEmpty: false) }

  /// - Parameter refusingEmpty: throws ``CutError`` `.invalidOption` where the picture shows nothing.
  package func png(of bundle: any BundleReader, refusingEmpty: Bool) throws -> [UInt8] {
    let pixels = try pixels(of: bundle)
    guard !refusingEmpty || pixels.opacity != .transparent else {
      let ground = try Self.bounds(of: bundle)
      // Six digits: a tenth of a metre.
      let box = [ground.west, ground.south, ground.east, ground.north]
        .map { DecimalText.text(($0 * 1e6).rounded() / 1e6) }.joined(separator: ",")
      throw CutError(
        .invalidOption, path: bundle.path, "shows nothing in the box that was asked for",
        remedy: "choose one within \(box)")
    }
    return try TileEncoder(.png(PNGOptions())).encode(pixels)
  }

  package func pixels(of bundle: any BundleReader) throws -> PixelBuffer {
    let tiles = try TileDrawing(bundle)
    let box = try frame(of: bundle)
    let view = try view(of: box, tiles)
    let level = tiles.level(for: view.cellSize, asked: zoom)
    return try tiles.canvas(over: view, zoom: level)
  }

  private func view(of box: BoundingBox, _ tiles: TileDrawing) throws -> PictureView {
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
    return PictureView(centre: box.centre, cellSize: cell ?? fitting, width: size.width, height: size.height)
  }

  private func tooLarge(_ size: String, _ path: String) -> CutError {
    CutError(
      .invalidOption, path: path, "a picture of \(size) pixels is none that can be drawn",
      remedy: "choose a smaller box, a coarser zoom, or a --size up to \(Self.edgeMax) pixels an edge")
  }

  /// The box in CRS units; it extends beyond the grid's eastern edge if it crosses the antimeridian.
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
