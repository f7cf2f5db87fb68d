import Foundation
import Support
import TestSupport
import Testing

@testable import TileIndex

/// Grids in any CRS, without PROJ: the fitted series against the formulas of a sphere.
@Suite struct FittedCRSTests {
  /// Even points of a box, edges included.
  private static func points(in box: BoundingBox, _ count: Int = 13) -> [SIMD2<Double>] {
    let shares = (0..<count).map { Double($0) / Double(count - 1) }
    return shares.flatMap { y in
      shares.map { SIMD2(box.west + $0 * box.width, box.south + y * box.height) }
    }
  }

  private static func fitted(_ crs: SphereCRS) throws -> FittedCRS { try FittedCRS(crs.definition, box: crs.box) }

  @Test(arguments: SphereCRS.allCases) func pointsAndPlacesAreThoseOfTheCRS(crs: SphereCRS) throws {
    let fitted = try Self.fitted(crs)
    let tolerance = FittedCRS.tolerance(of: crs.box, metresPerUnit: 1)
    #expect(try fitted.error(against: crs.definition, count: 31) <= tolerance)
    for point in Self.points(in: crs.box) {
      let place = fitted.coordinate(of: point)
      let back = fitted.point(longitude: place.longitude, latitude: place.latitude)
      // A place at the pole is the pole.
      let slack = place.latitude > 90 - 1e-5 ? 0.1 : 1e-3 * tolerance
      #expect(max(abs(back.x - point.x), abs(back.y - point.y)) < slack, "\(point)")
      let exact = fitted.point(longitude: crs.degrees(point).x + 360, latitude: crs.degrees(point).y)
      #expect(max(abs(exact.x - point.x), abs(exact.y - point.y)) < 4 * tolerance, "\(point)")
    }
  }

  /// Outside the box there are rough points, none of them in the box.
  @Test(arguments: SphereCRS.allCases) func placesElsewhereLieOutside(crs: SphereCRS) throws {
    let (fitted, set) = (try Self.fitted(crs), try crs.matrixSet())
    for longitude in stride(from: -180.0, to: 180, by: 15) {
      for latitude in stride(from: -88.0, to: 89, by: 5.5) {
        let exact = crs.point(SIMD2(longitude, latitude))
        let isInside = fitted.contains(exact)
        // Transverse Mercator shows the other side of the Earth in the same place.
        let back = crs.degrees(exact)
        guard abs(back.y - latitude) < 1e-6 else { continue }
        let point = fitted.point(longitude: longitude, latitude: latitude)
        #expect(point.x.isFinite && point.y.isFinite)
        #expect(fitted.contains(point) == isInside, "\(longitude) \(latitude): \(point)")
        #expect((set.tile(longitude: longitude, latitude: latitude, zoom: 3) != nil) == isInside)
      }
    }
  }

