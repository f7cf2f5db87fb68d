import Foundation
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

  /// Documents that a search for strings would misread.
  @Test(arguments: [
    "<gpx><trkpt lat='46.5' lon = '7.25'/></gpx>",
    "<gpx><trkpt lat=\"&#52;6.5\" lon=\"7.2&#x35;\"/></gpx>",
    "<gpx><trkpt name=\"a > lat='1' lon='2'\" lat=\"46.5\" lon=\"7.25\"/></gpx>",
    "<gpx><name><![CDATA[<trkpt lat=\"1\" lon=\"2\"/>]]></name><wpt lat=\"46.5\" lon=\"7.25\"/></gpx>",
    "<gpx><desc>&lt;wpt lat=\"1\" lon=\"2\"/&gt;</desc><wpt lat=\"46.5\" lon=\"7.25\"/></gpx>",
    "<gpx><!-- <wpt lat=\"1\" lon=\"2\"/> --><wpt lat=\"46.5\" lon=\"7.25\"/></gpx>",
    "<g:gpx xmlns:g=\"http://www.topografix.com/GPX/1/1\"><g:wpt\nlat=\"46.5\"\tlon=\"7.25\" /></g:gpx>",
    "<gpx><wpt x:lat=\"1\" xmlns:x=\"u\" x:lon=\"2\" lat=\"46.5\" lon=\"7.25\"/></gpx>",
    "<?xml version='1.0' encoding='ISO-8859-1'?><!DOCTYPE gpx><gpx><trkpts/><wpt lat='46.5' lon='7.25'/></gpx>",
  ]) func gpxIsParsedAsXML(text: String) throws {
    #expect(try track(text) == [[SIMD2(7.25, 46.5)]])
  }

  @Test(arguments: [String.Encoding.utf8, .utf16LittleEndian, .utf16BigEndian], [true, false])
  func gpxMayBeUTF16(_ encoding: String.Encoding, hasByteOrderMark: Bool) throws {
    let name = encoding == .utf8 ? "UTF-8" : "UTF-16"
    let text = "<?xml version='1.0' encoding='\(name)'?><gpx><wpt lat='46.5' lon='7.25'><name>Ä</name></wpt></gpx>"
    let bytes = try #require(((hasByteOrderMark ? "\u{feff}" : "") + text).data(using: encoding))
    let folder = try TemporaryFolder()
    try bytes.write(to: URL(fileURLWithPath: folder.file("track.gpx")))
    #expect(try Track(path: folder.file("track.gpx")).lines == [[SIMD2(7.25, 46.5)]])
  }

  @Test(arguments: [
    ("<gpx><wpt lat=\"1\" lon=\"2\"></gpx>", "not well-formed XML: line 1"),
    ("<gpx>\n<wpt lat=1 lon=2/></gpx>", "not well-formed XML: line 2"),
    ("<!DOCTYPE gpx [<!ENTITY e \"5\">]><gpx><wpt lat=\"&e;\" lon=\"2\"/></gpx>", "declares an entity"),
    (
      "<!DOCTYPE gpx [<!ENTITY e SYSTEM \"file:///etc/hostname\">]><gpx><name>&e;</name></gpx>", "declares an entity"
    ),
    ("<!-- <gpx> --><kml><wpt lat='1' lon='2'/></kml>", "no GPX"),
    ("<gpx><!-- <wpt lat='1' lon='2'/> --></gpx>", "has no points"),
  ]) func malformedAndHostileGPXIsRefused(text: String, expected: String) {
    #expect { try track(text) } throws: { "\($0)".contains(expected) && "\($0)".contains("; ") }
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
    ("<gpx></gpx>", "has no points"), ("<gpx><trkpt lat=\"91\" lon=\"0\"/></gpx>", "without a position"),
    ("<gpx><trkpt lon=\"0\"/></gpx>", "without a position"), ("{", "is not valid JSON"), ("{}", "type"),
    (#"{"type": "LineString", "coordinates": [[1, 2], ["x", 3]]}"#, "coordinates[1]"),
  ])
  func malformedTracksAreRefused(text: String, expected: String) {
    #expect { try track(text) } throws: { "\($0)".contains(expected) && "\($0)".contains("; ") }
  }

  @Test func missingFilesAreUnreadable() {
    #expect { try Track(path: "/nowhere/x.gpx") } throws: { ($0 as? TrackError)?.code == .unreadable }
  }

  /// Compared with many points along the line.
  @Test(arguments: [TileMatrixSet.webMercatorQuad, .worldCRS84Quad, TilePackPlanTests.levels], [1, 2, 3] as [UInt64])
  func tilesOfLinesMatchSampledPoints(_ matrixSet: TileMatrixSet, seed: UInt64) {
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
      // Only tiles crossed between two sample points may be additional.
      #expect(tiles.count <= passed.count * 2 + 2, "\(matrixSet) seed \(seed)")
    }
  }

  @Test func segmentsCrossTheAntimeridianWhereShorter() {
    let grid = TileMatrixSet.webMercatorQuad
    let tiles = Track(lines: [[SIMD2(179, 10), SIMD2(-179, 10)]]).tiles(zoom: 5, in: grid)
    #expect(Set(tiles.map(\.column)) == [31, 0])
  }
}
