/// A rectangle of tiles of one zoom. Never empty; a sequence in row-major order from the north west.
public struct TileRange: Hashable, Sendable {
  /// The zoom of all its tiles.
  public let zoom: Int
  /// Columns, from the west.
  public let columns: ClosedRange<Int>
  /// Rows, from the north.
  public let rows: ClosedRange<Int>

  /// A rectangle of tiles, which may go beyond the grid.
  public init(zoom: Int, columns: ClosedRange<Int>, rows: ClosedRange<Int>) {
    self.zoom = zoom
    self.columns = columns
    self.rows = rows
  }

  /// The number of tiles, at most 2^62 in the well-known sets.
  public var count: Int { columns.count * rows.count }

  /// True when the tile has this zoom and lies in the rectangle.
  public func contains(_ tile: TileID) -> Bool {
    tile.zoom == zoom && columns.contains(tile.column) && rows.contains(tile.row)
  }

  /// The common tiles, or nil when there are none or the zooms differ.
  public func intersection(_ other: TileRange) -> TileRange? {
    guard zoom == other.zoom, columns.overlaps(other.columns), rows.overlaps(other.rows) else { return nil }
    return TileRange(zoom: zoom, columns: columns.clamped(to: other.columns), rows: rows.clamped(to: other.rows))
  }

  /// The smallest range of this zoom around both.
  public func union(_ other: TileRange) -> TileRange {
    precondition(zoom == other.zoom, "ranges of zoom \(zoom) and \(other.zoom) have no union")
    return TileRange(
      zoom: zoom,
      columns: Self.hull(columns, other.columns), rows: Self.hull(rows, other.rows))
  }

  private static func hull(_ a: ClosedRange<Int>, _ b: ClosedRange<Int>) -> ClosedRange<Int> {
    Swift.min(a.lowerBound, b.lowerBound)...Swift.max(a.upperBound, b.upperBound)
  }
}

extension TileRange: Sequence {
  /// Walks the rectangle row by row.
  public struct Iterator: IteratorProtocol {
    let range: TileRange
    var column: Int
    var row: Int

    public mutating func next() -> TileID? {
      guard row <= range.rows.upperBound else { return nil }
      defer {
        column += 1
        if column > range.columns.upperBound { (column, row) = (range.columns.lowerBound, row + 1) }
      }
      return TileID(unchecked: range.zoom, column, row)
    }
  }

  public func makeIterator() -> Iterator {
    Iterator(range: self, column: columns.lowerBound, row: rows.lowerBound)
  }

  public var underestimatedCount: Int { count }
}

extension TileRange: CustomStringConvertible {
  /// `zoom/first column-last column/first row-last row`
  public var description: String {
    "\(zoom)/\(columns.lowerBound)-\(columns.upperBound)/\(rows.lowerBound)-\(rows.upperBound)"
  }
}
