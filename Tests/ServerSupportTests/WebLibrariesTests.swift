import Foundation
import TestSupport
import Testing

@testable import ServerSupport

@Suite(.ownThread) struct WebLibrariesTests {
  @Test(arguments: [
    "", "/", "leaflet", "leaflet/", "leaflet/../../../etc/passwd", "../style.css", "leaflet/images/../leaflet.js",
    "leaflet/leaflet.esm.js", "maplibre-gl/maplibre-gl.js/", "/etc/passwd", "leaflet//leaflet.js", "LEAFLET/leaflet.js",
  ])
  func otherNamesAreNoAssets(name: String) {
    let libraries = WebLibraries(leaflet: "/usr/share/javascript/leaflet", maplibre: "/")
    #expect(libraries.asset(named: name) == nil)
  }

  @Test func completeLibrariesAreFound() throws {
    let folder = try TemporaryFolder()
    func put(_ name: String) throws {
      let path = folder.file(name)
      try FileManager.default.createDirectory(
        atPath: (path as NSString).deletingLastPathComponent, withIntermediateDirectories: true)
      try Data(name.utf8).write(to: URL(fileURLWithPath: path))
    }
    try put("half/leaflet.js")
    try put("web/leaflet/leaflet.js")
    try put("web/leaflet/leaflet.css")
    try put("web/leaflet/images/layers.png")
    try put("direct/maplibre-gl.js")
    try put("direct/maplibre-gl.css")
    let folders = [folder.file("missing"), folder.file("half"), folder.file("web"), folder.file("direct")]
    let libraries = WebLibraries.find(in: folders)
    #expect(libraries.leaflet == folder.file("web/leaflet"))
    #expect(libraries.maplibre == folder.file("direct"))
    let script = try #require(libraries.asset(named: "leaflet/leaflet.js"))
    #expect(
      script.path == folder.file("web/leaflet/leaflet.js") && script.mediaType == "text/javascript; charset=utf-8")
    #expect(libraries.asset(named: "leaflet/images/layers.png")?.mediaType == "image/png")
    // Listed, but missing.
    #expect(libraries.asset(named: "leaflet/images/marker-icon.png") == nil)
    #expect(WebLibraries.find(in: [folder.file("half")]) == WebLibraries(leaflet: nil, maplibre: nil))
    // The smaller file is preferred under the same name.
    try put("web/leaflet/leaflet.min.js")
    #expect(libraries.asset(named: "leaflet/leaflet.js")?.path == folder.file("web/leaflet/leaflet.min.js"))
  }

  /// In a build, where `make build` puts them, and in an installation.
  @Test(arguments: [
    ("/usr/local/bin/tileserve", "/usr/local/share/map-toolkit/web"), ("/opt/x/tileserve", "/opt/x/web"),
    ("/p/.build/x86_64-unknown-linux-gnu/release/tileserve", "/p/.build/web"),
  ])
  func foldersOfAProgram(program: String, folder: String) {
    let folders = WebLibraries.folders(of: program)
    #expect(folders.contains(folder) && folders.suffix(2) == WebLibraries.systemFolders)
  }
}
