import Foundation
import TestSupport
import Testing
import TileIndex
import TilePrefetch

/// Between points of the screen and degrees.
@Suite(.ownThread) struct ViewportTests {
  private static let scales = [1.0, 2, 3]
  /// On both sides of the antimeridian, and in worlds beside.
  private static let longitudes = [0.0, 8.5, -105.7, 179.9, 180, -180, -179.9, 190, -530]

  private func viewports(scale: Double, longitude: Double) -> [Viewport] {
    [-85, -60, 0, 46.5, 85].flatMap { latitude in
      [0, 4.3, 17].map { zoom in
        Viewport(longitude: longitude, latitude: latitude, zoom: zoom, size: (390, 844), scale: scale)
      }
    }
  }

  /// Whole turns apart.
  private func isSame(_ one: Double, _ other: Double) -> Bool {
    abs((one - other).remainder(dividingBy: 360)) < 1e-9
  }

  @Test(arguments: scales, longitudes) func whatWasPassedIsReadAgain(_ scale: Double, _ longitude: Double) {
    for latitude in stride(from: -85.0, through: 85, by: 5) {
      let view = Viewport(longitude: longitude, latitude: latitude, zoom: 7.25, size: (390, 844), scale: scale)
      #expect(isSame(view.longitude, longitude) && (-180...180).contains(view.longitude), "\(view.longitude)")
      #expect(abs(view.latitude - latitude) < 1e-9 && abs(view.mapZoom - 7.25) < 1e-12)
      #expect(abs(view.zoom - 7.25 - log2(scale)) < 1e-12)
    }
  }

  /// The middle of the screen is the centre, and each point of it is found again.
  @Test(arguments: scales, longitudes) func pointsAndDegreesGoRound(_ scale: Double, _ longitude: Double) {
    for view in viewports(scale: scale, longitude: longitude) {
      let middle = view.coordinate(atX: 195, y: 422)
      #expect(isSame(middle.longitude, view.longitude) && abs(middle.latitude - view.latitude) < 1e-9)
      let world = 256 * exp2(view.mapZoom)
      for (x, y) in [(0.0, 0.0), (390, 844), (17.5, 800), (195, 422)] {
        let place = view.coordinate(atX: x, y: y)
        #expect((-180...180).contains(place.longitude))
        // Above and below the map no place is drawn, and a screen wider than the world has some places several times.
        guard abs(place.latitude) < 85.05, abs(x - 195) < world / 2 - 1e-6 else { continue }
        let found = view.position(longitude: place.longitude, latitude: place.latitude)
        #expect(abs(found.x - x) < 1e-4 && abs(found.y - y) < 1e-4, "\(view): \(found), not \((x, y))")
      }
    }
  }

  /// A marker on the other side of the antimeridian is where the map shows it, not a world away.
  @Test func placeIsDrawnOnTheNearestWorld() {
    let east = Viewport(longitude: 179, latitude: 0, zoom: 4, size: (400, 400))
    let west = Viewport(longitude: -179, latitude: 0, zoom: 4, size: (400, 400))
    let degree = 256.0 * 16 / 360
    #expect(abs(east.position(longitude: -179, latitude: 0).x - (200 + 2 * degree)) < 1e-9)
    #expect(abs(west.position(longitude: 179, latitude: 0).x - (200 - 2 * degree)) < 1e-9)
    #expect(abs(west.position(longitude: 181, latitude: 0).x - 200) < 1e-9)
  }

  /// A tile's corner is where the tile is drawn.
  @Test func positionsAgreeWithFrames() throws {
    let view = Viewport(longitude: 8.5, latitude: 47.4, zoom: 9, size: (390, 844), scale: 3)
    for tile in view.tiles {
      let box = TileMatrixSet.webMercatorQuad.geographicBounds(of: tile)
      let (corner, frame) = (view.position(longitude: box.west, latitude: box.north), view.frame(of: tile))
      #expect(abs(corner.x - frame.x) < 1e-4 && abs(corner.y - frame.y) < 1e-4)
    }
  }

  @Test(arguments: scales, longitudes) func movedMapFollowsTheFinger(_ scale: Double, _ longitude: Double) {
    for view in viewports(scale: scale, longitude: longitude) where view.mapZoom > 1 {
      let place = view.coordinate(atX: 100, y: 300)
      let moved = view.moved(byX: 30, y: -45)
      let there = moved.coordinate(atX: 130, y: 255)
      #expect(isSame(there.longitude, place.longitude) && abs(there.latitude - place.latitude) < 1e-9)
      #expect(moved.zoom == view.zoom && moved.width == view.width && moved.scale == view.scale)
      let back = moved.moved(byX: -30, y: 45)
      #expect(abs(back.x - view.x) < 1e-12 && abs(back.y - view.y) < 1e-12)
    }
  }

