/// How tiles lie to the bounds that their bundle states. Some makers number rows from the wrong end, or mean another
/// grid; then tiles meet the bounds only if they are read so.
///
/// A few tiles of one column are enough: a bundle is opened often, and may be large.
enum StatedPosition: Equatable {
  /// As far from south to north as the bounds.
  case whole
  /// Within the bounds, or within one tile of them.
  case inside
  /// Partly inside.
  case partial
  /// Nowhere near.
  case outside

  /// - Parameters:
  ///   - rows: from the north, the first and last of the column; they may lie outside the grid.
  ///   - bounds: in degrees.
  init(column: Int, rows: ClosedRange<Int>, zoom: Int, to bounds: BoundingBox, in matrixSet: TileMatrixSet) {
    self = .outside
    guard matrixSet.zooms.contains(zoom) else { return }
    let matrix = matrixSet[zoom]
    guard (0..<matrix.matrixWidth).contains(column), rows.lowerBound >= 0, rows.upperBound < matrix.matrixHeight,
      let stated = matrixSet.ranges(covering: bounds, zoom: zoom)
        .first(where: { $0.columns.lowerBound - 1 <= column && column <= $0.columns.upperBound + 1 })?.rows
    else { return }
    let first = rows.lowerBound - stated.lowerBound
    let last = rows.upperBound - stated.upperBound
    if abs(first) <= 1, abs(last) <= 1 {
      self = .whole
    } else if first >= -1, last <= 1 {
      self = .inside
    } else if rows.upperBound >= stated.lowerBound - 1, rows.lowerBound <= stated.upperBound + 1 {
      self = .partial
    }
  }

  /// True where another reading fits the bounds and this one contradicts them.
  func isContradicted(by other: StatedPosition) -> Bool {
    switch self {
    case .outside: other == .whole || other == .inside
    case .partial: other == .whole
    case .inside, .whole: false
    }
  }
}

extension StoredMetadata {
  /// The bounds, if they can tell one end of the rows from the other; nil for those that say nothing about it.
  var tellingBounds: BoundingBox? {
    guard self[FlatImage.metadataKey] == nil, let bounds = bounds.flatMap(Self.plausible),
      abs(bounds.south + bounds.north) > 1e-3
    else { return nil }
    return bounds
  }
}

extension StoredMetadata {
  /// A warning where tiles lie nowhere near the stated bounds: they may have been mirrored before, or the bounds be
  /// those of another map. Nil for most bundles.
  ///
  /// - Parameters:
  ///   - tiles: of the deepest zoom, as they are read.
  ///   - path: of the bundle.
  package func tilesElsewhere(_ tiles: TileRange, in matrixSet: TileMatrixSet, path: String) -> BundleError? {
    guard let bounds else { return nil }
    func isNear(_ first: ClosedRange<Int>, _ second: ClosedRange<Int>) -> Bool {
      first.lowerBound <= second.upperBound + 1 && second.lowerBound <= first.upperBound + 1
    }
    let stated = matrixSet.ranges(covering: bounds, zoom: tiles.zoom)
    guard !stated.isEmpty, !stated.contains(where: { isNear($0.columns, tiles.columns) && isNear($0.rows, tiles.rows) })
    else { return nil }
    return BundleError(
      .malformed, path: path, "its tiles lie outside the bounds that it states", remedy: "see which are wrong",
      repair: .verify)
  }
}

extension BundleError {
  /// Rows are numbered from the other end than the container says.
  static func rowsFlipped(_ path: String, from end: String, not other: String) -> BundleError {
    BundleError(
      .malformed, path: path,
      "numbers its rows from the \(end), not from the \(other): its bounds fit only so, and it is read so",
      remedy: "convert it, and its rows are as readers expect them")
  }

  /// Zooms count from a single tile of 360 degrees.
  static func zoomsShifted(_ path: String) -> BundleError {
    BundleError(
      .malformed, path: path,
      """
      numbers its zooms from one tile of 360 degrees, as gdal2tiles does by itself: its bounds fit only \
      so, and its zoom 1 is read as zoom 0 of WorldCRS84Quad
      """,
      remedy: "convert it, and its zooms are as readers expect them")
  }
}
