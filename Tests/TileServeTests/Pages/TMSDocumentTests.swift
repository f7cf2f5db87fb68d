import TestSupport
import Testing
import TileIndex

@testable import TileServe

@Suite(.ownThread) struct TMSDocumentTests {
  @Test func serviceListsTheTilesetsThatTMSCanDescribe() throws {
    let root = try XMLTree.parsed(
      TMSDocument.service(
        [
          Samples.info(id: "a b"), Samples.info(id: "d", matrixSet: .worldCRS84Quad),
          Samples.info(id: "v", format: .pbf),
          Samples.info(id: "s", matrixSet: try Samples.degrees(), zooms: 0...2),
        ], at: Samples.address))
    #expect(root.name == "TileMapService")
    #expect(root.attributes["version"] == "1.0.0")
    let maps = root.all("TileMap")
    #expect(
      maps.map { $0.attributes["href"] } == [
        "https://maps.example.org/tiles/tms/1.0.0/a%20b", "https://maps.example.org/tiles/tms/1.0.0/d",
      ])
    #expect(maps.map { $0.attributes["profile"] } == ["global-mercator", "global-geodetic"])
    #expect(maps.map { $0.attributes["srs"] } == ["EPSG:3857", "EPSG:4326"])
  }

  @Test func mercatorStartsAtTheProfilesResolution() throws {
    let bytes = try #require(TMSDocument.tileMap(Samples.info(zooms: 2...3), at: Samples.address))
    // GDAL recognises the document by these words.
    #expect(String(decoding: bytes, as: UTF8.self).contains("<TileMap version=\"1.0.0\""))
    let root = try XMLTree.parsed(bytes)
    #expect(root["SRS"]?.text == "EPSG:3857")
    let sets = root.all("TileSet")
    #expect(sets.map { $0.attributes["order"] } == ["0", "1", "2", "3"])
    #expect(sets[3].attributes["href"] == "https://maps.example.org/tiles/tms/1.0.0/park/3")
    let units = try #require(sets[0].attributes["units-per-pixel"].flatMap { Double($0) })
    #expect(abs(units - 156543.03392804097) < 1e-8)
    #expect(
      root["TileFormat"]?.attributes == ["width": "256", "height": "256", "mime-type": "image/png", "extension": "png"])
    let origin = try #require(root["Origin"]?.attributes["y"].flatMap { Double($0) })
    #expect(abs(origin + 20037508.3427892) < 1e-6)
  }

  @Test func degreesStartWithTwoTiles() throws {
    let root = try XMLTree.parsed(
      try #require(TMSDocument.tileMap(Samples.info(matrixSet: .worldCRS84Quad, zooms: 0...1), at: Samples.address)))
    #expect(root.all("TileSet").map { $0.attributes["units-per-pixel"] } == ["0.703125", "0.3515625"])
    #expect(root["Origin"]?.attributes == ["x": "-180", "y": "-90"])
    #expect(root["BoundingBox"]?.attributes == ["minx": "-180", "miny": "-90", "maxx": "180", "maxy": "90"])
  }

  @Test func largerTilesHaveSmallerPixels() throws {
    let root = try XMLTree.parsed(
      try #require(TMSDocument.tileMap(Samples.info(zooms: 0...0, tilePixels: 512), at: Samples.address)))
    #expect(root["TileFormat"]?.attributes["width"] == "512")
    let units = try #require(root.all("TileSet").first?.attributes["units-per-pixel"].flatMap { Double($0) })
    #expect(abs(units - 78271.51696402048) < 1e-8)
  }

  @Test func gridsWithoutACommonSouthernEdgeAndVectorTilesHaveNone() throws {
    #expect(
      TMSDocument.tileMap(Samples.info(matrixSet: try Samples.degrees(), zooms: 0...2), at: Samples.address) == nil)
    #expect(TMSDocument.tileMap(Samples.info(format: .pbf), at: Samples.address) == nil)
  }
}
