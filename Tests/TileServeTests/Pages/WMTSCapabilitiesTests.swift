import TestSupport
import Testing
import TileIndex

@testable import TileServe

@Suite(.ownThread) struct WMTSCapabilitiesTests {
  static func document(_ infos: TilesetInfo...) throws -> XMLTree {
    try XMLTree.parsed(WMTSCapabilities.document(infos, at: Samples.address))
  }

  @Test func webMercatorQuadHasTheScalesOfGoogleMapsCompatible() throws {
    let root = try Self.document(Samples.info(zooms: 0...2))
    #expect(root.name == "Capabilities")
    #expect(root.attributes["version"] == "1.0.0")
    let set = try #require(root["Contents"]?["TileMatrixSet"])
    #expect(set["ows:Identifier"]?.text == "WebMercatorQuad-0-2")
    #expect(set["ows:SupportedCRS"]?.text == "urn:ogc:def:crs:EPSG::3857")
    #expect(set["WellKnownScaleSet"]?.text == "urn:ogc:def:wkss:OGC:1.0:GoogleMapsCompatible")
    let scales = set.all("ScaleDenominator").compactMap { Double($0.text) }
    // OGC 07-057r7, annex E.4.
    for (scale, expected) in zip(scales, [559_082_264.0287178, 279_541_132.0143589, 139_770_566.0071794]) {
      #expect(abs(scale - expected) < 1e-6)
    }
    #expect(scales.count == 3)
    let corner = try #require(set.all("TopLeftCorner").first).text.split(separator: " ").compactMap { Double($0) }
    #expect(abs(corner[0] + 20037508.3427892) < 1e-6 && abs(corner[1] - 20037508.3427892) < 1e-6)
    #expect(set.all("MatrixWidth").map(\.text) == ["1", "2", "4"])
  }