  @Test(arguments: scales, longitudes) func zoomedMapKeepsThePlaceUnderTheFingers(_ scale: Double, _ longitude: Double)
  {
    for view in viewports(scale: scale, longitude: longitude) {
      let place = view.coordinate(atX: 100, y: 300)
      for steps in [-1.5, 0, 0.25, 3] {
        let zoomed = view.zoomed(by: steps, aroundX: 100, y: 300)
        let there = zoomed.coordinate(atX: 100, y: 300)
        #expect(isSame(there.longitude, place.longitude) && abs(there.latitude - place.latitude) < 1e-9)
        #expect(abs(zoomed.mapZoom - view.mapZoom - steps) < 1e-12)
        let back = zoomed.zoomed(by: -steps, aroundX: 100, y: 300)
        #expect(abs(back.x - view.x) < 1e-9 && abs(back.y - view.y) < 1e-9)
      }
    }
  }

  @Test func viewportIsDecodedAsItWasEncoded() throws {
    let view = Viewport(longitude: -105.7, latitude: 40.3, zoom: 9, size: (390, 844), scale: 3)
    #expect(try JSONDecoder().decode(Viewport.self, from: JSONEncoder().encode(view)) == view)
  }

  /// Numbers that an app decodes, or computes of a pinch by a factor of 0, stop no program.
  @Test(arguments: [
    Double.nan, .infinity, -.infinity, 1e308, -1e308, 1e19, -1e19, 63.5, -63.5, 40.7, 0, .leastNonzeroMagnitude,
  ]) func hostileNumbersDoNotTrap(_ number: Double) {
    let plain = Viewport(longitude: 8.5, latitude: 47.4, zoom: 9, size: (390, 844), scale: 3)
    let properties: [WritableKeyPath<Viewport, Double>] = [\.x, \.y, \.zoom, \.width, \.height, \.scale]
    var views = [
      Viewport(x: number, y: number, zoom: number, width: number, height: number),
      Viewport(longitude: number, latitude: number, zoom: number, size: (number, number), scale: number),
      plain.zoomed(by: number, aroundX: number, y: number), plain.zoomed(by: log2(number), aroundX: 1, y: 1),
      plain.moved(byX: number, y: number), plain.towards(plain.zoomed(by: number, aroundX: 1, y: 1), number),
    ]
    for property in properties {
      var view = plain
      view[keyPath: property] = number
      views.append(view)
      for other in properties {
        view[keyPath: other] = number
        views.append(view)
      }
    }
    for view in views {
      #expect((-40...40).contains(view.tileZoom) && view.tiles.count > 0 && view.tiles.zoom == view.tileZoom)
      _ = (view.shortSide, view.mapZoom, view.longitude, view.latitude, view.hashValue, view.isUsable)
      _ = (view.coordinate(atX: number, y: number), view.position(longitude: number, latitude: number))
      _ = (view.shows(MapPoint(x: number, y: 0.5)), view.frame(of: TileID(unchecked: 9, 268, 178)))
      _ = (view.onceAround, view.inTiles(zoom: 30), view.inTiles(zoom: 0), view.inTiles(ofPixels: 512))
      #expect(view.inTiles(zoom: 30).onceAround.tiles.count > 0 && view.within(x: 0...1, y: 0...1).tiles.count > 0)
      #expect(view.moved(byX: 1, y: 1).tiles.count > 0 && view.towards(plain, 0.5).tiles.count > 0)
    }
  }

  /// A view that is nowhere shows no tile of any map.
  @Test func viewsOfNoFiniteNumbersShowNothing() {
    for number in [Double.nan, .infinity, -.infinity] {
      let view = Viewport(x: 0.5, y: number, zoom: 3, width: 512, height: 512)
      #expect(view.tiles == TileRange(zoom: 3, columns: -1 ... -1, rows: -1 ... -1))
    }
  }

  /// They change no plan and load nothing.
  @Test func predictorsLeaveHostileViewsOut() {
    let plain = Viewport(longitude: 8.5, latitude: 47.4, zoom: 9, size: (390, 844), scale: 3)
    var predictor = PrefetchPredictor()
    predictor.update(plain, phase: .rest, at: 0)
    let plan = predictor.plan(countMax: 100)
    for number in [Double.nan, .infinity, 1e19, -1e19] {
      var hostile = plain
      hostile.zoom = number
      predictor.update(hostile, phase: .rest, at: 1)
      #expect(predictor.plan(countMax: 100) == plan)
      var moving = predictor
      moving.update(plain, phase: .fling(target: hostile), at: 2)
      #expect(moving.plan(countMax: 100).count > 0)
    }
  }
}
