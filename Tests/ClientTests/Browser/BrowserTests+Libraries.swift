import Foundation
import TestSupport
import Testing
import TileServe

extension BrowserTests {
  @Test(
    .enabled(if: TestData.isPresent, .init(rawValue: TestData.skipMessage)),
    .enabled(if: hasMapLibre, .init(rawValue: maplibreMessage)), arguments: isLong ? [false, true] : [false])
  func vectorTilesAreShownWithMapLibre(isDark: Bool) throws {
    let server = try RunningServer([TestData.url("maps/tilesets/world_cities.mbtiles").path])
    let map = try MapPage(server, "world_cities", isDark: isDark)
    let start = try place(map)
    // The circles of its cities, and not only what lies in tiles that are loaded.
    #expect(try featureCount(map) > 20)
    try Screenshots.take(map.page, "viewer-vector-\(isDark ? "dark" : "light")")

    try map.drag(by: SIMD2(-160, 0))
    let dragged = try place(map)
    #expect(dragged[0] > start[0] + 1 && abs(dragged[1] - start[1]) < 1)
    for _ in 0..<3 { try map.wheel(in: true) }
    let near = try place(map)
    #expect(near[2] > dragged[2] + 0.5)
    try map.wheel(in: false)
    #expect(try place(map)[2] < near[2])

    // A city beyond the last zoom that has tiles.
    let deep = try MapPage(server, "world_cities", at: "9.5/52.516/13.4", isDark: isDark)
    #expect(try featureCount(deep) >= 1)
    #expect(try place(deep)[2] == 9.5)
    for map in [map, deep] {
      #expect(map.page.requests.contains { $0.hasSuffix(".pbf") })
      map.expectClean()
    }
  }

  /// Longitude, latitude and zoom, as Leaflet and MapLibre GL both tell them.
  func place(_ map: MapPage) throws -> [Double] {
    try map.page.evaluate(
      "[TileViewer.map.getCenter().lng, TileViewer.map.getCenter().lat, TileViewer.map.getZoom()]", as: [Double].self)
  }

  private func featureCount(_ map: MapPage) throws -> Int {
    try map.page.evaluate("TileViewer.map.queryRenderedFeatures().length", as: Int.self)
  }

  /// Pages say what to install. The libraries of this machine are kept away by embedding the server, since the command
  /// looks for them itself.
  @Test func viewerSaysWhichLibraryIsMissing() async throws {
    var options = TileServerOptions()
    options.port = 0
    options.webLibraryFolders = []
    let catalog = try TilesetRegistry(SampleBundles.folders(all: false))
    let server = try await TileServer.start(catalog, options)
    do {
      let page = try BrowserPage()
      for (path, name) in [("", "index"), ("jacksboro-fault/", "viewer")] {
        try page.open("\(server.url)\(path)")
        let words = try page.evaluate("document.querySelector('.notice').innerText", as: String.self)
        #expect(words.contains("Leaflet") && words.contains("apt-get install libjs-leaflet"), "\(words)")
        try Screenshots.take(page, "\(name)-without-leaflet")
      }
      #expect(page.complaints == [])
      #expect(page.requests.allSatisfy { $0.hasPrefix(server.url) })
    }
    try await server.shutdown()
    await catalog.close()
  }
}
