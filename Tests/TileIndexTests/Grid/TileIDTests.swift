import TestSupport
import Testing
import TileIndex

@Suite(.ownThread) struct TileIDTests {
  @Test(arguments: [
    (0, 0, 0), (1, 1, 1), (30, (1 << 30) - 1, (1 << 30) - 1), (30, 0, 0),
  ])
  func tilesInsideTheMatrixAreValid(zoom: Int, column: Int, row: Int) throws {
    let tile = try TileID(zoom: zoom, column: column, row: row)
    #expect(tile.zoom == zoom && tile.column == column && tile.row == row)
    #expect(tile.description == "\(zoom)/\(column)/\(row)")
  }

  @Test(arguments: [
    (-1, 0, 0, GridError.Code.zoomOutOfRange, "zoom -1 is outside 0-30 of WebMercatorQuad"),
    (31, 0, 0, .zoomOutOfRange, "zoom 31 is outside 0-30 of WebMercatorQuad"),
    (0, 1, 0, .columnOutOfRange, "column 1 is outside 0-0 of WebMercatorQuad at zoom 0"),
    (3, -1, 0, .columnOutOfRange, "column -1 is outside 0-7 of WebMercatorQuad at zoom 3"),
    (3, 7, 8, .rowOutOfRange, "row 8 is outside 0-7 of WebMercatorQuad at zoom 3"),
    (3, 7, -1, .rowOutOfRange, "row -1 is outside 0-7 of WebMercatorQuad at zoom 3"),
    (30, 1 << 30, 0, .columnOutOfRange, "column 1073741824 is outside 0-1073741823 of WebMercatorQuad at zoom 30"),
  ])
  func tilesOutsideTheMatrixAreRefused(zoom: Int, column: Int, row: Int, code: GridError.Code, message: String) {
    let error = #expect(throws: GridError.self) { try TileID(zoom: zoom, column: column, row: row) }
    #expect(error?.code == code)
    #expect(error?.message == message)
  }

  @Test func validityDependsOnTheTileMatrixSet() throws {
    #expect(throws: GridError.self) { try TileID(zoom: 0, column: 1, row: 0) }
    #expect(try TileID(zoom: 0, column: 1, row: 0, in: .worldCRS84Quad).column == 1)
    #expect(throws: GridError.self) { try TileID(zoom: 0, column: 0, row: 1, in: .worldCRS84Quad) }
  }

  @Test func parentsAndChildrenAreInverse() throws {
    var random = SeededGenerator(seed: 11)
    for _ in 0..<2_000 {
      let tile = random.tile(zooms: 0...29)
      #expect(tile.children.count == 4)
      #expect(Set(tile.children).count == 4)
      for child in tile.children {
        #expect(child.parent == tile, "seed 11, \(tile)")
        #expect(TileMatrixSet.webMercatorQuad.contains(child))
      }
      #expect(TileMatrixSet.webMercatorQuad.children(of: tile).map(Array.init) == tile.children)
      #expect(TileMatrixSet.webMercatorQuad.parent(of: tile) == tile.parent)
    }
    #expect(try TileID(zoom: 0, column: 0, row: 0).parent == nil)
    #expect(try TileID(zoom: 30, column: 5, row: 5).children.isEmpty)
  }

  @Test func orderIsZoomThenRowThenColumn() throws {
    let tiles = try [(2, 0, 1), (1, 1, 0), (2, 3, 0), (1, 0, 1)].map { try TileID(zoom: $0.0, column: $0.1, row: $0.2) }
    #expect(tiles.sorted().map(\.description) == ["1/1/0", "1/0/1", "2/3/0", "2/0/1"])
  }
}

extension SeededGenerator {
  /// A random tile of a set; all zooms are equally likely.
  mutating func tile(zooms: ClosedRange<Int>, in set: TileMatrixSet = .webMercatorQuad) -> TileID {
    let zoom = Int.random(in: zooms, using: &self)
    return TileID(
      unchecked: zoom, Int.random(in: 0..<set[zoom].matrixWidth, using: &self),
      Int.random(in: 0..<set[zoom].matrixHeight, using: &self))
  }
}
