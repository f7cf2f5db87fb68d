import Foundation
import Support
import TestSupport
import Testing
import TileImage
import TileIndex

@testable import MapDrawing
@testable import RegionCatalog

/// Lines, areas and points on tiles.
@Suite(.ownThread)
struct TilePainterTests {
  let folder: TemporaryFolder
  init() throws { folder = try TemporaryFolder() }

  private static let features = """
    {"type": "FeatureCollection", "features": [
      {"type": "Feature", "properties": {"class": "lake"}, "geometry": {"type": "Polygon", "coordinates": [
        [[9.2, 46.1], [10.9, 46.0], [10.7, 47.3], [9.9, 47.5], [9.1, 47.0], [9.2, 46.1]],
        [[9.8, 46.5], [10.2, 46.5], [10.2, 46.8], [9.8, 46.8], [9.8, 46.5]]]}},
      {"type": "Feature", "properties": {"class": "path"}, "geometry": {"type": "LineString", "coordinates":
        [[8.9, 45.9], [9.6, 46.9], [9.7, 46.3], [10.4, 47.1], [10.6, 46.2], [11.4, 47.6]]}},
      {"type": "Feature", "properties": {"class": "hut"}, "geometry": {"type": "MultiPoint", "coordinates":
        [[9.84, 46.56], [10.55, 47.04], [9.3, 46.9]]}}]}
    """

  private func map(
    _ style: String, _ features: String = features, matrixSet: TileMatrixSet = .webMercatorQuad, density: Double = 1
  ) throws -> VectorMap {
    let rules = try JSONValue(parsing: Array(style.utf8)).array!.map { json in
      try #require(StyleRule(json) { place, message, _ in Issue.record("\(place) \(message)") })
    }
    let file = try folder.write("\(features.utf8.count).geojson", features)
    return try VectorMap(
      [VectorMap.Layer(.features(try FeatureFile.features(path: file)), rules: rules)], matrixSet: matrixSet,
      density: density)
  }

  /// The pixels of some tiles as one picture.
  private func picture(_ map: VectorMap, zoom: Int, columns: Range<Int>, rows: Range<Int>) throws -> PixelBuffer {
    let matrix = map.matrixSet[zoom]
    let whole = PixelBuffer(width: columns.count * matrix.tileWidth, height: rows.count * matrix.tileHeight)
    let painter = TilePainter(map, insideOnly: false)
    for row in rows {
      for column in columns {
        guard let tile = try painter.painted(nil, TileID(zoom: zoom, column: column, row: row)) else { continue }
        whole.copy(
          tile, x: (column - columns.lowerBound) * matrix.tileWidth, y: (row - rows.lowerBound) * matrix.tileHeight)
      }
    }
    return whole
  }

  private func difference(_ a: PixelBuffer, _ b: PixelBuffer) -> Int {
    var largest = 0
    for i in 0..<a.byteCount {
      let (x, y) = (a.bytes.load(fromByteOffset: i, as: UInt8.self), b.bytes.load(fromByteOffset: i, as: UInt8.self))
      largest = max(largest, abs(Int(x) - Int(y)))
    }
    return largest
  }

  /// The pixels that differ by more than rounding.
  private func changes(_ a: PixelBuffer, _ b: PixelBuffer) -> Int {
    (0..<(a.width * a.height)).count { i in
      let (x, y) = (a[i % a.width, i / a.width], b[i % a.width, i / a.width])
      return (0..<4).contains { abs(Int(x[$0]) - Int(y[$0])) > 2 }
    }
  }

