import Foundation
import TestSupport
import Testing
import TileIndex

/// The viewer on small screens and in browsers that lack something.
extension BrowserTests {
  /// Everything is within the width of a phone, and what has no room hangs down from a menu.
  @Test(.enabled(if: hasLeaflet, .init(rawValue: leafletMessage)), arguments: [320, 390])
  func viewerFitsAPhone(_ width: Int) throws {
    let folder = try TemporaryFolder()
    for name in ["hills", "other", "third"] {
      try folder.writeBundle(
        "\(name).mbtiles", zooms: 0...4,
        metadata: BundleMetadata(name: "Hiking map of the northern hills and of everything beyond them"),
        places: [Place(name: "Longs Peak", kind: "peak", longitude: -105.6, latitude: 40.25, importance: 0.5)])
    }
    let server = try RunningServer([folder.path])
    let page = try BrowserPage(width: width, height: 800)
    try page.open("\(server.address)/hills/", ready: "window.TileViewer && TileViewer.map !== undefined")
    func expectFitting(_ what: String) throws {
      #expect(try page.evaluate("document.documentElement.scrollWidth", as: Int.self) <= width, "\(what)")
      let outside = """
        [...document.querySelectorAll("button, a, input, select, h1")].map((node) => [node.outerHTML.slice(0, 60), \
        node.getBoundingClientRect()]).filter(([, box]) => box.width > 0 && (box.right > \(width + 1) || box.left < -1))\
        .map(([text]) => text)
        """
      #expect(try page.evaluate(outside, as: [String].self) == [], "\(what)")
    }
    let shown =
      "[...document.querySelectorAll('#tools > *')].filter((node) => node.getBoundingClientRect().width > 0).length"
    try expectFitting("closed")
    #expect(try page.evaluate(shown, as: Int.self) == 0)
    try Screenshots.take(page, "viewer-phone-\(width)")
    try page.evaluateVoid("document.querySelector('.menu').click()")
    try expectFitting("open")
    // Backgrounds, their opacity, two switches, a track, the TileJSON.
    #expect(try page.evaluate(shown, as: Int.self) >= 5)
    try Screenshots.take(page, "viewer-phone-\(width)-menu")
    try page.evaluateVoid("document.querySelector('.menu').click()")
    #expect(try page.evaluate(shown, as: Int.self) == 0)
    #expect(page.complaints.isEmpty, "\(page.complaints)")
  }

  /// Without WebGL there is no map of vector tiles; the page says so, and what the tileset has.
  @Test(.enabled(if: hasMapLibre, .init(rawValue: maplibreMessage))) func viewerWithoutWebGL() throws {
    let folder = try TemporaryFolder()
    try folder.writeBundle(
      "roads.mbtiles", .pbf,
      metadata: BundleMetadata(name: "roads", json: #"{"vector_layers":[{"id":"streets","fields":{}}]}"#))
    let server = try RunningServer([folder.path])
    let page = try BrowserPage()
    try page.runFirst("HTMLCanvasElement.prototype.getContext = () => null")
    try page.open("\(server.address)/roads/", ready: "document.querySelector('.notice') !== null")
    let words = try page.evaluate("document.querySelector('.notice').innerText", as: String.self)
    #expect(words.contains("no WebGL") && words.contains("streets"), "\(words)")
    #expect(page.complaints.isEmpty, "\(page.complaints)")
    try Screenshots.take(page, "viewer-without-webgl")
  }
}