  /// The box in degrees of a tile has all its points, and is no larger than it has to be.
  @Test(arguments: SphereCRS.allCases) func tilesHaveTheirBoxesOfDegrees(crs: SphereCRS) throws {
    let (set, fitted) = (try crs.matrixSet(), try Self.fitted(crs))
    for zoom in 0...2 {
      for tile in set.wholeRange(zoom: zoom) {
        let box = set.bounds(of: tile)
        let degrees = set.geographicBounds(of: tile)
        #expect(degrees.west < degrees.east && degrees.south < degrees.north && degrees.north <= 90)
        // A pole has no longitude, and the antimeridian two.
        let places = Self.points(in: box, 17).map { fitted.coordinate(of: $0) }.filter { $0.latitude < 90 - 1e-6 }
          .map { place in
            let turns = ((degrees.centre.x - place.longitude) / 360).rounded()
            return (longitude: place.longitude + 360 * turns, latitude: place.latitude)
          }
        let slack = 1e-2 * degrees.height
        for place in places {
          #expect(place.latitude > degrees.south - slack && place.latitude < degrees.north + slack)
          #expect(place.longitude > degrees.west - slack && place.longitude < degrees.east + slack)
        }
        if degrees.north < 90 { #expect(places.map(\.latitude).max()! > degrees.north - slack) }
        #expect(places.map(\.latitude).min()! < degrees.south + slack)
        guard degrees.width < 360 else { continue }
        #expect(places.map(\.longitude).max()! > degrees.east - slack, "\(tile) \(degrees)")
        #expect(places.map(\.longitude).min()! < degrees.west + slack)
      }
    }
  }

  @Test func boxesAroundAPoleHaveAllLongitudes() throws {
    let set = try SphereCRS.polar.matrixSet()
    let whole = set.geographicBounds(ofCRSBounds: set.boundingBox)
    #expect(whole.west == -180 && whole.east == 180 && whole.north == 90)
    #expect(abs(whole.south - SphereCRS.polar.degrees(SIMD2(4_194_304, 4_194_304)).y) < 1e-6)
    // The pole is a corner of four tiles.
    let corner = set.geographicBounds(of: TileID(unchecked: 1, 1, 0))
    #expect(abs(corner.west - 90) < 1e-6 && abs(corner.east - 180) < 1e-6 && corner.north > 90 - 1e-6)
    #expect(!set.isGlobal && set.latitudes == whole.south...90)
    let pole = set.coordinate(of: .zero)
    #expect(pole.longitude == 0 && abs(pole.latitude - 90) < 1e-6)
  }

  @Test func boxesAcrossTheAntimeridianHaveAllLongitudes() throws {
    let (set, fitted) = (try SphereCRS.pacific.matrixSet(), try Self.fitted(.pacific))
    let open = fitted.geographicBounds(of: set.boundingBox)
    #expect(open.west > 160 && open.east > 180 && open.east < 200)
    let whole = set.geographicBounds(ofCRSBounds: set.boundingBox)
    #expect(whole.west == -180 && whole.east == 180)
    let west = set.geographicBounds(ofCRSBounds: BoundingBox(west: 0, south: 3e6, east: 500_000, north: 4e6))
    #expect(west.west > 170 && west.east == 180)
    let east = set.geographicBounds(ofCRSBounds: BoundingBox(west: 500_000, south: 3e6, east: 1e6, north: 4e6))
    #expect(east.west == -180 && east.east < -170)
  }

  @Test func boxesOfDegreesCoverTheirPoints() throws {
    let boxes: [(SphereCRS, BoundingBox)] = [
      (.polar, BoundingBox(west: -180, south: 80, east: 180, north: 90)),
      (.polar, BoundingBox(west: 170, south: 70, east: -160, north: 75)),
      (.europe, BoundingBox(west: 5, south: 45, east: 15, north: 55)),
      (.europe, BoundingBox(west: -60, south: 40, east: 5, north: 50)),
      (.pacific, BoundingBox(west: 178, south: 40, east: 183, north: 50)), (.zone, .world),
    ]
    for (crs, box) in boxes {
      let (set, fitted) = (try crs.matrixSet(), try Self.fitted(crs))
      let found = set.crsBounds(ofGeographicBounds: box)
      var turned = box
      if turned.east < turned.west { turned.east += 360 }
      var points = Self.points(in: turned, 101).map { crs.point($0) }.filter { fitted.contains($0) }
      if box == .world { points = Self.points(in: crs.box) }
      let around = BoundingBox(around: points)
      let slack = 0.01 * max(around.width, around.height)
      for (a, b) in [
        (found.west, around.west), (found.south, around.south), (-found.east, -around.east),
        (-found.north, -around.north),
      ] {
        #expect(a < b + 1e-6 * slack && a > b - slack, "\(crs) \(box): \(found) \(around)")
      }
      let ranges = set.ranges(covering: box, zoom: 5)
      #expect(ranges.count == 1 && ranges.first == set.range(coveringCRSBounds: found, zoom: 5))
    }
    let south = BoundingBox(west: 0, south: -60, east: 10, north: -50)
    #expect(try SphereCRS.europe.matrixSet().ranges(covering: south, zoom: 2).isEmpty)
    #expect(try SphereCRS.polar.matrixSet().crsBounds(ofGeographicBounds: south).width == 0)
  }

  @Test func tilesHaveTheirAreas() throws {
    let set = try SphereCRS.europe.matrixSet()
    let tile = TileID(unchecked: 5, 3, 20)
    let span = set[5].tileSpanX
    #expect(abs(set.area(of: tile) / (span * span) - 1) < 0.003)
  }

  /// Rings are cut to what the grid may show, so that those around the world do not collapse.
  @Test func shapesAreCutToTheGrid() throws {
    let (polar, europe) = (try SphereCRS.polar.matrixSet(), try SphereCRS.europe.matrixSet())
    let world = [(-180.0, -90.0), (180, -90), (180, 90), (-180, 90), (-180, -90)].map { SIMD2($0.0, $0.1) }
    let ring = try #require(polar.reachable(ring: world).first)
    #expect(ring.allSatisfy { $0.y > 0 } && ring.first == ring.last)
    #expect(TileMatrixSet.webMercatorQuad.reachable(ring: world) == [world])
    let australia = [(115.0, -35.0), (150, -35), (150, -12), (115, -35)].map { SIMD2($0.0, $0.1) }
    #expect(europe.reachable(ring: australia).isEmpty && europe.reachable(line: australia).isEmpty)
    #expect(
      !europe.isReachable(australia[0]) && europe.isReachable(SIMD2(10, 50)) && europe.isReachable(SIMD2(370, 50)))
    let line = [SIMD2(10.0, 50), SIMD2(150, 50), SIMD2(150, 45), SIMD2(10, 45)]
    let parts = europe.reachable(line: line)
    #expect(parts.count == 2 && parts[0][0] == line[0] && parts[0][1].x < 90 && parts[1][1] == line[3])
  }

  @Test func definitionsKeepTheRelation() throws {
    for crs in SphereCRS.allCases {
      let set = try crs.matrixSet()
      let definition = try #require(set.definition)
      #expect(definition.text.utf8.count < 1 << 16, "\(crs): \(definition.text.utf8.count)")
      let copy = try TileMatrixSet(definition: JSONValue(parsing: definition.bytes))
      #expect(copy == set && copy.crs == crs.rawValue)
      guard case .fitted(let a) = set.projection, case .fitted(let b) = copy.projection else {
        Issue.record("not fitted")
        continue
      }
      #expect(a.surface == b.surface && a.isNorthFirst == b.isNorthFirst && a.wkt == b.wkt && a.name == b.name)
    }
  }
}