  /// Neither vector tiles nor flat images: clients would show them in the wrong place or not at all.
  @Test func onlyRasterMapsAreLayers() throws {
    let contents = try #require(
      try Self.document(
        Samples.info(id: "map", zooms: 0...2), Samples.info(id: "roads", format: .pbf, zooms: 0...3),
        Samples.info(id: "scan", metadata: ["flat_image": "700,300"], zooms: 0...4))["Contents"])
    #expect(contents.all("Layer").compactMap { $0["ows:Identifier"]?.text } == ["map"])
    #expect(contents.all("TileMatrixSet").compactMap { $0["ows:Identifier"]?.text } == ["WebMercatorQuad-0-2"])
  }

  @Test func worldCRS84QuadHasTwoTilesAtLevelZero() throws {
    let set = try #require(
      try Self.document(Samples.info(matrixSet: .worldCRS84Quad, zooms: 0...1))["Contents"]?["TileMatrixSet"])
    #expect(set["ows:SupportedCRS"]?.text == "urn:ogc:def:crs:OGC:1.3:CRS84")
    let scale = try #require(set.all("ScaleDenominator").first.flatMap { Double($0.text) })
    #expect(abs(scale - 279_541_132.0143589) < 1e-6)
    #expect(set.all("TopLeftCorner").first?.text == "-180 90")
    #expect(set.all("MatrixWidth").map(\.text) == ["2", "4"])
    #expect(set.all("MatrixHeight").map(\.text) == ["1", "2"])
  }

  @Test func layersHaveBoundsAndLimits() throws {
    let root = try Self.document(
      Samples.info(id: "a b", zooms: 9...10, bounds: BoundingBox(west: -106, south: 39, east: -105, north: 40.5)))
    let layer = try #require(root["Contents"]?["Layer"])
    #expect(layer["ows:Identifier"]?.text == "a b")
    #expect(layer["Format"]?.text == "image/png")
    #expect(layer.all("ows:LowerCorner").first?.text == "-106 39")
    #expect(layer.all("ows:UpperCorner").first?.text == "-105 40.5")
    #expect(
      layer["ResourceURL"]?.attributes["template"]
        == """
        https://maps.example.org/tiles/wmts/1.0.0/a%20b/default/{TileMatrixSet}/{TileMatrix}/{TileRow}/{TileCol}.png
        """
    )
    let limits = layer.all("TileMatrixLimits").map { limit in
      ["TileMatrix", "MinTileRow", "MaxTileRow", "MinTileCol", "MaxTileCol"].map { limit[$0]?.text ?? "" }
    }
    // Columns and rows of the corners by the usual formulas for web map tiles.
    #expect(limits == [["9", "192", "195", "105", "106"], ["10", "385", "391", "210", "213"]])
    #expect(
      root.all("ows:Get").map { $0.attributes["xlink:href"] }
        == Array(repeating: "https://maps.example.org/tiles/wmts?", count: 2))
  }

  /// Clients choose the zoom from the tile matrix set alone, whatever a layer's limits say.
  @Test func layersWithTheSameZoomsShareATileMatrixSet() throws {
    let root = try Self.document(
      Samples.info(id: "a", zooms: 3...5), Samples.info(id: "b", zooms: 7...8), Samples.info(id: "c", zooms: 3...5),
      Samples.info(id: "d", matrixSet: .worldCRS84Quad, zooms: 0...1),
      Samples.info(id: "v", format: .pbf))
    let contents = try #require(root["Contents"])
    #expect(
      contents.children.filter { $0.name == "Layer" }.compactMap { $0["ows:Identifier"]?.text } == ["a", "b", "c", "d"])
    let sets = contents.children.filter { $0.name == "TileMatrixSet" }
    #expect(
      sets.map { $0["ows:Identifier"]?.text } == ["WebMercatorQuad-3-5", "WebMercatorQuad-7-8", "WorldCRS84Quad-0-1"])
    #expect(
      sets[0].children.filter { $0.name == "TileMatrix" }.map { $0["ows:Identifier"]?.text } == ["3", "4", "5"])
    #expect(
      root.all("TileMatrixSetLink").compactMap { $0["TileMatrixSet"]?.text }.map { $0.suffix(4) } == [
        "-3-5", "-7-8", "-3-5", "-0-1",
      ])
  }

  @Test func largerTilesHaveTheirOwnTileMatrixSet() throws {
    let info = Samples.info(zooms: 0...0, tilePixels: 512)
    #expect(WMTSCapabilities.matrixSetIdentifiers(of: info) == ["WebMercatorQuad-512-0-0", "WebMercatorQuad-512"])
    let set = try #require(try Self.document(info)["Contents"]?["TileMatrixSet"])
    #expect(set["WellKnownScaleSet"] == nil)
    #expect(set.all("TileWidth").map(\.text) == ["512"])
    let scale = try #require(set.all("ScaleDenominator").first.flatMap { Double($0.text) })
    #expect(abs(scale - 559_082_264.0287178 / 2) < 1e-6)
  }

  @Test func levelsMayStepByFourAndDifferInTileSize() throws {
    let info = Samples.info(matrixSet: try Samples.degrees(), zooms: 0...2, bounds: .world)
    let set = try #require(try Self.document(info)["Contents"]?["TileMatrixSet"])
    // All zooms of this grid.
    #expect(set["ows:Identifier"]?.text == info.matrixSet.identifier)
    #expect(set.all("TileWidth").map(\.text) == ["256", "256", "320"])
    #expect(set.all("MatrixWidth").map(\.text) == ["12", "45", "180"])
  }

  @Test func exceptionsNameCodeAndLocator() throws {
    let root = try XMLTree.parsed(
      OWSException.document(code: "TileOutOfRange", locator: "TileRow", text: "row 9 is outside 0-3 & more"))
    #expect(root.name == "ExceptionReport")
    let exception = try #require(root["Exception"])
    #expect(exception.attributes == ["exceptionCode": "TileOutOfRange", "locator": "TileRow"])
    #expect(exception["ExceptionText"]?.text == "row 9 is outside 0-3 & more")
    let bare = try XMLTree.parsed(OWSException.document(code: "NoApplicableCode", text: "busy"))
    #expect(bare["Exception"]?.attributes == ["exceptionCode": "NoApplicableCode"])
  }
}
