import TestSupport
import Testing
import TileIndex

@Suite(.ownThread) struct CoordinateTests {
  let set = TileMatrixSet.webMercatorQuad

  func name(_ longitude: Double, _ latitude: Double, _ zoom: Int) -> String? {
    set.tile(longitude: longitude, latitude: latitude, zoom: zoom)?.description
  }

  @Test func publishedPositionsHaveTheirTiles() {
    // Published by mercantile's and OpenStreetMap's documentation.
    #expect(name(20.6852, 40.1222, 9) == "9/285/193")
    #expect(name(-122.4, 37.8, 10) == "10/163/395")
    let box = set.geographicBounds(of: TileID(unchecked: 10, 486, 332))
    #expect(abs(box.west - -9.140625) < 1e-12 && abs(box.east - -8.7890625) < 1e-12)
    #expect(abs(box.south - 53.12040528310657) < 1e-12 && abs(box.north - 53.33087298301705) < 1e-12)
  }

  @Test func longitudesWrapAtTheAntimeridian() {
    #expect(name(-180, 0, 3) == "3/0/4")
    #expect(name(180, 0, 3) == "3/7/4")
    #expect(name(179.9999999, 0, 3) == "3/7/4")
    #expect(name(180.0000001, 0, 3) == "3/0/4")
    #expect(name(-180.0000001, 0, 3) == "3/7/4")
    #expect(name(190, 0, 3) == name(-170, 0, 3))
    #expect(name(-190, 0, 3) == name(170, 0, 3))
    #expect(name(540 + 45, 0, 3) == name(-135, 0, 3))
    #expect(set.point(longitude: 180, latitude: 0).x == WebMercator.halfWorld)
    #expect(set.point(longitude: -180, latitude: 0).x == -WebMercator.halfWorld)
  }

  @Test func latitudesAreClampedAtThePoles() {
    #expect(name(0, 90, 4) == "4/8/0")
    #expect(name(0, -90, 4) == "4/8/15")
    let crs84 = TileMatrixSet.worldCRS84Quad
    #expect(crs84.tile(longitude: 0, latitude: 90, zoom: 4)?.description == "4/16/0")
    #expect(crs84.tile(longitude: 0, latitude: -90, zoom: 4)?.description == "4/16/15")
    #expect(crs84.tile(longitude: 180, latitude: -90, zoom: 0)?.description == "0/1/0")
    #expect(set.point(longitude: 0, latitude: 90) == SIMD2(0, WebMercator.halfWorld))
    #expect(set.point(longitude: 0, latitude: -90) == SIMD2(0, -WebMercator.halfWorld))
  }

  @Test func mercatorEndsAtLatitude85_0511() {
    let edge = WebMercator.latitudeMax
    #expect(WebMercator.y(latitude: edge) == WebMercator.halfWorld)
    #expect(WebMercator.latitude(y: WebMercator.halfWorld) == edge)
    #expect(WebMercator.latitude(y: -WebMercator.halfWorld) == -edge)
    #expect(abs(WebMercator.y(latitude: edge.nextDown) - WebMercator.halfWorld) < 1e-6)
    for zoom in 0...30 {
      #expect(set.geographicBounds(of: TileID(unchecked: zoom, 0, 0)).north == edge)
      #expect(set.geographicBounds(of: TileID(unchecked: zoom, 0, (1 << zoom) - 1)).south == -edge)
      #expect(set.tile(longitude: 0, latitude: edge, zoom: zoom)?.row == 0)
      #expect(set.tile(longitude: 0, latitude: -edge, zoom: zoom)?.row == (1 << zoom) - 1)
      #expect(set.tile(longitude: 0, latitude: -85.0511, zoom: zoom) != nil)
    }
  }

