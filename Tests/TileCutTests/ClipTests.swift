import Foundation
import RegionCatalog
import TestSupport
import Testing
import TileImage
import TileIndex

@testable import TileCut

/// Clipping to an area, and growing the area.
@Suite(.ownThread) struct ClipTests {
  private static func ring(_ points: [(Double, Double)]) -> [SIMD2<Double>] {
    let ring = points.map { SIMD2($0.0, $0.1) }
    return ring + [ring[0]]
  }

  private static func boundary(_ polygons: [[[(Double, Double)]]]) throws -> RegionBoundary {
    let numbers = polygons.map { $0.map { ring($0).map { "[\($0.x), \($0.y)]" }.joined(separator: ", ") } }
    let text = numbers.map { "[" + $0.map { "[\($0)]" }.joined(separator: ", ") + "]" }.joined(separator: ", ")
    return try JSONDecoder().decode(
      RegionBoundary.self, from: Data("{\"type\": \"MultiPolygon\", \"coordinates\": [\(text)]}".utf8))
  }

  /// A star with a hole, and a box that overlaps it.
  private static func shapes(_ random: inout SeededGenerator) -> [[[SIMD2<Double>]]] {
    func star(_ centre: SIMD2<Double>, _ radius: ClosedRange<Double>, _ count: Int) -> [SIMD2<Double>] {
      let ring = (0..<count).map { i -> SIMD2<Double> in
        let angle = 2 * Double.pi * Double(i) / Double(count)
        return centre + SIMD2(cos(angle), sin(angle)) * Double.random(in: radius, using: &random)
      }
      return ring + [ring[0]]
    }
    let centre = SIMD2(Double.random(in: 10...50, using: &random), Double.random(in: 10...50, using: &random))
    let box = Self.ring([(3.25, 7), (41.5, 7), (41.5, 12.75), (3.25, 12.75)])
    return [[star(centre, 20...45, 17), star(centre, 3...12, 9)], [box]]
  }

  /// The share of each pixel agrees with a count of points.
  @Test(arguments: 0..<6 as Range<UInt64>) func coverageEqualsACountOfPoints(_ seed: UInt64) {
    var random = SeededGenerator(seed: seed)
    let shapes = Self.shapes(&random)
    let polygons = shapes.map { Polygon(rings: $0) }
    let area = PixelArea(shapes: shapes.map { PixelArea.Shape($0) }, rows: 0..<300)
    let rect = PixelRect(
      x: Int.random(in: 0...20, using: &random), y: Int.random(in: 0...20, using: &random), width: 40, height: 40)
    var shares = [Float](repeating: -1, count: 1600)
    let cover = area.coverage(of: rect, into: &shares)
    let steps = 12
    for y in 0..<40 {
      for x in stride(from: y % 5, to: 40, by: 5) {
        var hits = 0
        for i in 0..<(steps * steps) {
          let point = SIMD2(
            Double(rect.x + x) + (Double(i % steps) + 0.5) / Double(steps),
            Double(rect.y + y) + (Double(i / steps) + 0.5) / Double(steps))
          if polygons.contains(where: { $0.contains(point) }) { hits += 1 }
        }
        let expected = Float(hits) / Float(steps * steps)
        #expect(abs(shares[y * 40 + x] - expected) < 0.09, "seed \(seed) at \(x), \(y)")
      }
    }
    #expect((cover == .everything) == shares.allSatisfy { $0 == 1 })
    #expect((cover == .nothing) == shares.allSatisfy { $0 == 0 })
    var inside = Set<Int>()
    area.forEachRun(in: rect) { row, columns in
      for column in columns { inside.insert((row - rect.y) * 40 + column - rect.x) }
    }
    let wrong = (0..<1600).filter { i in
      let centre = SIMD2(Double(rect.x + i % 40) + 0.5, Double(rect.y + i / 40) + 0.5)
      return inside.contains(i) != polygons.contains { $0.contains(centre) }
    }
    #expect(wrong.isEmpty)
  }

