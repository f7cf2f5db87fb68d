import TestSupport
import Testing
import TileImage
import TileIndex

@testable import TileServe

/// Tiles that are missing, invalid or rendered.
@Suite(.ownThread) struct MissingTileTests {
  static let outside: [(target: String, reason: String)] = [
    ("/relief/0/1/0.png", "is outside"), ("/relief/0/0/1.png", "is outside"), ("/relief/2/4/0.png", "is outside"),
    ("/relief/31/0/0.png", "31"), ("/relief/99/0/0.png", "99"), ("/relief/-1/0/0.png", "zoom \"-1\""),
    ("/relief/1/-1/0.png", "column \"-1\""), ("/relief/1/0/-1.png", "row \"-1\""), ("/relief/x/0/0.png", "zoom \"x\""),
    ("/relief/1/1.5/0.png", "column \"1.5\""), ("/relief/1//0.png", "column \"\""), ("/relief/1/0/.png", "row \"\""),
    ("/relief/1/0/0x0.png", "row \"0x0\""), ("/relief/1/+1/0.png", "column \"+1\""),
    ("/relief/1/%201/0.png", "column \" 1\""), ("/relief/1/%D9%A3/0.png", "column"),
    ("/relief/1/99999999999/0.png", "column"), ("/relief/18446744073709551616/0/0.png", "zoom"),
    ("/relief/1/0/0.gif", "gif"), ("/relief/1/0/0.", "format"), ("/relief/1/0/0@3x.png", "@2x"),
    ("/relief/1/0/0.pbf", ".png"), ("/roads/1/0/0.png", ".pbf"), ("/roads/1/0/0@2x.pbf", "@2x"),
    ("/relief/1/0/%zz.png", "%"), ("/relief/1/0/0%00.png", "control"), ("/relief/1/0/%ff.png", "UTF-8"),
    ("/relief,roads/1/0/0.png", "roads"), ("/relief,degrees/1/0/0.png", "grid"), ("/degrees/0/2/0.png", "is outside"),
    ("/tms/1.0.0/relief/1/0/2.png", "is outside"), ("/tms/1.0.0/relief/1/0/x.png", "row"),
  ]

  @Test func invalidRequestsAreRejectedWithAReason() async throws {
    try await serving([SampleTilesets.path]) { (served) async throws in
      for (target, reason) in Self.outside {
        let response = try served.get(target)
        #expect(response.statusLine == "HTTP/1.1 400 Bad Request", "\(target): \(response)")
        #expect(response.text.contains(reason), "\(target): \(response.text)")
        #expect(response["Content-Type"] == "text/plain; charset=utf-8" && response["Cache-Control"] == "no-store")
        #expect(!response.text.contains(try SampleTilesets.path), "a path of ours: \(response.text)")
      }
    }
  }

  @Test func missingTilesAre404() async throws {
    try await serving([SampleTilesets.path]) { (served) async throws in
      for target in [
        "/relief/2/3/3.png", "/relief/3/0/0.png", "/nothing/0/0/0.png", "/nothing.json", "/nothing/", "/relief/1/0",
        "/relief,nothing/0/0/0.png", ",/0/0/0.png", "/,/0/0/0.png", "/relief,/0/0/0.png", "/relief/1/1/0/0.png",
        "//relief/1/0/0.png", "/RELIEF/1/0/0.png", "/.mbtiles/0/0/0.png", "/relief.mbtiles", "/_assets/none.js",
        "/wmts/1.0.0/nothing/WMTSCapabilities.xml", "/tms/1.0.0/nothing", "/tms/1.0.1/relief", "/relief/2/3/3@2x.png",
      ] {
        let response = try served.get(target.hasPrefix("/") ? target : "/\(target)")
        #expect(response.status == 404, "\(target): \(response)")
        #expect(response.text.hasSuffix("\n") && response.text.count > 10, "\(target): \(response)")
      }
    }
  }

  /// Vector viewers treat 404 as a failure, and keep showing the parent tile.
  @Test func missingVectorTilesAre204() async throws {
    try await serving([SampleTilesets.path]) { (served) async throws in
      for target in ["/roads/1/1/1.pbf", "/roads/9/0/0.pbf"] {
        let connection = try served.connect()
        let response = try connection.request(target)
        #expect(response.statusLine == "HTTP/1.1 204 No Content", "\(response)")
        #expect(response["Content-Length"] == nil && response["Cache-Control"] == "public, max-age=300")
        #expect(try connection.request("/health").status == 200)
      }
    }
  }

