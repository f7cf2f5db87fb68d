public import Support

/// The address of a tile in a tile matrix set: zoom level, column and row from the top left corner (XYZ).
///
/// TMS rows, which count from the bottom, exist only inside MBTiles files; see `MBTilesRow`.
public struct TileID: Hashable, Sendable {
  /// Level in the tile matrix set; 0 is the coarsest.
  public let zoom: Int
  /// Column, from the western edge.
  public let column: Int
  /// Row, from the northern edge.
  public let row: Int

  /// The deepest zoom level that a tile matrix set may have.
  public static let zoomMax = 30

  /// Makes a tile that is known to lie inside its matrix. Input from outside goes through
  /// ``init(zoom:column:row:in:)``, which checks.
  package init(unchecked zoom: Int, _ column: Int, _ row: Int) {
    self.zoom = zoom
    self.column = column
    self.row = row
  }
}

extension TileID: Comparable {
  /// Orders by zoom, then row, then column.
  public static func < (a: TileID, b: TileID) -> Bool {
    (a.zoom, a.row, a.column) < (b.zoom, b.row, b.column)
  }
}

extension TileID: CustomStringConvertible {
  /// `zoom/column/row`, the order of XYZ URLs.
  public var description: String { "\(zoom)/\(column)/\(row)" }
}

extension TileID: Codable {
  private enum CodingKeys: CodingKey {
    case zoom, column, row
  }

  /// Decodes `{"zoom": 5, "column": 7, "row": 12}`. Numbers that no tile matrix set has are an error; whether a
  /// bundle's set has the tile is for its reader to say.
  public init(from decoder: any Decoder) throws {
    let values = try decoder.container(keyedBy: CodingKeys.self)
    let (zoom, column, row) = (
      try values.decode(Int.self, forKey: .zoom), try values.decode(Int.self, forKey: .column),
      try values.decode(Int.self, forKey: .row)
    )
    guard (0...Self.zoomMax).contains(zoom), (0..<Self.sideMax).contains(column), (0..<Self.sideMax).contains(row)
    else {
      throw DecodingError.dataCorrupted(
        .init(codingPath: decoder.codingPath, debugDescription: "there is no tile \(zoom)/\(column)/\(row)"))
    }
    self.init(unchecked: zoom, column, row)
  }

  /// The most columns or rows that a tile matrix may have.
  static var sideMax: Int { 1 << 31 }
}

/// Parent and children in sets that step by 2; for other sets see ``TileMatrixSet/parent(of:)`` and
/// ``TileMatrixSet/children(of:)``.
extension TileID {
  /// The tile one zoom up that contains this one, in a set that steps by 2; nil at zoom 0.
  public var parent: TileID? {
    zoom == 0 ? nil : TileID(unchecked: zoom - 1, column >> 1, row >> 1)
  }

  /// The four tiles one zoom down, in a set that steps by 2: north west, north east, south west, south east. Empty at
  /// ``zoomMax``.
  public var children: [TileID] {
    guard zoom < Self.zoomMax else { return [] }
    let (column, row) = (column << 1, row << 1)
    return [
      TileID(unchecked: zoom + 1, column, row), TileID(unchecked: zoom + 1, column + 1, row),
      TileID(unchecked: zoom + 1, column, row + 1), TileID(unchecked: zoom + 1, column + 1, row + 1),
    ]
  }
}

extension TileID {
  /// The Bing Maps quadkey: one digit for each zoom, 0 north west, 1 north east, 2 south west, 3 south east; empty at
  /// zoom 0.
  ///
  /// Only for sets that step by 2 from a single tile, as WebMercatorQuad does. Precondition: the tile lies in such a
  /// set.
  public var quadkey: String {
    precondition(isInQuadTree, "tile \(self) lies outside a quad tree, so it has no quadkey")
    return String(
      decoding: (0..<zoom).reversed().map { bit in
        UInt8(ascii: "0") + UInt8(column >> bit & 1) + UInt8(row >> bit & 1) * 2
      }, as: UTF8.self)
  }

  /// The tile with a Bing Maps quadkey.
  ///
  /// - Throws: ``GridError`` with `.invalidQuadkey` for other digits than 0 to 3 and for more than ``zoomMax`` of them.
  public init(quadkey: String) throws {
    guard quadkey.utf8.count <= Self.zoomMax else {
      throw GridError(.invalidQuadkey, "quadkey \"\(quadkey)\" has more than \(Self.zoomMax) digits")
    }
    var (column, row) = (0, 0)
    for digit in quadkey.utf8 {
      guard digit >= UInt8(ascii: "0"), digit <= UInt8(ascii: "3") else {
        throw GridError(.invalidQuadkey, "quadkey \"\(quadkey)\" has other digits than 0 to 3")
      }
      let quadrant = Int(digit - UInt8(ascii: "0"))
      column = column << 1 | quadrant & 1
      row = row << 1 | quadrant >> 1
    }
    self.init(unchecked: quadkey.utf8.count, column, row)
  }

  /// True when the tile lies in a quadtree that starts with one tile.
  package var isInQuadTree: Bool {
    zoom >= 0 && zoom <= Self.zoomMax && column >= 0 && row >= 0 && column >> zoom == 0 && row >> zoom == 0
  }
}

