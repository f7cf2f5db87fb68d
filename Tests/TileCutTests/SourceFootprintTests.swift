import TestSupport
import Testing
import TileIndex

@testable import TileCut

@Suite(.ownThread) struct SourceFootprintTests {
  private func footprint(_ raster: SampleRaster, _ matrixSet: TileMatrixSet = .webMercatorQuad) throws
    -> SourceFootprint
  {
    try SourceFootprint(
      source: try raster.source(.opaque, seed: 1), target: CoordinateReferenceSystem(definition: matrixSet.crs),
      matrixSet: matrixSet)
  }

  /// No visible pixel lies outside the boxes from which candidate tiles are derived.
  @Test(arguments: SampleRaster.all, [TileMatrixSet.webMercatorQuad, .worldCRS84Quad])
  func boxesContainEveryPixel(_ raster: SampleRaster, _ matrixSet: TileMatrixSet) throws {
    let source = try raster.source(.opaque, seed: 1)
    let fixture = try WarpFixture(source, matrixSet, above: 1)
    let grid = fixture.grid
    let mapper = try fixture.mapper()
    var random = SeededGenerator(seed: 2)
    // Points of the whole world, near the boxes, and at the antimeridian.
    var points = (0..<400).map { _ in
      SIMD2(
        Double.random(in: 0..<Double(grid.width), using: &random),
        Double.random(in: 0..<Double(grid.height), using: &random))
    }
    for box in fixture.footprint.boxes.shuffled(using: &random).prefix(150) {
      let low = grid.pixel(SIMD2(box.west, box.north))
      let high = grid.pixel(SIMD2(box.east, box.south))
      let margin = max(high.x - low.x, high.y - low.y)
      points.append(
        SIMD2(
          Double.random(in: (low.x - margin)...(high.x + margin), using: &random),
          Double.random(in: (low.y - margin)...(high.y + margin), using: &random)))
    }
    points = points.filter { $0.x >= 0 && $0.y >= 0 && $0.x < Double(grid.width) && $0.y < Double(grid.height) }
    var mapped = points
    mapped.withUnsafeMutableBufferPointer { mapper.toSource($0) }
    for (target, p) in zip(points, mapped) {
      guard p.x >= 0, p.y >= 0, p.x < Double(source.width), p.y < Double(source.height) else { continue }
      let at = grid.crs(target)
      let isHeld = fixture.footprint.boxes.contains {
        $0.west <= at.x && at.x <= $0.east && $0.south <= at.y && at.y <= $0.north
      }
      #expect(isHeld, "\(at), source pixel \(p)")
    }
  }

  /// A raster of the whole world covers it up to the poles.
  @Test func worldCoversThePoles() throws {
    let world = SampleRaster("world", "EPSG:4326", 90, 45, left: -180, top: 90, pixel: 4)
    #expect(try footprint(world, .worldCRS84Quad).outline == TileMatrixSet.worldCRS84Quad.boundingBox)
    #expect(try footprint(world).outline == TileMatrixSet.webMercatorQuad.boundingBox)
  }

  /// Across the antimeridian the outline is a box on each side of it.
  @Test func outlineAcrossTheAntimeridianHasTwoBoxes() throws {
    let raster = SampleRaster("Fiji", "EPSG:4326", 40, 40, left: 170, top: 0, pixel: 0.5)
    let outlines = try footprint(raster, .worldCRS84Quad).outlines
    #expect(outlines.count == 2)
    #expect(outlines[0] == BoundingBox(west: 170, south: -20, east: 180, north: 0))
    #expect(outlines.last == BoundingBox(west: -180, south: -20, east: -170, north: 0))
    let world = SampleRaster("the world from Greenwich", "EPSG:4326", 90, 45, left: 0, top: 90, pixel: 4)
    #expect(try footprint(world, .worldCRS84Quad).outlines == [TileMatrixSet.worldCRS84Quad.boundingBox])
  }

  /// Around a pole the footprint includes the pole, wherever it lies between the pixels.
  @Test(arguments: [0.0, 13_700, 26_000, 49_900])
  func polarMapCoversThePole(shift: Double) throws {
    for (crs, pole) in [("EPSG:3031", -90.0), ("EPSG:3995", 90.0)] {
      let raster = SampleRaster(crs, crs, 11, 11, left: -500_000 + shift, top: 480_000 + shift, pixel: 100_000)
      let outline = try footprint(raster, .worldCRS84Quad).outline
      #expect((pole < 0 ? outline.south : outline.north) == pole)
      #expect(outline.west == -180 && outline.east == 180)
    }
  }

  /// A raster with a zoom's pixels has that zoom's resolution.
  @Test(arguments: 0...14)
  func resolutionEqualsThatOfTheZoom(zoom: Int) throws {
    let size = TileMatrixSet.webMercatorQuad[zoom].cellSize
    let raster = SampleRaster("exact", "EPSG:3857", 64, 64, left: 0, top: 64 * size, pixel: size)
    let footprint = try footprint(raster)
    #expect(abs(footprint.resolution / size - 1) < 1e-9)
    #expect(TileMatrixSet.webMercatorQuad.nearestZoom(toCellSize: footprint.resolution) == zoom)
  }

  @Test func sourceOutsideTheMatrixSetIsAnError() throws {
    let pole = SampleRaster("beyond Mercator", "EPSG:4326", 10, 10, left: 0, top: 90, pixel: 0.1)
    #expect(throws: CutError.self) { try footprint(pole) }
    #expect(try footprint(pole, .worldCRS84Quad).outline.north == 90)
  }
}