  /// What two holes have in common is outside too, and a hole beyond the outer ring adds nothing.
  @Test func holesThatOverlapAreCutOut() {
    func box(_ left: Double, _ top: Double, _ right: Double, _ bottom: Double) -> [SIMD2<Double>] {
      Self.ring([(left, top), (right, top), (right, bottom), (left, bottom)])
    }
    let rings = [box(2, 2, 38, 38), box(8, 8, 24, 24), box(16, 16, 32, 32), box(34, 10, 45, 20)]
    let area = PixelArea(shapes: [.init(rings)], rows: 0..<40)
    var inside = Set<Int>()
    area.forEachRun(in: PixelRect(x: 0, y: 0, width: 48, height: 40)) { row, columns in
      for column in columns { inside.insert(row * 48 + column) }
    }
    func isIn(_ x: Int, _ y: Int, _ columns: Range<Int>, _ rows: Range<Int>) -> Bool {
      columns.contains(x) && rows.contains(y)
    }
    let polygon = Polygon(rings: rings)
    for y in 0..<40 {
      for x in 0..<48 {
        let isHole = isIn(x, y, 8..<24, 8..<24) || isIn(x, y, 16..<32, 16..<32) || isIn(x, y, 34..<45, 10..<20)
        let expected = isIn(x, y, 2..<38, 2..<38) && !isHole
        #expect(inside.contains(y * 48 + x) == expected, "\(x), \(y)")
        #expect(polygon.contains(SIMD2(Double(x) + 0.5, Double(y) + 0.5)) == expected, "\(x), \(y)")
      }
    }
    #expect(!area.covers(low: SIMD2(17, 17), high: SIMD2(23, 23)))
    #expect(!area.mayTouch(PixelRect(x: 18, y: 18, width: 4, height: 4)))
  }

  /// Two areas with a common edge divide the pixels between them: none is lost, none is in both.
  @Test(arguments: 0..<10 as Range<UInt64>) func neighboursDivideThePixels(_ seed: UInt64) {
    var random = SeededGenerator(seed: seed)
    let middle = (0...8).map { i in SIMD2(Double.random(in: 10...30, using: &random), Double(i) * 5) }
    let left = PixelArea(shapes: [.init([[SIMD2(0, 0)] + middle + [SIMD2(0, 40), SIMD2(0, 0)]])], rows: 0..<40)
    let right = PixelArea(
      shapes: [.init([[SIMD2(40, 40)] + middle.reversed() + [SIMD2(40, 0), SIMD2(40, 40)]])], rows: 0..<40)
    var counts = [Int](repeating: 0, count: 1600)
    for area in [left, right] {
      area.forEachRun(in: PixelRect(x: 0, y: 0, width: 40, height: 40)) { row, columns in
        for column in columns { counts[row * 40 + column] += 1 }
      }
    }
    #expect(counts.allSatisfy { $0 == 1 })
  }

