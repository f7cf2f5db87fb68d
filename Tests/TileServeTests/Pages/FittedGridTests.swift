import ServerSupport
import Support
import TestSupport
import Testing
import TileIndex

@testable import TileServe

/// Tilesets on grids in other CRSs than Web Mercator and degrees.
@Suite(.ownThread) struct FittedGridTests {
  private static func info(_ crs: SphereCRS, _ bounds: BoundingBox) throws -> TilesetInfo {
    Samples.info(
      matrixSet: try crs.matrixSet(), zooms: 0...3, bounds: bounds,
      center: .init(longitude: bounds.centre.x, latitude: bounds.centre.y, zoom: 1))
  }

  private static let alps = BoundingBox(west: 5, south: 44, east: 15, north: 48)

  /// The corner is in the order of the CRS: north before east in EPSG:3035.
  @Test func capabilitiesNameTheCRS() throws {
    let set = try #require(
      try WMTSCapabilitiesTests.document(Self.info(.europe, Self.alps))["Contents"]?["TileMatrixSet"])
    #expect(set["ows:SupportedCRS"]?.text == "urn:ogc:def:crs:EPSG::3035")
    #expect(set.all("TopLeftCorner").first?.text == "5500000 2000000")
    let scale = try #require(set.all("ScaleDenominator").first.flatMap { Double($0.text) })
    #expect(abs(scale - 17578.125 / 0.00028) < 1e-6)
    let zone = try #require(
      try WMTSCapabilitiesTests.document(Self.info(.zone, Self.alps))["Contents"]?["TileMatrixSet"])
    #expect(zone.all("TopLeftCorner").first?.text == "0 8000000")
  }

  @Test func otherDocumentsNameTheCRS() throws {
    let info = try Self.info(.europe, Self.alps)
    let map = try XMLTree.parsed(try #require(TMSDocument.tileMap(info, at: Samples.address)))
    #expect(map["SRS"]?.text == "EPSG:3035" && map["BoundingBox"]?.attributes["minx"] == "2000000")
    let json = try JSONValue(parsing: TileJSON.document(info, at: Samples.address))
    #expect(json["crs"]?.string == "EPSG:3035" && json["tileMatrixSet"]?["tileMatrices"]?.array?.count == 8)
  }

  /// The page has the series, and boxes in CRS units; only pages that need it have its script.
  @Test func theViewerHasTheRelation() throws {
    let info = try Self.info(.polar, BoundingBox(west: -180, south: 70, east: 180, north: 90))
    let settings = ViewerSettings.json(info, others: [], at: Samples.address)
    #expect(settings["grid"]?["kind"]?.string == "fitted" && settings["grid"]?["fit"]?["x"]?.array != nil)
    let box = try #require(try settings["box"]?.decoded(as: [Double].self))
    let radius = -SphereCRS.polar.point(SIMD2(0, 70)).y
    #expect(zip(box, [-radius, -radius, radius, radius]).allSatisfy { abs($0 - $1) < 10 })
    let libraries = WebLibraries(leaflet: "/", maplibre: nil)
    func page(_ info: TilesetInfo) -> String {
      String(decoding: ViewerPage.document(info, libraries: libraries, at: Samples.address), as: UTF8.self)
    }
    #expect(page(info).contains("viewer-fitted.js") && !page(Samples.info()).contains("viewer-fitted.js"))
  }

  /// Around a pole all longitudes are shown, and the tiles are those around the circle.
  @Test func tilesAroundAPoleAreFound() throws {
    let info = try Self.info(.polar, BoundingBox(west: -180, south: 80, east: 180, north: 90))
    #expect(info.shownBounds == info.bounds)
    let range = info.tileRange(zoom: 3)
    #expect(range.columns == 2...5 && range.rows == 2...5)
  }
}
