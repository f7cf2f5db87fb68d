import Support
import TestSupport
import Testing
import TileIndex

@testable import RegionCatalog

@Suite(.ownThread) struct RegionBoundaryTests {
  /// A star of random points around a centre, with a hole.
  private func star(_ random: inout SeededGenerator) -> RegionBoundary {
    let centre = SIMD2(Double.random(in: -150...150, using: &random), Double.random(in: -60...60, using: &random))
    func ring(_ radius: ClosedRange<Double>) -> RegionBoundary.Ring {
      let offsets = [
        SIMD2(1.0, 0.1), SIMD2(0.6, 0.7), SIMD2(-0.1, 1), SIMD2(-0.8, 0.6), SIMD2(-1, -0.2), SIMD2(0.2, -1),
      ]
      let points = offsets.map { centre + $0 * Double.random(in: radius, using: &random) }
      return points + [points[0]]
    }
    return RegionBoundary(polygons: [[ring(8...20), ring(1...3)]])
  }

  @Test func holesThatOverlapHaveNoTiles() {
    func box(_ west: Double, _ south: Double, _ east: Double, _ north: Double) -> RegionBoundary.Ring {
      [SIMD2(west, south), SIMD2(east, south), SIMD2(east, north), SIMD2(west, north), SIMD2(west, south)]
    }
    let boundary = RegionBoundary(polygons: [[box(0, 0, 40, 40), box(4, 4, 28, 28), box(12, 12, 36, 36)]])
    let tiles = Set(boundary.tiles(zoom: 8, in: .webMercatorQuad).joined())
    func isIn(_ longitude: Double, _ latitude: Double) -> Bool {
      tiles.contains(TileMatrixSet.webMercatorQuad.tile(longitude: longitude, latitude: latitude, zoom: 8)!)
    }
    #expect(isIn(2, 2) && isIn(38, 38) && isIn(32, 6))
    #expect(!isIn(8, 8) && !isIn(20, 20) && !isIn(32, 32))
  }

  /// Compared with a raster of points: every tile with a point inside the boundary is included.
  @Test(arguments: TilePackPlanTests.grids, [1, 2, 3, 4] as [UInt64])
  func tilesTouchTheBoundary(_ matrixSet: TileMatrixSet, seed: UInt64) {
    var random = SeededGenerator(seed: seed)
    let boundary = star(&random)
    let zoom = matrixSet == TilePackPlanTests.levels ? 2 : 7
    let tiles = Set(boundary.tiles(zoom: zoom, in: matrixSet).joined())
    let context: Comment = "\(matrixSet) seed \(seed)"
    var inside: Set<TileID> = []
    let box = boundary.bounds
    // Edges are straight in the grid's projection; points near an edge in degrees are skipped.
    for i in 0...150 {
      for j in 0...150 {
        let longitude = box.west + box.width * Double(i) / 150
        let latitude = box.south + box.height * Double(j) / 150
        let near = [SIMD2(-0.35, -0.35), SIMD2(-0.35, 0.35), SIMD2(0.35, -0.35), SIMD2(0.35, 0.35), SIMD2(0, 0)]
        guard near.allSatisfy({ boundary.contains(longitude: longitude + $0.x, latitude: latitude + $0.y) }),
          let tile = matrixSet.tile(longitude: longitude, latitude: latitude, zoom: zoom)
        else { continue }
        inside.insert(tile)
      }
    }
    #expect(!inside.isEmpty && tiles.isSuperset(of: inside), context)
    let near = Set(matrixSet.ranges(covering: box, zoom: zoom).joined())
    #expect(near.isSuperset(of: tiles), context)
    #expect(tiles.count < near.count, context)
  }

  @Test func boundsAcrossTheAntimeridianExcludeTheWidestGap() {
    func box(_ spans: ClosedRange<Double>...) -> BoundingBox? {
      RegionBoundary(
        polygons: spans.map { span in
          [
            [
              SIMD2(span.lowerBound, 1), SIMD2(span.upperBound, 1), SIMD2(span.upperBound, 2),
              SIMD2(span.lowerBound, 1),
            ]
          ]
        }
      ).boundsAcrossAntimeridian
    }
    #expect(box(170...180, -180 ... -170) == BoundingBox(west: 170, south: 1, east: -170, north: 2))
    #expect(box(-180 ... -170, 20...40, 30...180) == BoundingBox(west: 20, south: 1, east: -170, north: 2))
    #expect(box(-180 ... -10, -5 ... -4, 3...180) == BoundingBox(west: 3, south: 1, east: -4, north: 2))
    // On one side, all longitudes, and up to the antimeridian from one side only.
    for none in [box(10...20), box(-180...180), box(-180...0, 0...180), box(170...180), box(-180 ... -170)] {
      #expect(none == nil)
    }
  }

  @Test func boxBoundariesHaveTheTilesOfTheBox() {
    let grid = TileMatrixSet.worldCRS84Quad
    let ring = [SIMD2(10.0, 10), SIMD2(40, 10), SIMD2(40, 30), SIMD2(10, 30), SIMD2(10, 10)]
    let boundary = RegionBoundary(polygons: [[ring]])
    for zoom in 0...6 {
      let tiles = Set(boundary.tiles(zoom: zoom, in: grid).joined())
      #expect(tiles == Set(grid.ranges(covering: boundary.bounds, zoom: zoom).joined()))
    }
  }

  @Test func gridDefinitionsRoundTrip() throws {
    for grid in TilePackPlanTests.grids {
      let definition = try #require(grid.definition)
      #expect(try TileMatrixSet(definition: definition) == grid)
      #expect(try TileMatrixSet(definition: JSONValue(parsing: definition.bytes)) == grid)
    }
    #expect(TileMatrixSet.webMercatorQuad.definition == .string("WebMercatorQuad"))
  }

  /// A bundle with an unregistered grid stores the grid's definition.
  @Test func bundlesStoreUnregisteredGrids() throws {
    let folder = try TemporaryFolder()
    let grid = TilePackPlanTests.levels
    let writer = try BundleWriter(path: folder.file("a.mbtiles"), matrixSet: grid, format: .png)
    let tile = try TileID(zoom: 3, column: 400, row: 200, in: grid)
    let tileBytes = try SampleTiles.image(1, edge: 288)
    try writer.put(tile, tileBytes)
    _ = try writer.finish(BundleMetadata(name: "a"))
    let reader = try MBTilesReader(path: folder.file("a.mbtiles"))
    #expect(reader.matrixSet == grid)
    #expect(try reader.tile(tile) == tileBytes)
  }
}