extension TileID {
  /// The tile's number in the order of PMTiles v3, section 4.1: all tiles of the coarser zooms, then this zoom along a
  /// Hilbert curve.
  ///
  /// 0/0/0 is 0; 1/0/0, 1/0/1, 1/1/1, 1/1/0 are 1 to 4. Through zoom 30 the ids stay below 2^61.
  /// Only for sets that step by 2 from a single tile. Precondition: the tile lies in such a set.
  /// - Complexity: O(zoom).
  public var hilbertID: UInt64 {
    precondition(isInQuadTree, "tile \(self) lies outside a quad tree, so it has no Hilbert id")
    var (x, y) = (UInt64(column), UInt64(row))
    var distance: UInt64 = 0
    for bit in (0..<zoom).reversed() {
      let side: UInt64 = 1 << UInt64(bit)
      let (rx, ry) = (x >> UInt64(bit) & 1, y >> UInt64(bit) & 1)
      distance += (side * side) * (3 * rx ^ ry)
      (x, y) = Self.rotated(x & (side - 1), y & (side - 1), side: side, rx: rx, ry: ry)
    }
    return Self.firstHilbertID(zoom: zoom) + distance
  }

  /// The tile with a PMTiles v3 number; the inverse of ``hilbertID``.
  ///
  /// - Throws: ``GridError`` with `.invalidHilbertID` for ids beyond ``zoomMax``.
  public init(hilbertID: UInt64) throws {
    guard hilbertID < Self.firstHilbertID(zoom: Self.zoomMax + 1) else {
      throw GridError(.invalidHilbertID, "Hilbert id \(hilbertID) lies beyond zoom \(Self.zoomMax)")
    }
    // 4^zoom <= 3 id + 1 < 4^(zoom + 1), so the zoom is half the number of binary digits.
    let zoom = (63 - (3 * hilbertID + 1).leadingZeroBitCount) / 2
    var distance = hilbertID - Self.firstHilbertID(zoom: zoom)
    var (x, y): (UInt64, UInt64) = (0, 0)
    for bit in 0..<UInt64(zoom) {
      let side: UInt64 = 1 << bit
      let rx = distance >> 1 & 1
      let ry = (distance ^ rx) & 1
      (x, y) = Self.rotated(x, y, side: side, rx: rx, ry: ry)
      x += side * rx
      y += side * ry
      distance >>= 2
    }
    self.init(unchecked: zoom, Int(x), Int(y))
  }

  /// The number of tiles in all coarser zooms, (4^zoom - 1) / 3, which is the id of the zoom's first tile.
  package static func firstHilbertID(zoom: Int) -> UInt64 { ((1 << UInt64(2 * zoom)) - 1) / 3 }

  /// Rotates the curve within one quadrant of the given side into its orientation in the whole.
  private static func rotated(
    _ x: UInt64, _ y: UInt64, side: UInt64, rx: UInt64, ry: UInt64
  ) -> (UInt64, UInt64) {
    guard ry == 0 else { return (x, y) }
    return rx == 1 ? (side - 1 - y, side - 1 - x) : (y, x)
  }
}

/// A tile, quadkey, Hilbert id or tile matrix set that cannot exist. The message names the value and its range.
public struct GridError: ToolkitError, Hashable {
  /// The kind of failure, for programs; new kinds may be added.
  public struct Code: Hashable, Sendable, CustomStringConvertible {
    public let description: String
    package init(_ description: String) { self.description = description }

    /// The tile matrix set has no such zoom level.
    public static let zoomOutOfRange = Code("zoom out of range")
    /// The column lies outside the matrix of its zoom level.
    public static let columnOutOfRange = Code("column out of range")
    /// The row lies outside the matrix of its zoom level.
    public static let rowOutOfRange = Code("row out of range")
    /// The quadkey has other digits than 0 to 3, or is too long.
    public static let invalidQuadkey = Code("invalid quadkey")
    /// No tile down to the deepest zoom has this Hilbert id.
    public static let invalidHilbertID = Code("invalid Hilbert id")
    /// The levels do not fit each other.
    package static let invalidMatrixSet = Code("invalid tile matrix set")
  }

  /// The kind of failure.
  public let code: Code
  /// What is wrong; starts in lower case.
  public let message: String
  /// What to do about it; starts in lower case.
  public var remedy: String? {
    switch code {
    case .zoomOutOfRange: "take one of the zooms of its tile matrix set"
    case .columnOutOfRange: "count columns from the west, beginning with 0"
    case .rowOutOfRange: "count rows from the north, beginning with 0"
    case .invalidQuadkey: "give one digit from 0 to 3 for each zoom"
    case .invalidHilbertID: "take the number that a tile's `hilbertID` has"
    case .invalidMatrixSet: "check the levels of the tile matrix set"
    default: "check the value"
    }
  }

  /// An error; the message begins in lower case.
  public init(_ code: Code, _ message: String) {
    self.code = code
    self.message = message
  }
}

/// The row numbers of MBTiles files, which count from the bottom as in TMS. The only place where rows are flipped.
package enum MBTilesRow {
  /// The stored row of a tile, or the row of a stored tile: the flip is its own inverse.
  ///
  /// In Web Mercator the matrix is 2^zoom high: tile 11/327/791 is stored in row 1256.
  package static func flipped(_ row: Int, matrixHeight: Int) -> Int { matrixHeight - 1 - row }
}