  @Test(arguments: MissingTilePolicy.allCases) func policyDecidesForMissingTiles(_ policy: MissingTilePolicy)
    async throws
  {
    try await serving([SampleTilesets.path]) { options in
      options.missing = policy
      options.settings = { id in .init(missing: id == "photo" ? .blank : nil) }
    } _: { (served) async throws in
      let response = try served.get("/relief/2/3/3.png")
      switch policy {
      case .notFound: #expect(response.status == 404)
      case .noContent: #expect(response.status == 204)
      case .blank, .overzoom:
        #expect(response.status == 200 && response["Content-Type"] == "image/png")
        #expect(response["ETag"] != nil && response["Last-Modified"] != nil)
        let pixels = try Tile(bytes: response.body, format: .png).decoded()
        #expect(pixels.size == ImageSize(width: 256, height: 256))
        if policy == .blank {
          #expect(pixels.uniformColour == .transparent)
        } else {
          // The south-eastern quarter of the parent: its corner is the parent's.
          let parent = try #require(try served.registry["relief"]?.storedTile(tile(1, 1, 1)))
          let whole = try Tile(bytes: parent, format: .png).decoded()
          #expect(pixels[255, 255] == whole[255, 255] && pixels[10, 10] == whole[133, 133])
        }
        let tag = try #require(response["ETag"])
        #expect(try served.get("/relief/2/3/3.png", ["If-None-Match": tag]).status == 304)
      }
      // The settings of one tileset.
      let photo = try served.get("/photo/2/0/0.jpg")
      #expect(photo.status == 200 && photo["Content-Type"] == "image/jpeg", "\(photo)")
      #expect(try Tile(bytes: photo.body, format: .jpg).decoded().uniformColour == .white)
      // The configured policy also applies to vector tiles, as far as it exists for them.
      #expect(try served.get("/roads/1/1/1.pbf").status == (policy == .notFound ? 404 : 204))
    }
  }

  /// Where areas end at different zooms, tiles below them are parts of theirs, unless another policy is chosen.
  @Test(arguments: [nil, MissingTilePolicy.notFound]) func tilesBelowTheEndOfAnAreaAreEnlarged(
    _ policy: MissingTilePolicy?
  ) async throws {
    let folder = try TemporaryFolder()
    for (name, extra) in [("one", [:]), ("several", ["variable_depth": "1-3"])] {
      try folder.writeBundle("\(name).mbtiles", zooms: 0...1, metadata: BundleMetadata(name: name, extra: extra))
    }
    try await serving([folder.path]) { options in
      options.missing = policy
    } _: { (served) async throws in
      #expect(try served.get("/one/3/5/2.png").status == 404)
      #expect(try served.get("/several/3/5/2.png").status == (policy == nil ? 200 : 404))
      #expect(try served.get("/one,several/3/5/2.png").status == (policy == nil ? 200 : 404))
    }
  }

  @Test func doubledTilesComeFromTheNextZoom() async throws {
    try await serving([SampleTilesets.path]) { (served) async throws in
      let response = try served.get("/relief/1/0/0@2x.png")
      #expect(response.status == 200)
      let pixels = try Tile(bytes: response.body, format: .png).decoded()
      #expect(pixels.size == ImageSize(width: 512, height: 512))
      for (x, y) in [(0, 0), (1, 0), (0, 1), (1, 1)] {
        let quarter = try #require(try served.registry["relief"]?.storedTile(tile(2, x, y)))
        let expected = try Tile(bytes: quarter, format: .png).decoded()
        #expect(pixels.cut(x: x * 256, y: y * 256, width: 256, height: 256).difference(from: expected) == nil)
      }
      #expect(try served.get("/relief/2/0/0@2x.png").status == 404)
    }
  }

  @Test func otherFormatsAreRendered() async throws {
    try await serving([SampleTilesets.path]) { (served) async throws in
      for (word, type) in [("jpg", "image/jpeg"), ("webp", "image/webp"), ("png", "image/png")] {
        for id in ["relief", "photo", "air"] {
          let response = try served.get("/\(id)/1/0/0.\(word)")
          #expect(response.status == 200 && response["Content-Type"] == type, "\(id).\(word): \(response.statusLine)")
        }
      }
      // A missing tile is 404 in any format.
      #expect(try served.get("/relief/2/3/3.jpg").status == 404)
    }
  }

  @Test func layersAreComposited() async throws {
    try await serving([SampleTilesets.path]) { (served) async throws in
      let both = try served.get("/relief,labels/1/0/0.png")
      #expect(both.status == 200 && both["Content-Type"] == "image/png")
      let pixels = try Tile(bytes: both.body, format: .png).decoded()
      let low = try Tile(bytes: #require(try served.registry["relief"]?.storedTile(tile(1, 0, 0))), format: .png)
        .decoded()
      let high = try Tile(bytes: #require(try served.registry["labels"]?.storedTile(tile(1, 0, 0))), format: .png)
        .decoded()
      #expect(pixels[128, 128] == low[128, 128] && pixels[2, 2] == high[2, 2])
      // Encoded commas are commas.
      #expect(try served.get("/relief%2Clabels/1/0/0.png").body == both.body)
      #expect(try served.get("/relief,labels.json").status == 200)
      #expect(
        try served.get("/" + Array(repeating: "relief", count: 9).joined(separator: ",") + "/0/0/0.png").status == 400)
    }
  }

  /// GDAL's TMS driver treats 404 as a failure.
  @Test func missingTMSTilesAre204() async throws {
    try await serving([SampleTilesets.path]) { (served) async throws in
      // Rows count from the south.
      #expect(try served.get("/tms/1.0.0/relief/2/3/3.png").body == served.get("/relief/2/3/0.png").body)
      #expect(try served.get("/tms/1.0.0/relief/2/3/0.png").status == 204)
      #expect(try served.get("/tms/1.0.0/relief/3/0/0.png").status == 204)
    }
    try await serving([SampleTilesets.path]) {
      $0.missing = .notFound
    } _: { (served) async throws in
      #expect(try served.get("/tms/1.0.0/relief/2/3/0.png").status == 404)
    }
  }
}
