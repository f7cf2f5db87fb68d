import Foundation
import TestSupport
import Testing

/// The pages of the built `tileserve` in a real browser: opened, dragged, zoomed with the wheel.
@Suite(.ownThread, .serialized, .long, .enabled(if: Browser.isInstalled, .init(rawValue: Browser.skipMessage)))
struct BrowserTests {
  /// A tileset and how the server is started for it.
  struct Case: Sendable, CustomTestStringConvertible {
    let id: String
    var options: [String] = []
    /// The pixels of a tile's picture.
    var edge = 256
    var testDescription: String { ([id] + options).joined(separator: " ") }
  }

  /// Whether all cases are tried, or of each test only one.
  static let isLong = TestEffort.isFull

  static let cases =
    !isLong
    ? [Case(id: "jacksboro-fault", options: ["--base-path", "/maps"])]
    : ProjectFiles.sampleRegions.map { Case(id: $0) } + [
      Case(id: "degrees"), Case(id: "large-tiles", edge: 512), Case(id: SampleBundles.oddID),
      Case(id: "jacksboro-fault", options: ["--base-path", "/maps"]),
    ]

  @Test(.enabled(if: hasLeaflet, .init(rawValue: leafletMessage)), arguments: cases)
  func viewerLoadsEveryTileOfTheViewWhenDraggedAndZoomed(_ what: Case) throws {
    let server = try RunningServer(SampleBundles.folders(all: Self.isLong), what.options)
    let map = try MapPage(server, what.id)
    let name = "viewer-\(what.id.filter { $0.isLetter || $0 == "-" })\(what.options.isEmpty ? "" : "-base-path")"
    let opened = try map.expectWhole("opened")
    #expect(opened.holes.isEmpty)
    #expect(opened.tiles.allSatisfy { $0.hasPrefix("\(server.address)/\(segment(what.id))/") }, "\(opened.tiles)")
    let edges = try map.page.evaluate(
      "[...new Set([...document.querySelectorAll('#map img.leaflet-tile')].map((tile) => tile.naturalWidth))]",
      as: [Int].self)
    #expect(edges == [what.edge])
    try Screenshots.take(map.page, name)

    try lookAround(map, from: opened, dragging: SIMD2(-180, 90))

    // In until there is nothing more to have: beyond the last zoom that has tiles, whose tiles are enlarged.
    let zooms = try map.page.evaluate("[TileViewer.settings.maxzoom, TileViewer.map.getMaxZoom()]", as: [Double].self)
    var deep = try map.state()
    for _ in 0..<20 where deep.zoom < zooms[1] {
      try map.wheel(in: true)
      deep = try map.expectWhole("in to \(deep.zoom)")
    }
    #expect(deep.zoom == zooms[1] && zooms[1] > zooms[0])
    let last = Int(zooms[0])
    #expect(deep.tiles.allSatisfy { $0.contains("/\(segment(what.id))/\(last)/") }, "\(deep.tiles)")
    try Screenshots.take(map.page, "\(name)-deep")
    map.expectClean()
  }

  /// Drags to the south west, so that what lies north east comes, and turns the wheel in and out.
  private func lookAround(_ map: MapPage, from opened: MapPage.State, dragging way: SIMD2<Double>) throws {
    // A drag moves what is shown by as much as the mouse went, so that the same place stays under the pointer.
    try map.drag(by: way)
    let dragged = try map.expectWhole("dragged")
    #expect(dragged.zoom == opened.zoom)
    #expect(dragged.center[0] > opened.center[0] && dragged.center[1] > opened.center[1])
    try map.wheel(in: true)
    #expect(try map.expectWhole("one turn in").zoom > opened.zoom)
    try map.wheel(in: false)
    try map.wheel(in: false)
    #expect(try map.expectWhole("two turns out").zoom < opened.zoom)
  }

  /// A picture without a place on Earth is looked at as maps are, in its own pixels.
  @Test(.enabled(if: hasLeaflet, .init(rawValue: leafletMessage)))
  func viewerShowsImagesWithoutGeoreference() throws {
    let server = try RunningServer([SampleBundles.flat().folder.path])
    let map = try MapPage(server, "scan")
    let opened = try map.expectWhole("opened")
    try Screenshots.take(map.page, "viewer-flat")
    try lookAround(map, from: opened, dragging: SIMD2(-60, 40))
    map.expectClean()
  }

  @Test(.enabled(if: hasLeaflet, .init(rawValue: leafletMessage)))
  func viewerShowsComposites() throws {
    let id = "continental-us,rocky-mountain-np"
    let server = try RunningServer(SampleBundles.folders(), ["--missing", "overzoom"])
    let whole = try MapPage(server, id)
    try whole.expectWhole("opened")
    let credits = try whole.page.evaluate(
      "document.querySelector('.leaflet-control-attribution').innerText", as: String.self)
    #expect(credits.contains("shadedrelief.com") && credits.contains("Earth Lab"), "\(credits)")
    try whole.drag(by: SIMD2(200, 100))
    try whole.expectWhole("dragged")
    try Screenshots.take(whole.page, "viewer-composite")
    whole.expectClean()

    // The lower layer ends at zoom 5; what is seen of it at 9 is enlarged by the server.
    let near = try MapPage(server, id, at: "9/40.34/-105.69")
    #expect(try near.expectWhole("near").zoom == 9)
    try Screenshots.take(near.page, "viewer-composite-near")
    try near.wheel(in: true)
    try near.wheel(in: true)
    #expect(try near.expectWhole("nearer").zoom > 9)
    try near.wheel(in: false)
    try near.expectWhole("less near")
    near.expectClean()
  }

  static let leafletMessage = "Leaflet is not installed (make web-libraries installs it)"
  static let maplibreMessage = "MapLibre GL is not there (make web-libraries fetches it)"

  static let hasLeaflet = FileManager.default.isReadableFile(atPath: "/usr/share/javascript/leaflet/leaflet.js")
  static let hasMapLibre =
    ["/usr/share/javascript/maplibre-gl", ProjectFiles.path(".build/web/maplibre-gl")]
    .contains { FileManager.default.isReadableFile(atPath: "\($0)/maplibre-gl.js") }
}