  /// The tiles of a mask are those with some coverage, and the inner ones are covered wholly.
  @Test(arguments: 0..<4 as Range<UInt64>) func maskTilesAreThoseWithCoverage(_ seed: UInt64) throws {
    var random = SeededGenerator(seed: seed)
    let set = TileMatrixSet.webMercatorQuad
    let shapes = Self.shapes(&random).map { $0.map { $0.map { $0 * 24 } } }
    let area = PixelArea(shapes: shapes.map { PixelArea.Shape($0) }, rows: 0..<(8 * 256))
    let whole = CandidateTiles(zoom: 3, [set.wholeRange(zoom: 3)])
    let mask = ClipMask(area, matrix: set[3], zoom: 3, within: whole)
    var shares = [Float](repeating: 0, count: 65536)
    for tile in set.wholeRange(zoom: 3) {
      let rect = PixelRect(x: tile.column * 256, y: tile.row * 256, width: 256, height: 256)
      let cover = area.coverage(of: rect, into: &shares)
      if cover != .nothing { #expect(mask.tiles.contains(tile), "seed \(seed), \(tile)") }
      if mask.inside.contains(tile) { #expect(cover == .everything, "seed \(seed), \(tile)") }
      if cover == .everything, !mask.inside.contains(tile) {
        // An edge within the other shape.
        #expect(mask.tiles.contains(tile))
      }
    }
  }

  /// A buffer has the area of the discs and strips that it consists of, everywhere on Earth.
  @Test(arguments: [0.0, 47, -60, 75], [2000.0, 40_000])
  func buffersHaveTheirSizeOnTheGround(_ latitude: Double, _ metres: Double) throws {
    let (west, south) = (20.0, latitude)
    let outline = try Self.boundary([
      [[(west, south), (west + 0.5, south), (west + 0.5, south + 0.25), (west, south + 0.25)]]
    ])
    for set in [TileMatrixSet.webMercatorQuad, .worldCRS84Quad] {
      let area = ClipArea(outline, bufferMetres: metres).pixels(set, zoom: 8)
      let bounds = try #require(area.bounds)
      let rect = PixelRect(
        x: Int(bounds.low.x) - 1, y: Int(bounds.low.y) - 1, width: Int(bounds.high.x - bounds.low.x) + 4,
        height: Int(bounds.high.y - bounds.low.y) + 4)
      var shares = [Float](repeating: 0, count: rect.width * rect.height)
      _ = area.coverage(of: rect, into: &shares)
      // Square metres of a pixel, from the ellipsoid's radii.
      var sum = 0.0
      for y in 0..<rect.height {
        let (top, bottom) = (Double(rect.y + y), Double(rect.y + y + 1))
        let north = set.coordinate(of: set[8].point(atPixel: SIMD2(0, top))).latitude
        let low = set.coordinate(of: set[8].point(atPixel: SIMD2(1, bottom)))
        let width = low.longitude - set.coordinate(of: set[8].point(atPixel: SIMD2(0, bottom))).longitude
        let phi = (north + low.latitude) / 2 * .pi / 180
        let e2 = 0.006_694_379_99
        let w = (1 - e2 * sin(phi) * sin(phi)).squareRoot()
        let square =
          6_378_137 / w * cos(phi) * width * .pi / 180 * 6_378_137 * (1 - e2) / (w * w * w) * (north - low.latitude)
          * .pi / 180
        for x in 0..<rect.width { sum += Double(shares[y * rect.width + x]) * square }
      }
      func length(_ degreesNorth: Double) -> Double {
        let phi = degreesNorth * .pi / 180
        return 6_378_137 / (1 - 0.006_694_379_99 * sin(phi) * sin(phi)).squareRoot() * cos(phi) * .pi / 180
      }
      let (across, along) = ((length(south) + length(south + 0.25)) / 2 * 0.5, 111_132.0 * 0.25)
      let expected = across * along + 2 * (across + along) * metres + .pi * metres * metres
      #expect(abs(sum / expected - 1) < 0.015, "\(set.identifier) \(sum / expected)")
    }
  }

  /// A buffer goes on beyond the antimeridian.
  @Test func buffersCrossTheAntimeridian() throws {
    let outline = try Self.boundary([[[(179, 10), (179.9, 10), (179.9, 11), (179, 11)]]])
    let set = TileMatrixSet.webMercatorQuad
    let area = ClipArea(outline, bufferMetres: 50_000).pixels(set, zoom: 6)
    var shares = [Float](repeating: 0, count: 65536)
    let row = Int(set.tileCoordinates(longitude: 0, latitude: 10.5, zoom: 6).y)
    #expect(area.coverage(of: PixelRect(x: 0, y: row * 256, width: 256, height: 256), into: &shares) == .part)
    #expect(area.coverage(of: PixelRect(x: 63 * 256, y: row * 256, width: 256, height: 256), into: &shares) == .part)
    #expect(area.coverage(of: PixelRect(x: 256, y: row * 256, width: 256, height: 256), into: &shares) == .nothing)
  }

  /// A plain raster of 8 by 8 degrees.
  private static func plain() throws -> ArraySource {
    ArraySource(
      width: 800, height: 800, crs: .wgs84LongLat, affine: Affine(a: 0.01, b: 0, c: 10, d: 0, e: -0.01, f: 50)
    ) { x, y in SIMD4(UInt8(x / 4), UInt8(y / 4), 120, 255) }
  }

  private static func tiles(_ options: CutOptions, _ sources: [any RasterSource]) throws -> [TileID: [UInt8]] {
    let folder = try TemporaryFolder()
    let path = folder.file("out.mbtiles")
    _ = try Cutter(options, CutResources(threads: 2), sources: sources).cut(to: path)
    var tiles: [TileID: [UInt8]] = [:]
    try MBTilesReader(path: path).forEachTile { tiles[$0] = Array($1) }
    return tiles
  }

  /// Tiles inside are as they were, tiles outside are not made, and parents are the means of their clipped children.
  @Test func onlyTilesOnTheEdgeChange() throws {
    var options = CutOptions(sources: ["array"])
    options.zoom = .levels(4...8)
    let whole = try Self.tiles(options, [Self.plain()])
    let outline = try Self.boundary([
      [[(11, 43), (17, 43.5), (16.5, 49), (11.5, 48)], [(13, 45), (15, 45), (14, 47)]]
    ])
    options.clip = ClipArea(outline)
    let clipped = try Self.tiles(options, [Self.plain()])
    let set = TileMatrixSet.webMercatorQuad
    let polygon = Polygon(rings: outline.polygons[0])
    #expect(clipped.keys.allSatisfy { whole[$0] != nil })
    var changed = 0
    for (tile, bytes) in whole {
      let box = set.geographicBounds(of: tile)
      if !polygon.intersects(box) { #expect(clipped[tile] == nil, "\(tile)") }
      let isInside = polygon.contains(box.centre) && !crosses(polygon, box)
      if isInside, tile.zoom == 8 { #expect(clipped[tile] == bytes, "\(tile)") }
      if let other = clipped[tile], other != bytes { changed += 1 }
    }
    #expect(changed > 20)
    func pixels(_ tile: TileID) throws -> PixelBuffer {
      guard let bytes = clipped[tile] else { return PixelBuffer(width: 256, height: 256) }
      return try bytes.withUnsafeBytes { try ImageDecoder.decode($0) }
    }
    for tile in clipped.keys where tile.zoom == 7 {
      let parent = try pixels(tile)
      for child in set.children(of: tile)! {
        let buffer = try pixels(child)
        let (dx, dy) = ((child.column & 1) * 128, (child.row & 1) * 128)
        var worst = 0
        for y in stride(from: 0, to: 128, by: 3) {
          for x in stride(from: 0, to: 128, by: 3) {
            let alphas = [(0, 0), (1, 0), (0, 1), (1, 1)].map { Int(buffer[2 * x + $0.0, 2 * y + $0.1].w) }
            worst = max(worst, abs(Int(parent[x + dx, y + dy].w) - alphas.reduce(0, +) / 4))
          }
        }
        #expect(worst <= 1, "\(tile)")
      }
    }
  }

  private func crosses(_ polygon: Polygon, _ box: BoundingBox) -> Bool {
    let step = 0.02
    return stride(from: 0.0, through: 1, by: step).contains { t in
      let (x, y) = (box.west + box.width * t, box.south + box.height * t)
      return [SIMD2(x, box.south), SIMD2(x, box.north), SIMD2(box.west, y), SIMD2(box.east, y)].contains {
        !polygon.contains($0)
      }
    }
      || polygon.rings.joined().contains { box.contains($0) }
  }

  @Test func anAreaElsewhereIsRefused() throws {
    var options = CutOptions(sources: ["array"])
    options.clip = ClipArea(try Self.boundary([[[(40, 43), (41, 43), (41, 44)]]]))
    #expect(throws: CutError.self) { try Cutter(options, CutResources(), sources: [Self.plain()]) }
  }

  /// Sheets with collars and a common outline meet without a gap, and nothing of a collar shows.
  @Test(arguments: Resampling.allCases) func cutlinesHideCollars(_ resampling: Resampling) throws {
    // Two sheets in UTM that overlap; outside its outline each is red.
    let middle: [(Double, Double)] = [(15.1, 47), (15, 48.1), (15.2, 49.2)]
    let left = try Self.boundary([[[(13.8, 47), (13.8, 49.2)] + middle.reversed()]])
    let right = try Self.boundary([[[(16.4, 47), (16.4, 49.2)] + middle.reversed()]])
    let crs = try CoordinateReferenceSystem(definition: "EPSG:32633")
    let toDegrees = try CoordinateTransform(from: crs, to: .wgs84LongLat)
    func sheet(_ outline: RegionBoundary, _ west: Double) throws -> any RasterSource {
      let affine = Affine(a: 1000, b: 0, c: west, d: 0, e: -1000, f: 5_460_000)
      let polygon = Polygon(rings: outline.polygons[0])
      let source = ArraySource(width: 170, height: 260, crs: crs, affine: affine) { x, y in
        // Projected edges are within 0.05 pixels of the true ones.
        let near = [SIMD2(0.5, 0.5), SIMD2(0.4, 0.5), SIMD2(0.6, 0.5), SIMD2(0.5, 0.4), SIMD2(0.5, 0.6)]
        let isInside = near.contains { polygon.contains(toDegrees.transform(affine(SIMD2(Double(x), Double(y)) + $0))) }
        return isInside ? SIMD4(20, 160, 20, 255) : SIMD4(255, 0, 0, 255)
      }
      return try CutlineRaster(source, outline)
    }
    var options = CutOptions(sources: ["a", "b"])
    options.resampling = resampling
    options.zoom = .levels(7...8)
    let tiles = try Self.tiles(options, [sheet(left, 400_000), sheet(right, 450_000)])
    let both = [left, right].map { Polygon(rings: $0.polygons[0]) }
    var visible = 0
    var wrong: [String] = []
    for (tile, bytes) in tiles where tile.zoom == 8 {
      let buffer = try bytes.withUnsafeBytes { try ImageDecoder.decode($0) }
      let matrix = TileMatrixSet.webMercatorQuad[8]
      for y in 0..<256 {
        for x in stride(from: y % 3, to: 256, by: 3) {
          let point = matrix.point(
            atPixel: SIMD2(Double(tile.column * 256 + x) + 0.5, Double(tile.row * 256 + y) + 0.5))
          let place = TileMatrixSet.webMercatorQuad.coordinate(of: point)
          let isInside = both.contains { $0.contains(SIMD2(place.longitude, place.latitude)) }
          let pixel = buffer[x, y]
          if pixel.w > 0 { visible += 1 }
          let away = (0..<4).map { abs(Int(pixel[$0]) - [20, 160, 20, 255][$0]) }.max()!
          // The sheets end before the outlines do, in the north and the south.
          let isDrawn =
            place.latitude > 47.1 && place.latitude < 49.15 && place.longitude > 14 && place.longitude < 16.3
          let isWrong = isInside ? (isDrawn ? away > 1 : pixel.x > 21) : pixel.w > 0
          if isWrong { wrong.append("\(tile) \(x) \(y) \(place): \(pixel)") }
        }
      }
    }
    #expect(wrong.isEmpty, "\(wrong.count): \(wrong.prefix(5))")
    #expect(visible > 3000)
  }

  @Test func cropsLeaveTheSidesOut() throws {
    let base = try Self.plain()
    let cropped = try CroppedRaster(base, #require(SourceSettings.Crop([100, 50, 200, 25])))
    #expect(cropped.width == 500 && cropped.height == 725)
    let corner = cropped.georeference.affine(.zero)
    #expect(abs(corner.x - 11) < 1e-9 && abs(corner.y - 49.5) < 1e-9)
    var pixel = SIMD4<UInt8>.zero
    _ = try cropped.read(PixelRect(x: 0, y: 0, width: 1, height: 1), into: &pixel, rowBytes: 4)
    #expect(pixel == base.pixels[50 * 800 + 100])
    #expect(throws: CutError.self) { try CroppedRaster(base, #require(SourceSettings.Crop([400, 0, 400, 0]))) }
    #expect(SourceSettings.Crop([1, 2, 3]) == nil && SourceSettings.Crop([1, 2, 3, -1]) == nil)
  }
}
