import Foundation
import ServerSupport
import Support
import TestSupport
import Testing
import TileIndex

@testable import TileServe

@Suite(.ownThread) struct PageTests {
  private static let both = WebLibraries(leaflet: "/l", maplibre: "/m")
  private static let none = WebLibraries(leaflet: nil, maplibre: nil)

  private static func index(
    _ infos: [TilesetInfo], failures: [(id: String, reason: String)] = [], _ libraries: WebLibraries = both
  ) -> String {
    String(
      decoding: IndexPage.document(infos, failures: failures, libraries: libraries, at: Samples.address), as: UTF8.self)
  }

  private static func viewer(_ info: TilesetInfo, others: [TilesetInfo] = [], _ libraries: WebLibraries = both)
    -> String
  {
    String(
      decoding: ViewerPage.document(info, others: others, libraries: libraries, at: Samples.address), as: UTF8.self)
  }

  @Test func indexLinksEveryTileset() {
    let page = Self.index(
      [Samples.info(id: "a b", name: "A"), Samples.info(id: "v", format: .pbf)], failures: [("half", "is cut off")])
    #expect(page.contains("href=\"/tiles/a%20b/\""))
    #expect(page.contains("href=\"/tiles/a%20b.json\""))
    #expect(page.contains("href=\"/tiles/wmts/1.0.0/a%20b/WMTSCapabilities.xml\""))
    #expect(page.contains("href=\"/tiles/v/\""))
    #expect(!page.contains("/wmts/1.0.0/v/"))
    #expect(page.contains("<b>half</b> is cut off"))
    #expect(page.contains("loading=\"lazy\""))
    #expect(page.contains("zooms 0–10"))
  }

  /// Pixels in place of degrees; no map below.
  @Test func flatImagesAreMeasuredInPixels() {
    let flat = Samples.info(metadata: ["flat_image": "2048,1645"], zooms: 0...3)
    let page = Self.viewer(flat, others: [Samples.info(id: "other")])
    #expect(page.contains(#""kind":"flat""#) && page.contains(#""bounds":[0,-1645,2048,0]"#))
    #expect(page.contains(#""origin":[0,0]"#) && page.contains(#""center":[1024,-822.5,"#))
    #expect(page.contains(#"{"cellSize":8,"#) && page.contains(#"{"cellSize":1,"#))
    #expect(page.contains("2048 × 1645 pixels") && page.contains(#""backgrounds":[]"#))
    #expect(Self.index([flat]).contains("2048 × 1645 pixels"))
    for wrong in ["", "0,5", "a,b", "1,2,3", "-5,9", "99999999999,1"] {
      let page = Self.viewer(Samples.info(metadata: ["flat_image": wrong]))
      #expect(page.contains(#""kind":"webMercator""#))
    }
  }

  @Test func indexHoldsAThousandTilesets() {
    let page = Self.index((0..<1000).map { Samples.info(id: "t\($0)", name: "Tileset \($0)") })
    #expect(page.components(separatedBy: "<li class=\"card\">").count == 1001)
    #expect(page.utf8.count < 2_000_000)
  }

  /// No inline scripts or styles, nothing from other servers.
  @Test func pagesObeyTheContentSecurityPolicy() throws {
    for page in [
      Self.index([Samples.info(), Samples.info(format: .pbf)]), Self.index([]), Self.viewer(Samples.info()),
      Self.viewer(Samples.info(format: .pbf)), Self.viewer(Samples.info(), Self.none),
    ] {
      #expect(
        !page.contains("style=") && !page.contains("<style") && !page.contains(" onclick") && !page.contains(" onerror")
      )
      #expect(!page.contains("http://") && !page.contains("https://"))
      let scripts = page.components(separatedBy: "<script").dropFirst()
      #expect(
        scripts.allSatisfy { $0.hasPrefix(" src=\"/tiles/_assets/") || $0.hasPrefix(" type=\"application/json\"") })
    }
    #expect(!HTMLPage.contentSecurityPolicy.contains("unsafe"))
  }

  /// Every file that a page refers to exists.
  @Test func pagesReferToExistingFiles() throws {
    let folder = try TemporaryFolder()
    for name in [
      "leaflet/leaflet.js", "leaflet/leaflet.css", "maplibre-gl/maplibre-gl.js", "maplibre-gl/maplibre-gl.css",
    ] {
      let path = folder.file(name)
      try FileManager.default.createDirectory(
        atPath: (path as NSString).deletingLastPathComponent, withIntermediateDirectories: true)
      try Data("x".utf8).write(to: URL(fileURLWithPath: path))
    }
    let libraries = WebLibraries.find(in: [folder.path])
    #expect(libraries.leaflet != nil && libraries.maplibre != nil)
    for page in [
      Self.index([Samples.info()], libraries), Self.viewer(Samples.info(), libraries),
      Self.viewer(Samples.info(format: .pbf), libraries),
    ] {
      let names = page.components(separatedBy: "/tiles/_assets/").dropFirst().compactMap {
        $0.split(separator: "\"").first.map(String.init)
      }
      #expect(names.count >= 3)
      for name in names {
        #expect(ViewerAssets.asset(named: name) != nil || libraries.asset(named: name) != nil, "\(name)")
      }
    }
  }

  @Test func missingLibrariesAreNamedWithARemedy() {
    #expect(Self.viewer(Samples.info(), Self.none).contains("apt-get install libjs-leaflet"))
    #expect(Self.viewer(Samples.info(format: .pbf), Self.none).contains("make web-libraries"))
    #expect(!Self.viewer(Samples.info(), Self.none).contains("id=\"map\""))
    #expect(Self.index([Samples.info()], Self.none).contains("apt-get install libjs-leaflet"))
    #expect(!Self.index([Samples.info()], Self.none).contains("make web-libraries"))
  }

  @Test func vectorTilesOfOtherGridsHaveAnExplanation() {
    let page = Self.viewer(Samples.info(matrixSet: .worldCRS84Quad, format: .pbf))
    #expect(page.contains("WorldCRS84Quad") && !page.contains("id=\"map\""))
  }

  @Test func backgroundsShareGridAndBounds() throws {
    let here = BoundingBox(west: -106, south: 39, east: -105, north: 40)
    let others = [
      Samples.info(id: "park"), Samples.info(id: "near", bounds: .world),
      Samples.info(id: "far", bounds: BoundingBox(west: 10, south: 0, east: 11, north: 1)),
      Samples.info(id: "degrees", matrixSet: .worldCRS84Quad), Samples.info(id: "vector", format: .pbf),
    ]
    let settings = ViewerSettings.json(Samples.info(bounds: here), others: others, at: Samples.address)
    #expect(settings["backgrounds"]?.array?.compactMap { $0["id"]?.string } == ["near"])
    #expect(settings["grid"]?["kind"] == .string("webMercator"))
  }

  @Test func previewsAreTilesFullOfTheTileset() throws {
    #expect(Samples.info(bounds: .world).overviewTile.description == "0/0/0")
    // The park is 1 by 1.5 degrees; a tile of zoom 9 is 0.7 degrees wide.
    let park = Samples.info()
    let tile = park.overviewTile
    #expect(tile.zoom == 9)
    #expect(park.bounds.contains(park.matrixSet.geographicBounds(of: tile).centre))
    // If all are equally full, the one in the middle.
    let degrees = Samples.info(matrixSet: try Samples.degrees(), zooms: 0...2, bounds: .world)
    #expect(degrees.overviewTile.description == "0/5/2")
    #expect(Samples.info(zooms: 3...3).overviewTile.description == "3/1/3")
  }
}
