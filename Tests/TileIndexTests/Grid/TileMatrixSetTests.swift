import TestSupport
import Testing
import TileIndex

/// A set in degrees as used by map publishers: 32°, 8°, 2°, 30′, 7.5′, 2.5′.
let tradeDegrees: TileMatrixSet = {
  do {
    return try TileMatrixSet(
      identifier: "TradeDegrees", uri: "https://example.org/tms/TradeDegrees",
      tileEdges: [32, 8, 2, 0.5, 0.125, 2.5 / 60], tileSizes: [256])
  } catch { fatalError("\(error)") }
}()

@Suite(.ownThread) struct TileMatrixSetTests {
  /// Values from OGC 17-083r4, annex D.
  @Test(arguments: [
    ("WebMercatorQuad", 0, 559082264.028717, 156543.033928041, 1, 1),
    ("WebMercatorQuad", 18, 2132.72958384978, 0.5971642834779395, 262144, 262144),
    ("WorldCRS84Quad", 0, 279541132.014358, 0.703125, 2, 1),
    ("WorldCRS84Quad", 17, 2132.72958384978, 0.00000536441802978516, 262144, 131072),
  ])
  func wellKnownSetsMatchOGC(
    name: String, zoom: Int, scale: Double, cell: Double, columns: Int, rows: Int
  ) throws {
    let set = try #require(TileMatrixSet.named(name))
    let matrix = set[zoom]
    #expect(abs(matrix.scaleDenominator / scale - 1) < 1e-12)
    #expect(abs(matrix.cellSize / cell - 1) < 1e-12)
    #expect(matrix.matrixWidth == columns && matrix.matrixHeight == rows)
    #expect(matrix.tileWidth == 256 && matrix.tileHeight == 256)
    #expect(matrix.identifier == String(zoom))
    #expect(set.uri == "http://www.opengis.net/def/tilematrixset/OGC/1.0/\(name)")
    #expect(set.zooms == 0...30)
    #expect(set.isGlobal)
  }

  @Test func setsAreFoundByNameOrURI() {
    #expect(TileMatrixSet.named("worldcrs84quad") == .worldCRS84Quad)
    #expect(TileMatrixSet.named(TileMatrixSet.webMercatorQuad.uri) == .webMercatorQuad)
    #expect(TileMatrixSet.named("WorldMercatorWGS84Quad") == nil)
    #expect(TileMatrixSet.webMercatorQuad.crs == "EPSG:3857")
    #expect(TileMatrixSet.worldCRS84Quad.crs == "OGC:CRS84")
    #expect(TileMatrixSet.worldCRS84Quad.latitudes == -90...90)
    #expect(TileMatrixSet.webMercatorQuad.latitudes == -85.0511287798066...85.0511287798066)
  }

  @Test func degreeLevelsStepBy4And3() {
    #expect(tradeDegrees.zooms == 0...5)
    #expect((0..<5).map(tradeDegrees.ratio(below:)) == [4, 4, 4, 4, 3])
    #expect(tradeDegrees.matrices.map(\.matrixWidth) == [12, 45, 180, 720, 2880, 8640])
    #expect(tradeDegrees.matrices.map(\.matrixHeight) == [6, 23, 90, 360, 1440, 4320])
    #expect(tradeDegrees.isGlobal)
    #expect(tradeDegrees[5].cellSize * 3 == tradeDegrees[4].cellSize)
  }

  @Test func degreeTilesHaveExactBounds() {
    // The tile of 32° that contains Tennessee, and the one of 2.5′ within it that contains Jacksboro (84.18 W, 36.33
    // N).
    let sheet = tradeDegrees.tile(longitude: -84.18, latitude: 36.33, zoom: 0)!
    #expect(sheet.description == "0/2/1")
    #expect(tradeDegrees.bounds(of: sheet) == BoundingBox(west: -116, south: 26, east: -84, north: 58))
    let finest = tradeDegrees.tile(longitude: -84.18, latitude: 36.33, zoom: 5)!
    let box = tradeDegrees.bounds(of: finest)
    #expect(box.contains(SIMD2(-84.18, 36.33)))
    #expect(abs(box.width - 2.5 / 60) < 1e-12 && abs(box.height - 2.5 / 60) < 1e-12)
    #expect(abs(box.west * 24 - (box.west * 24).rounded()) < 1e-9)
    // The last column extends beyond the world; its geographic bounds are clipped.
    let last = TileID(unchecked: 0, 11, 5)
    #expect(tradeDegrees.bounds(of: last) == BoundingBox(west: 172, south: -102, east: 204, north: -70))
    #expect(tradeDegrees.geographicBounds(of: last) == BoundingBox(west: 172, south: -90, east: 180, north: -70))
    #expect(tradeDegrees.children(of: last)?.count == 3)  // column 44 (172 to 180), rows 20 to 22 (-70 to -94)
  }

  static let sets: [TileMatrixSet] = [.webMercatorQuad, .worldCRS84Quad, tradeDegrees]

