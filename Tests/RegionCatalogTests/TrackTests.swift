import TestSupport
import Testing
import TileIndex

@testable import RegionCatalog

@Suite(.ownThread) struct TrackTests {
  private func track(_ text: String) throws -> [[SIMD2<Double>]] {
    let folder = try TemporaryFolder()
    return try Track(path: try folder.write("track", text)).lines
  }

  @Test func readsGPX() throws {
    let lines = try track(
      """
      <?xml version="1.0"?>
      <gpx version="1.1" creator="x"><metadata><bounds minlat="1" minlon="2" maxlat="3" maxlon="4"/></metadata>
      <wpt lat="46.5" lon="7.25"><name>A &lt;b&gt;</name></wpt>
      <!-- <trkpt lat="1" lon="1"/> -->
      <trk><trkseg><trkpt lon = '8' lat='47'><ele>3</ele></trkpt><trkpt lat="47.5"
        lon="-8.5"/></trkseg><trkseg><x:trkpt xmlns:x="u" lat="1" lon="2"/></trkseg></trk>
      <rte><rtept lat="5" lon="6"></rtept><rtept lat="6" lon="7"/></rte></gpx>
      """)
    #expect(
      lines == [
        [SIMD2(7.25, 46.5)], [SIMD2(8, 47), SIMD2(-8.5, 47.5)], [SIMD2(2, 1)], [SIMD2(6, 5), SIMD2(7, 6)],
      ])
  }

  @Test func readsGeoJSON() throws {
    let lines = try track(
      """
      {"type": "FeatureCollection", "features": [
        {"type": "Feature", "properties": null, "geometry": {"type": "LineString", "coordinates": [[1, 2, 3], [4, 5]]}},
        {"type": "Feature", "geometry": null},
        {"type": "Feature", "geometry": {"type": "MultiPoint", "coordinates": [[1, 2], [3, 4]]}}]}
      """)
    #expect(lines == [[SIMD2(1, 2), SIMD2(4, 5)], [SIMD2(1, 2)], [SIMD2(3, 4)]])
  }

  @Test(arguments: [
    ("", "neither GPX nor GeoJSON"), ("hello", "neither GPX nor GeoJSON"), ("<kml></kml>", "no GPX"),
    ("<gpx></gpx>", "holds no point"), ("<gpx><trkpt lat=\"91\" lon=\"0\"/></gpx>", "without a position"),
    ("<gpx><trkpt lon=\"0\"/></gpx>", "without a position"), ("{", "is not valid JSON"), ("{}", "type"),
    (#"{"type": "LineString", "coordinates": [[1, 2], ["x", 3]]}"#, "coordinates[1]"),
  ])
  func saysWhatIsWrong(text: String, expected: String) {
    #expect { try track(text) } throws: { "\($0)".contains(expected) && "\($0)".contains("; ") }
  }

  @Test func missingFile() {
    #expect { try Track(path: "/nowhere/x.gpx") } throws: { ($0 as? TrackError)?.isUnreadable == true }
  }

  /// Tiles of a line, against many points along it.
  @Test(arguments: [TileMatrixSet.webMercatorQuad, .worldCRS84Quad, ParcelPlanTests.levels], [1, 2, 3] as [UInt64])
  func linesPassTheirTiles(_ matrixSet: TileMatrixSet, seed: UInt64) {
    var random = SeededGenerator(seed: seed)
    for _ in 0..<20 {
      func place() -> SIMD2<Double> {
        SIMD2(Double.random(in: -170...170, using: &random), Double.random(in: -80...80, using: &random))
      }
      let (a, b) = (place(), place())
      guard abs(a.x - b.x) < 170 else { continue }
      let zoom = 3
      let tiles = Track(lines: [[a, b]]).tiles(zoom: zoom, in: matrixSet)
      let start = matrixSet.tileCoordinates(longitude: a.x, latitude: a.y, zoom: zoom)
      let end = matrixSet.tileCoordinates(longitude: b.x, latitude: b.y, zoom: zoom)
      var passed: Set<TileID> = []
      for step in 0...2000 {
        let point = start + (end - start) * (Double(step) / 2000)
        passed.insert(TileID(unchecked: zoom, Int(point.x), Int(point.y)))
      }
      #expect(tiles.isSuperset(of: passed), "\(matrixSet) seed \(seed)")
      // A corner may be cut between two steps, no more.
      #expect(tiles.count <= passed.count * 2 + 2, "\(matrixSet) seed \(seed)")
    }
  }

  @Test func tracksCrossTheAntimeridianTheShortWay() {
    let grid = TileMatrixSet.webMercatorQuad
    let tiles = Track(lines: [[SIMD2(179, 10), SIMD2(-179, 10)]]).tiles(zoom: 5, in: grid)
    #expect(Set(tiles.map(\.column)) == [31, 0])
  }
}