  @Test func zoom0IsOneTile() {
    for (longitude, latitude) in [(-180.0, 85.0), (180, -85), (0, 0), (179, 90)] {
      #expect(name(longitude, latitude, 0) == "0/0/0")
    }
    #expect(
      set.geographicBounds(of: TileID(unchecked: 0, 0, 0))
        == BoundingBox(west: -180, south: -WebMercator.latitudeMax, east: 180, north: WebMercator.latitudeMax))
    #expect(
      set.bounds(of: TileID(unchecked: 0, 0, 0))
        == BoundingBox(
          west: -20037508.342789244, south: -20037508.342789244, east: 20037508.342789244, north: 20037508.342789244))
  }

  @Test func zoom30IsExact() {
    let last = (1 << 30) - 1
    #expect(name(180, -90, 30) == "30/\(last)/\(last)")
    #expect(name(-180, 90, 30) == "30/0/0")
    #expect(name(0, 0, 30) == "30/\(1 << 29)/\(1 << 29)")
    #expect(set.bounds(of: TileID(unchecked: 30, last, last)).east == WebMercator.halfWorld)
    #expect(set.bounds(of: TileID(unchecked: 30, last, last)).south == -WebMercator.halfWorld)
    #expect(name(0, 0, 31) == nil)
    #expect(name(0, 0, -1) == nil)
  }

  @Test func nonFiniteCoordinatesHaveNoTile() {
    #expect(name(.nan, 0, 3) == nil)
    #expect(name(0, .nan, 3) == nil)
    #expect(name(.infinity, 0, 3) == nil)
    #expect(name(0, -.infinity, 3) == nil)
    #expect(set.ranges(covering: BoundingBox(west: .nan, south: 0, east: 1, north: 1), zoom: 3).isEmpty)
    #expect(set.ranges(covering: BoundingBox(west: 0, south: .nan, east: 1, north: 1), zoom: 3).isEmpty)
    #expect(set.ranges(covering: BoundingBox(west: 0, south: 0, east: .infinity, north: 1), zoom: 3).isEmpty)
  }

  @Test func projectionRoundTrips() {
    var random = SeededGenerator(seed: 21)
    for _ in 0..<5_000 {
      let longitude = Double.random(in: -180...180, using: &random)
      let latitude = Double.random(in: -85...85, using: &random)
      let point = WebMercator.project(longitude: longitude, latitude: latitude)
      let back = WebMercator.unproject(point)
      #expect(abs(back.x - longitude) < 1e-12 && abs(back.y - latitude) < 1e-12, "seed 21")
    }
    // The result of PROJ 9 for EPSG:4326 to EPSG:3857 (cs2cs -f %.6f).
    let point = WebMercator.project(longitude: -84.18, latitude: 36.33)
    #expect(abs(point.x - -9370874.734978) < 1e-6 && abs(point.y - 4346124.387120) < 1e-6)
  }

  @Test(arguments: TileMatrixSetTests.sets)
  func tilesRoundTripThroughTheirCentres(set: TileMatrixSet) throws {
    var random = SeededGenerator(seed: 22)
    for _ in 0..<1_000 {
      let tile = random.tile(zooms: set.zooms, in: set)
      let centre = set.geographicBounds(of: tile).centre
      #expect(set.tile(longitude: centre.x, latitude: centre.y, zoom: tile.zoom) == tile, "seed 22, \(set.identifier)")
      let matrix = set[tile.zoom]
      let pixel = set.pixelCoordinates(longitude: centre.x, latitude: centre.y, zoom: tile.zoom)
      let place = set.tileCoordinates(longitude: centre.x, latitude: centre.y, zoom: tile.zoom)
      #expect(abs(pixel.x / Double(matrix.tileWidth) - place.x) < 1e-6)
      #expect(abs(pixel.y / Double(matrix.tileHeight) - place.y) < 1e-6)
      #expect(Int(place.x) == tile.column && Int(place.y) == tile.row)
      let point = matrix.point(atPixel: pixel)
      let back = set.coordinate(of: point)
      #expect(abs(back.longitude - centre.x) < 1e-9 && abs(back.latitude - centre.y) < 1e-9)
    }
  }

  @Test func neighbouringTilesShareEdgesExactly() {
    var random = SeededGenerator(seed: 23)
    for set in TileMatrixSetTests.sets {
      for _ in 0..<300 {
        let tile = random.tile(zooms: 1...set.zooms.upperBound, in: set)
        let box = set.bounds(of: tile)
        #expect(set.bounds(of: TileID(unchecked: tile.zoom, tile.column + 1, tile.row)).west == box.east)
        #expect(set.bounds(of: TileID(unchecked: tile.zoom, tile.column, tile.row + 1)).north == box.south)
      }
    }
  }
}
