import Foundation
import TestSupport
import Testing

@testable import TileServe

@Suite(.ownThread) struct WebAssetsTests {
  @Test(arguments: ViewerAssets.names) func embeddedFilesEqualTheSources(name: String) throws {
    let asset = try #require(ViewerAssets.asset(named: name))
    let source = try Data(contentsOf: URL(fileURLWithPath: ProjectFiles.path("Sources/TileServe/Pages/Assets/\(name)")))
    #expect(asset.bytes == [UInt8](source))
    #expect(
      asset.mediaType.hasPrefix(
        name.hasSuffix(".js") ? "text/javascript" : name.hasSuffix(".css") ? "text/css" : "image/svg+xml"))
  }

  @Test func everyFileOfTheFolderIsEmbedded() throws {
    let files = try FileManager.default.contentsOfDirectory(atPath: ProjectFiles.path("Sources/TileServe/Pages/Assets"))
    #expect(files.sorted() == ViewerAssets.names.sorted())
  }

  @Test(arguments: [
    "", "/", "leaflet", "leaflet/", "leaflet/../../../etc/passwd", "../style.css", "leaflet/images/../leaflet.js",
    "leaflet/leaflet.esm.js",
    "maplibre-gl/maplibre-gl.js/", "/etc/passwd", "style.css/", "leaflet//leaflet.js", "LEAFLET/leaflet.js",
  ])
  func otherNamesAreNoAssets(name: String) {
    #expect(ViewerAssets.asset(named: name) == nil)
  }
}
