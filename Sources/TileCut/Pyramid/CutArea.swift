import RegionCatalog
import TileImage
import TileIndex

/// The part of the world that a cut makes: what the sources cover within the bounds and the area to clip to.
struct CutArea: Sendable {
  /// What may be shown of each source, in target CRS units: boxes that may overlap.
  let boxes: [[BoundingBox]]
  /// The bounding box of the sources clipped to the bounds and the area, in target CRS units.
  let outline: BoundingBox
  /// The same box; if the sources cross the antimeridian, not the full width but a box beyond the eastern edge.
  let extent: BoundingBox
  /// Boxes in target CRS units outside which nothing is drawn; nil draws everything.
  private let clipBoxes: [BoundingBox]?

  /// - Parameters:
  ///   - bounds: in degrees; nil takes the sources whole.
  ///   - area: what is shown, in pixels of `zoom`; nil shows everything.
  /// - Throws: ``CutError`` `.invalidOption` if nothing is left, or for bounds that are no box of degrees.
  init(
    of footprints: [SourceFootprint], within bounds: BoundingBox?, and area: PixelArea?, zoom: Int,
    in matrixSet: TileMatrixSet
  ) throws {
    let clipBoxes = try bounds.map { try Self.clipBoxes($0, matrixSet: matrixSet) }
    func withinBounds(_ boxes: [BoundingBox]) -> [BoundingBox] {
      let parts = clipBoxes.map { clips in boxes.flatMap { box in clips.compactMap { box.intersection($0) } } }
      return (parts ?? boxes).filter { $0.width > 0 && $0.height > 0 }
    }
    var boxes = footprints.map { withinBounds($0.boxes) }
    let outlines = footprints.flatMap { withinBounds($0.outlines) }
    guard boxes.contains(where: { !$0.isEmpty }), let first = outlines.first else {
      throw CutError(
        .invalidOption, "the bounds and the sources have no ground in common",
        remedy: "choose bounds (west, south, east, north in degrees) within the sources")
    }
    let hull = outlines.dropFirst().reduce(first) { $0.union($1) }

    if let area {
      let around = try Self.box(around: area, matrix: matrixSet[zoom])
      boxes = boxes.map { $0.compactMap { $0.intersection(around) } }
      outline = try Self.clipped(hull, to: around, world: matrixSet.boundingBox)
    } else {
      outline = hull
    }
    extent = Self.extent(outlines, within: outline, matrixSet: matrixSet)
    (self.boxes, self.clipBoxes) = (boxes, clipBoxes)
  }

  /// Rectangles of a zoom's pixels outside which nothing is drawn; nil draws everything.
  func clips(_ matrix: TileMatrix) -> [PixelRect]? { clipBoxes?.map { Self.pixels(of: $0, matrix: matrix) } }

  private static func extent(
    _ outlines: [BoundingBox], within outline: BoundingBox, matrixSet: TileMatrixSet
  ) -> BoundingBox {
    let parts = outlines.compactMap { $0.intersection(outline) }
    let sides = SourceFootprint.outlines(parts, world: matrixSet.boundingBox, isGlobal: matrixSet.isGlobal)
    guard sides.count == 2 else { return outline }
    return BoundingBox(
      west: sides[0].west, south: min(sides[0].south, sides[1].south),
      east: sides[1].east + matrixSet.boundingBox.width, north: max(sides[0].north, sides[1].north))
  }

  /// Checks the user's bounds. Everything that computes with them relies on this.
  ///
  /// - Throws: ``CutError`` `.invalidOption`.
  static func requireBox(_ bounds: BoundingBox) throws {
    let values = [bounds.west, bounds.south, bounds.east, bounds.north]
    guard values.allSatisfy(\.isFinite), bounds.south < bounds.north, bounds.west != bounds.east,
      abs(bounds.south) <= 90, abs(bounds.north) <= 90, abs(bounds.west) <= 540, abs(bounds.east) <= 540
    else {
      throw CutError(
        .invalidOption, "these bounds are no box of degrees: \(values.map { "\($0)" }.joined(separator: ","))",
        remedy: "give them as west,south,east,north")
    }
  }

  private static func clipBoxes(_ bounds: BoundingBox, matrixSet: TileMatrixSet) throws -> [BoundingBox] {
    try requireBox(bounds)
    // A fitted CRS knows no antimeridian.
    let parts = matrixSet.isGlobal ? TileMatrixSet.splitAtAntimeridian(bounds) : [bounds]
    return parts.filter { $0.width > 0 || !matrixSet.isGlobal }.map { matrixSet.crsBounds(ofGeographicBounds: $0) }
  }

  static let nothingToShow = CutError(
    .invalidOption, "the area to clip to and the sources have no ground in common",
    remedy: "give its polygons in degrees, longitude first, within the sources")

  private static func box(around area: PixelArea, matrix: TileMatrix) throws -> BoundingBox {
    guard let bounds = area.bounds else { throw nothingToShow }
    let (corner, opposite) = (matrix.point(atPixel: bounds.low), matrix.point(atPixel: bounds.high))
    return BoundingBox(west: corner.x, south: opposite.y, east: opposite.x, north: corner.y)
  }

  /// The part of an outline that lies in another box, or in the same box a turn east for an outline that reaches beyond
  /// the world's eastern edge.
  private static func clipped(_ outline: BoundingBox, to box: BoundingBox, world: BoundingBox) throws -> BoundingBox {
    var turned = box
    turned.west += world.width
    turned.east += world.width
    let parts = [box, turned].compactMap { outline.intersection($0) }.filter { $0.width > 0 && $0.height > 0 }
    guard let first = parts.first else { throw nothingToShow }
    return parts.dropFirst().reduce(first) { $0.union($1) }
  }

  /// The pixels whose centres lie in a box.
  private static func pixels(of box: BoundingBox, matrix: TileMatrix) -> PixelRect {
    let low = matrix.pixelCoordinates(of: SIMD2(box.west, box.north))
    let high = matrix.pixelCoordinates(of: SIMD2(box.east, box.south))
    // A tolerance for box edges that coincide with pixel centres except for rounding errors.
    let tolerance = 1e-6
    let x = Int((low.x - 0.5 - tolerance).rounded(.up))
    let y = Int((low.y - 0.5 - tolerance).rounded(.up))
    return PixelRect(
      x: x, y: y, width: max(Int((high.x - 0.5 + tolerance).rounded(.down)) + 1 - x, 0),
      height: max(Int((high.y - 0.5 + tolerance).rounded(.down)) + 1 - y, 0))
  }
}