  static let styles = [
    ##"[{"type": "line", "paint": {"line-color": "#b03020", "line-width": 7}}]"##,
    ##"""
    [{"type": "line", "paint": {
      "line-color": "#b03020", "line-width": 5, "line-opacity": 0.5, "line-dasharray": [3, 2]}}]
    """##,
    ##"[{"type": "line", "layout": {"line-cap": "round", "line-join": "round"}, "paint": {"line-width": 12}}]"##,
    ##"[{"type": "fill", "paint": {"fill-color": "#3060c0", "fill-opacity": 0.6, "fill-outline-color": "navy"}}]"##,
    ##"[{"type": "circle", "paint": {"circle-radius": 9, "circle-stroke-width": 2, "circle-color": "white"}}]"##,
    ##"""
    [{"type": "symbol", "layout": {"text-field": "{class} of a name", "text-size": 30, "text-allow-overlap": true},
      "paint": {"text-halo-color": "#fff", "text-halo-width": 3}}]
    """##,
    ##"""
    [{"type": "symbol", "layout": {"text-field": "{class} of a name", "text-size": 24, "symbol-placement": "line"}}]
    """##,
    ##"""
    [{"type": "symbol", "layout": {"icon-image": "campground-badge", "icon-size": 3, "icon-allow-overlap": true}}]
    """##,
  ]

  /// Tiles of 512 pixels have the pixels of four of 256 of the next zoom, so a shape must be the same in both.
  @Test(arguments: styles + [styles.map { $0.dropFirst().dropLast() }.joined(separator: ",")].map { "[\($0)]" })
  func shapesCrossTilesWithoutASeam(_ style: String) throws {
    let small = try picture(try map(style), zoom: 8, columns: 134..<138, rows: 89..<93)
    let large = try picture(
      try map(style, matrixSet: .webMercatorQuad.withPixels(times: 2)), zoom: 7, columns: 67..<69, rows: 44..<47)
    let part = PixelBuffer(width: small.width, height: small.height)
    part.copy(large, x: 0, y: -256)
    #expect(small.opacity == .mixed)
    // Colours of nearly transparent pixels mean nothing.
    small.composite(over: .white)
    part.composite(over: .white)
    // All points are the same. Cairo measures a row of pixels exactly if no edge begins, ends or meets another one in
    // it, and by 15 samples else: how opaque an edge is depends by 1/15 on what lies beside it in its tile.
    #expect(difference(small, part) <= 17)
    #expect(changes(small, part) * 200 < small.width * small.height)
  }

  @Test(arguments: [TileMatrixSet.webMercatorQuad, .worldCRS84Quad])
  func aLineHasItsWidthAtEveryZoomAndDensity(_ matrixSet: TileMatrixSet) throws {
    let features = #"{"type": "LineString", "coordinates": [[-60, 1], [60, 1]]}"#
    let style = #"[{"type": "line", "paint": {"line-width": ["interpolate", ["linear"], ["zoom"], 2, 2, 6, 10]}}]"#
    for (zoom, density, width) in [(2, 1, 2.0), (4, 1, 6), (6, 1, 10), (4, 2, 12)] {
      let grid = try matrixSet.withPixels(times: density)
      let map = try map(style, features, matrixSet: grid, density: Double(density))
      let place = grid.tileCoordinates(longitude: 20, latitude: 1, zoom: zoom)
      let tile = TileID(unchecked: zoom, Int(place.x), Int(place.y))
      let pixels = try #require(try TilePainter(map, insideOnly: false).painted(nil, tile))
      // Below and above the line's middle there may be another tile.
      let middle = (place.y - Double(tile.row)) * Double(pixels.height)
      guard middle > width, middle < Double(pixels.height) - width else { continue }
      var covered = 0.0
      for y in 0..<pixels.height { covered += Double(pixels[128, y].w) / 255 }
      #expect(abs(covered - width) < 0.1, "zoom \(zoom), density \(density): \(covered)")
    }
  }

  /// To the right of a line's direction; within a polygon, whichever way its rings go.
  @Test(arguments: [false, true]) func linesLieBesideTheirPath(isReversed: Bool) throws {
    func ring(_ west: Double, _ east: Double, _ turn: Bool) -> String {
      let corners = [(west, 46.0 + west / 100), (east, 46.0 + west / 100), (east, 46.7), (west, 46.7)]
      let all = (turn ? corners.reversed() : corners) + [turn ? corners[3] : corners[0]]
      return "[\(all.map { "[\($0.0), \($0.1)]" }.joined(separator: ","))]"
    }
    let style = ##"[{"type": "line", "paint": {"line-width": 6, "line-offset": 3, "line-color": "#f00"}}]"##
    func inked(_ geometry: String) throws -> [Double] {
      let map = try map(style, #"{"type": "Feature", "properties": {}, "geometry": \#(geometry)}"#)
      let tile = try TileID(zoom: 8, column: 134, row: 90)
      let picture = try #require(try TilePainter(map, insideOnly: false).painted(nil, tile))
      let matrix = map.matrixSet[8]
      func seen(_ longitude: Double, _ latitude: Double, _ aside: SIMD2<Double>) -> Double {
        let place = matrix.pixelCoordinates(of: map.matrixSet.point(longitude: longitude, latitude: latitude)) + aside
        let (x, y) = (Int(place.x) - 134 * 256, Int(place.y) - 90 * 256)
        return Double(picture.bytes.load(fromByteOffset: (y * 256 + x) * 4 + 3, as: UInt8.self)) / 255
      }
      let middle = 46.4
      return [
        seen(8.6, middle, SIMD2(3, 0)), seen(8.6, middle, SIMD2(-3, 0)), seen(9.6, middle, SIMD2(-3, 0)),
        seen(9.6, middle, SIMD2(3, 0)),
      ]
    }
    let area = try inked(#"{"type": "Polygon", "coordinates": [\#(ring(8.6, 9.6, isReversed))]}"#)
    #expect(area == [1, 0, 1, 0])
    let holed = #"[\#(ring(8.45, 9.75, isReversed)), \#(ring(8.6, 9.6, isReversed))]"#
    #expect(try inked(#"{"type": "Polygon", "coordinates": \#(holed)}"#) == [0, 1, 0, 1])
    // Northwards on both sides, or southwards.
    let ends = isReversed ? ["46.9", "45.8"] : ["45.8", "46.9"]
    let lines = [8.6, 9.6].map { "[[\($0), \(ends[0])], [\($0), \(ends[1])]]" }.joined(separator: ",")
    let beside = try inked(#"{"type": "MultiLineString", "coordinates": [\#(lines)]}"#)
    #expect(beside == (isReversed ? [0, 1, 1, 0] : [1, 0, 0, 1]))
    // A line that ends where it begins bounds nothing: to its right is outside if it goes counterclockwise.
    let closed = try inked(#"{"type": "LineString", "coordinates": \#(ring(8.6, 9.6, isReversed))}"#)
    #expect(closed == (isReversed ? [1, 0, 1, 0] : [0, 1, 0, 1]))
  }

  @Test func whatReachesOverTheAntimeridianIsSeenOnTheOtherSide() throws {
    let features = #"{"type": "LineString", "coordinates": [[170, 10], [190, 10]]}"#
    let map = try map(#"[{"type": "line", "paint": {"line-width": 4}}]"#, features)
    let painter = TilePainter(map, insideOnly: false)
    #expect(try painter.painted(nil, TileID(zoom: 3, column: 0, row: 3)) != nil)
    #expect(try painter.painted(nil, TileID(zoom: 3, column: 7, row: 3)) != nil)
    #expect(try painter.painted(nil, TileID(zoom: 3, column: 3, row: 3)) == nil)
  }

  @Test func aTileWithoutShapesIsThePictureItself() throws {
    let map = try map(#"[{"type": "line"}, {"type": "fill"}]"#)
    let picture = PixelBuffer(width: 256, height: 256)
    let painted = try TilePainter(map, insideOnly: false).painted(picture, TileID(zoom: 8, column: 3, row: 3))
    #expect(painted === picture)
  }

  @Test func clippedMapsAreDrawnOnVisiblePixelsAlone() throws {
    let map = try map(##"[{"type": "fill", "paint": {"fill-color": "#ff0000"}}]"##)
    let tile = try TileID(zoom: 8, column: 135, row: 90)
    let picture = PixelBuffer(width: 256, height: 256)
    for y in 0..<256 {
      for x in 0..<256 {
        let word: UInt32 = x < 60 ? 0 : x < 120 ? 0x8000_ff00 : 0xff00_ff00
        picture.bytes.storeBytes(of: word, toByteOffset: (y * 256 + x) * 4, as: UInt32.self)
      }
    }
    let painted = try #require(try TilePainter(map, insideOnly: true).painted(picture, tile))
    let place = (0..<256).first { painted[140, $0].x == 255 && painted[90, $0].x == 255 }
    let y = try #require(place)
    #expect(
      painted[30, y] == .zero && painted[90, y] == SIMD4(255, 0, 0, 128) && painted[140, y] == SIMD4(255, 0, 0, 255))
    #expect(try TilePainter(map, insideOnly: true).painted(nil, tile) == nil)
  }

  /// Over opaque pixels, what cairo drew has its share of the colour.
  @Test func translucentColoursAreMixed() throws {
    let map = try map(
      ##"""
      [{"type": "fill", "filter": ["==", "class", "lake"], "paint": {"fill-color": "#ff0000", "fill-opacity": 0.25}}]
      """##)
    let picture = PixelBuffer(width: 256, height: 256)
    picture.fill(RGBA(red: 0, green: 200, blue: 100))
    let painted = try #require(
      try TilePainter(map, insideOnly: false).painted(picture, TileID(zoom: 8, column: 135, row: 90)))
    let mixed = SIMD4<Int>(64, 150, 75, 255)
    var found = false
    for i in 0..<(256 * 256) {
      let pixel = painted[i % 256, i / 256]
      let away = SIMD4<Int>(truncatingIfNeeded: pixel) &- mixed
      found = found || (abs(away.x) <= 1 && abs(away.y) <= 1 && abs(away.z) <= 1 && pixel.w == 255)
    }
    #expect(found)
  }

  @Test func linesAreSimplifiedByLessThanTheEyeSees() throws {
    var random = SeededGenerator(seed: 7)
    let wiggle = (0..<4000).map { i in
      SIMD2(10 + Double(i) / 4000, 46 + Double.random(in: -1e-5...1e-5, using: &random))
    }
    let coarse = try #require(LineShape(wiggle, matrixSet: .webMercatorQuad, zoom: 8))
    #expect(coarse.points.count < 20 && coarse.measured().lengths.count == coarse.points.count)
    let fine = try #require(LineShape(wiggle, matrixSet: .webMercatorQuad, zoom: 18))
    #expect(fine.points.count > 2000)
    // No segment is so long that cairo's numbers end.
    let far = try #require(LineShape([SIMD2(-170, 0), SIMD2(170, 0)], matrixSet: .webMercatorQuad, zoom: 20))
    #expect(zip(far.points, far.points.dropFirst()).allSatisfy { $1.x - $0.x <= 32_768 })
  }

  /// A ring without what lies elsewhere fills the same pixels, and is short.
  @Test func ringsAreReducedToWhatATileShows() throws {
    var random = SeededGenerator(seed: 3)
    let points = (0..<2000).map { i in
      let (turn, radius) = (Double(i) / 2000 * 2 * .pi, Double.random(in: 0.2...1.4, using: &random))
      return SIMD2(10 + radius * cos(turn), 46 + radius * sin(turn))
    }
    let shape = try #require(
      LineShape(points + [points[0]], matrixSet: .webMercatorQuad, zoom: 12, isRing: true))
    let corner = SIMD2(Double(2162 * 256), Double(1448 * 256))
    let box = PixelBox(low: corner, high: corner + 256)
    let reduced = shape.reduced(to: box)
    #expect(reduced.count < shape.points.count / 2 && reduced.allSatisfy { abs($0.x - corner.x) <= 65_792 })
    func covers(_ ring: [SIMD2<Double>], _ point: SIMD2<Double>) -> Bool {
      var isInside = false
      for (a, b) in zip(ring, ring.dropFirst() + ring.prefix(1)) where (a.y <= point.y) != (b.y <= point.y) {
        if a.x + (b.x - a.x) * ((point.y - a.y) / (b.y - a.y)) > point.x { isInside.toggle() }
      }
      return isInside
    }
    for _ in 0..<500 {
      let place = corner + SIMD2(Double.random(in: 0..<256, using: &random), Double.random(in: 0..<256, using: &random))
      #expect(covers(reduced, place) == covers(shape.points, place))
    }
  }

  @Test func dashesAreWhereTheyAreOnTheWholeLine() throws {
    let points: [SIMD2<Double>] = (0...50).map { i in
      SIMD2<Double>(10 + Double(i) * 0.01, 46 + Double(i % 3) * 0.01)
    }
    let shape = try #require(LineShape(points, matrixSet: .webMercatorQuad, zoom: 12))
    let line = shape.measured()
    let all = line.dashes([7, 3, 0, 3], in: line.points.indices, hasCaps: true)
    let length = line.lengths[line.lengths.count - 1]
    #expect(abs(all.count - 2 * Int(length / 13)) <= 2)
    // Those within a part are those of the whole.
    let part = line.dashes([7, 3, 0, 3], in: 10..<30, hasCaps: true)
    #expect(part.count > 20 && part.dropFirst().dropLast().allSatisfy { dash in all.contains(dash) })
    #expect(line.dashes([7, 3, 0, 3], in: line.points.indices, hasCaps: false).count * 2 <= all.count + 1)
  }

  @Test(arguments: [("{", "not valid JSON"), (#"{"type": "Point", "coordinates": [200, 100]}"#, "nowhere on Earth")])
  func malformedFilesAreNamed(_ text: String, message: String) throws {
    let error = #expect(throws: TrackError.self) { try map(#"[{"type": "line"}]"#, text) }
    #expect(error?.description.contains(message) == true && error?.path?.hasSuffix(".geojson") == true)
  }
}

extension PixelBuffer {
  /// A straight RGBA pixel.
  fileprivate subscript(x: Int, y: Int) -> SIMD4<UInt8> {
    bytes.load(fromByteOffset: y * rowBytes + x * 4, as: SIMD4<UInt8>.self)
  }
}