  @Test(arguments: sets)
  func childrenCoverTheirParent(set: TileMatrixSet) throws {
    var random = SeededGenerator(seed: 13)
    for _ in 0..<500 {
      let tile = random.tile(zooms: 0...(set.zooms.upperBound - 1), in: set)
      let range = try #require(set.children(of: tile))
      let parent = try #require(set.bounds(of: tile).intersection(set.boundingBox))
      var area = 0.0
      for child in range {
        #expect(set.parent(of: child) == tile, "seed 13, \(child) of \(set.identifier)")
        #expect(set.contains(child))
        let part = try #require(set.bounds(of: child).intersection(set.boundingBox))
        let slack = parent.width * 1e-6
        #expect(part.west >= parent.west - slack && part.east <= parent.east + slack)
        #expect(part.south >= parent.south - slack && part.north <= parent.north + slack)
        area += part.width * part.height
      }
      #expect(abs(area / (parent.width * parent.height) - 1) < 1e-6, "seed 13, \(tile) of \(set.identifier)")
    }
  }

  @Test(arguments: sets)
  func everyTileIsAChildOfItsParent(set: TileMatrixSet) throws {
    var random = SeededGenerator(seed: 14)
    for _ in 0..<500 {
      let tile = random.tile(zooms: 1...set.zooms.upperBound, in: set)
      let parent = try #require(set.parent(of: tile))
      #expect(set.contains(parent))
      #expect(try #require(set.children(of: parent)).contains(tile), "seed 14, \(tile) of \(set.identifier)")
    }
    #expect(set.parent(of: TileID(unchecked: 0, 0, 0)) == nil)
    #expect(set.children(of: TileID(unchecked: set.zooms.upperBound, 0, 0)) == nil)
  }

  @Test func neighboursWrapAtTheAntimeridianAndEndAtThePoles() {
    let set = TileMatrixSet.webMercatorQuad
    func names(_ zoom: Int, _ column: Int, _ row: Int) -> [String] {
      set.neighbours(of: TileID(unchecked: zoom, column, row)).map(\.description)
    }
    #expect(names(0, 0, 0) == [])
    #expect(names(1, 0, 0) == ["1/1/0", "1/1/1", "1/0/1"])
    #expect(names(3, 0, 0) == ["3/7/0", "3/1/0", "3/7/1", "3/0/1", "3/1/1"])
    #expect(names(3, 7, 4) == ["3/6/3", "3/7/3", "3/0/3", "3/6/4", "3/0/4", "3/6/5", "3/7/5", "3/0/5"])
    #expect(set.neighbours(of: TileID(unchecked: 30, 0, 5)).count == 8)
  }

  @Test func neighboursAreMutual() {
    var random = SeededGenerator(seed: 15)
    for set in Self.sets {
      for _ in 0..<200 {
        let tile = random.tile(zooms: set.zooms, in: set)
        for other in set.neighbours(of: tile) {
          #expect(set.neighbours(of: other).contains(tile), "seed 15, \(tile) of \(set.identifier)")
        }
      }
    }
  }

  @Test func incompatibleLevelsAreRefused() {
    func refused(_ edges: [Double], _ sizes: [Int] = [256]) -> String? {
      do {
        _ = try TileMatrixSet(identifier: "x", uri: "x", tileEdges: edges, tileSizes: sizes)
        return nil
      } catch { return (error as? GridError)?.message }
    }
    #expect(refused([32, 8, 2]) == nil)
    #expect(refused([]) == "tile matrix set x: it has no levels")
    #expect(refused([32, 12]) == "tile matrix set x: level 1: a tile of level 0 is not a whole number of its tiles")
    #expect(refused([8, 32]) != nil)
    #expect(refused([8, 8]) != nil)
    #expect(refused([8, 0]) != nil)
    #expect(refused([.nan]) != nil)
    #expect(refused([32, 8], [256, 512, 256]) != nil)
    #expect(refused([32, 8], [0]) != nil)
  }

  @Test func nearestZoomIsTheRoundedLogarithm() {
    let set = TileMatrixSet.webMercatorQuad
    for zoom in 0...30 {
      let cell = set[zoom].cellSize
      #expect(set.nearestZoom(toCellSize: cell) == zoom)
      #expect(set.nearestZoom(toCellSize: cell * 1.41) == zoom)
      #expect(set.nearestZoom(toCellSize: cell * 0.71) == zoom)
    }
    #expect(set.nearestZoom(toCellSize: 1e9) == 0)
    #expect(set.nearestZoom(toCellSize: 1e-9) == 30)
    // Between 7.5′ and 2.5′ the middle is 7.5 / sqrt(3) = 4.33.
    #expect(tradeDegrees.nearestZoom(toCellSize: 4.4 / 60 / 256) == 4)
    #expect(tradeDegrees.nearestZoom(toCellSize: 4.2 / 60 / 256) == 5)
  }
}
