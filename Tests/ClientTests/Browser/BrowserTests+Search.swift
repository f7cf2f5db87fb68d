import Foundation
import TestSupport
import Testing
import TileIndex

extension BrowserTests {
  /// The search box, by keyboard and by mouse.
  @Test(.enabled(if: hasLeaflet, .init(rawValue: leafletMessage)))
  func searchBox() throws {
    let folder = try TemporaryFolder()
    try folder.writeBundle(
      "hills.mbtiles", zooms: 0...6,
      places: [
        Place(name: "Longs Peak", kind: "peak", longitude: -105.6, latitude: 40.25, importance: 0.5),
        Place(
          name: "Long <img src=x onerror=alert(1)>", kind: "<b>trap</b>", longitude: 10, latitude: 50,
          importance: 0.25),
        Place(name: "Längenfeld", kind: "village", longitude: 10.97, latitude: 47.07, importance: 0.1),
      ])
    let server = try RunningServer([folder.path])
    let map = try MapPage(server, "hills", at: "2/20/0")
    try map.page.evaluateVoid("document.body.dispatchEvent(new KeyboardEvent('keydown', { key: '/', bubbles: true }))")
    #expect(try map.page.evaluate("document.activeElement.id", as: String.self) == "place")
    try map.page.type("lon")
    try map.page.settle("document.querySelectorAll('#found li').length === 2")
    let rows = "[...document.querySelectorAll('#found li span')].map((row) => row.textContent)"
    #expect(try Set(map.page.evaluate(rows, as: [String].self)) == ["Longs Peak", "Long <img src=x onerror=alert(1)>"])
    // Names are text.
    #expect(try map.page.evaluate("document.querySelectorAll('#found img, #found b').length", as: Int.self) == 0)
    // And in sight, above the map.
    let isInSight = """
      (() => {
        const r = document.getElementById("found-1").getBoundingClientRect();
        return r.height > 10 && document.getElementById("found-1").contains(document.elementFromPoint(r.x + r.width / \
        2, r.y + r.height / 2));
      })()
      """
    #expect(try map.page.evaluate(isInSight, as: Bool.self))
    try Screenshots.take(map.page, "viewer-search")

    // Down to the second, and there.
    func press(_ key: String) throws {
      try map.page.evaluateVoid(
        """
        document.activeElement.dispatchEvent(new KeyboardEvent('keydown', { key: '\(key)', bubbles: true, cancelable: \
        true }))
        """
      )
    }
    let first = try map.page.evaluate("document.querySelector('#found [aria-selected=true]').id", as: String.self)
    try press("ArrowDown")
    #expect(
      try map.page.evaluate("document.getElementById('place').getAttribute('aria-activedescendant')", as: String.self)
        != first)
    try press("ArrowDown")
    #expect(
      try map.page.evaluate("document.getElementById('place').getAttribute('aria-activedescendant')", as: String.self)
        == first)
    try map.page.evaluateVoid("document.querySelector('.search').requestSubmit()")
    try map.settle()
    #expect(try map.page.evaluate("document.getElementById('found').hidden", as: Bool.self))
    let name = try map.page.evaluate("document.getElementById('place').value", as: String.self)
    let center = try map.state().center
    let expected = name == "Longs Peak" ? [-105.6, 40.25] : [10.0, 50]
    #expect(abs(center[0] - expected[0]) < 0.01 && abs(center[1] - expected[1]) < 0.01, "\(center)")
    try Screenshots.take(map.page, "viewer-search-found")

    // By mouse, without its accent.
    try map.page.evaluateVoid("document.getElementById('place').value = ''")
    try map.page.click("#place")
    try map.page.type("langen")
    try map.page.settle("document.querySelectorAll('#found li').length === 1")
    try map.page.click("#found-0")
    try map.settle()
    #expect(try abs(map.state().center[0] - 10.97) < 0.01)
    #expect(try map.page.evaluate("document.querySelectorAll('#map img[src=x]').length", as: Int.self) == 0)
    map.expectClean()
  }

  /// What draws a map, and the grid that it lies on.
  enum MapKind: String, CaseIterable, Sendable {
    case raster
    case degrees
    case vector
  }

  /// A name typed, a result picked by mouse or by keyboard: the map goes there and marks the place.
  @Test(
    .enabled(if: hasLeaflet, .init(rawValue: leafletMessage)),
    .enabled(if: hasMapLibre, .init(rawValue: maplibreMessage)), arguments: isLong ? MapKind.allCases : [.vector],
    isLong ? [false, true] : [false])
  func choosingASearchResultShowsThePlace(_ kind: MapKind, byKeyboard: Bool) throws {
    let folder = try TemporaryFolder()
    let places = [
      Place(name: "Kilimanjaro", kind: "peak", longitude: 37.355, latitude: -3.076, importance: 0.6),
      Place(name: "Kiel", kind: "city", longitude: 10.13, latitude: 54.32, importance: 0.4),
      Place(name: "Kap Deschnjow", kind: "cape", longitude: -169.65, latitude: 66.08, importance: 0.2),
    ]
    let words = BundleMetadata(name: "Places, \(kind)")
    switch kind {
    case .raster: try folder.writeBundle("map.mbtiles", zooms: 0...5, metadata: words, places: places)
    case .degrees:
      try folder.writeBundle("map.mbtiles", zooms: 0...4, matrixSet: .worldCRS84Quad, metadata: words, places: places)
    case .vector: try writeVectorBundle(folder.file("map.mbtiles"), words, places)
    }
    let server = try RunningServer([folder.path])
    // Names are to be read in dark windows too.
    let map = try MapPage(server, "map", at: "1/10/-20", isDark: byKeyboard)
    let start = try place(map)
    #expect(abs(start[0] + 20) < 1 && abs(start[1] - 10) < 1, "\(start)")
    for (typed, wanted) in [("kili", places[0]), ("kap", places[2]), ("kiel", places[1])] {
      try map.page.evaluateVoid("document.getElementById('place').value = ''")
      try map.page.click("#place")
      try map.page.type(typed)
      try map.page.settle("document.querySelector('#found-0 span')?.textContent === '\(wanted.name)'")
      if byKeyboard {
        try map.page.evaluateVoid("document.querySelector('.search').requestSubmit()")
      } else {
        try map.page.click("#found-0")
      }
      usleep(100_000)
      try map.settle()
      let shown = try place(map)
      // The same meridian, by whatever turns of the world.
      let east = (shown[0] - wanted.longitude + 540).truncatingRemainder(dividingBy: 360) - 180
      // Leaflet goes by whole pixels: a sixth of a degree at these zooms.
      #expect(abs(east) < 0.25 && abs(shown[1] - wanted.latitude) < 0.25, "\(wanted.name): \(shown)")
      #expect(shown[2] > start[2], "\(wanted.name): \(shown)")
      #expect(try map.page.evaluate("document.getElementById('found').hidden", as: Bool.self))
      // One mark, in the middle of the map, and one only.
      let marks = try map.page.evaluate(
        """
        [...document.querySelectorAll(".maplibregl-marker, path.leaflet-interactive")].map((mark) => {
          const [r, frame] = [mark, document.getElementById("map")].map((e) => e.getBoundingClientRect());
          return Math.hypot(r.x + r.width / 2 - frame.x - frame.width / 2, r.y + r.height / 2 - frame.y - frame.height \
          / 2);
        })
        """, as: [Double].self)
      #expect(marks.count == 1 && marks[0] < 40, "\(wanted.name): \(marks)")
      #expect(try map.page.evaluate("document.getElementById('map').innerText", as: String.self).contains(wanted.name))
      try Screenshots.take(map.page, "viewer-search-\(kind)-\(typed)\(byKeyboard ? "-dark" : "")")
    }
    map.expectClean()
  }

  /// Writes a bundle of vector tiles with a point in the middle of each.
  private func writeVectorBundle(_ path: String, _ metadata: BundleMetadata, _ places: [Place]) throws {
    // Mapbox Vector Tile 2.1: a layer "spots" with extent 4096 and one feature, a point at 2048, 2048.
    let tile: [UInt8] =
      [0x1a, 23, 0x0a, 5] + Array("spots".utf8)
      + [0x12, 9, 0x18, 1, 0x22, 5, 9, 0x80, 0x20, 0x80, 0x20, 0x28, 0x80, 0x20, 0x78, 2]
    let writer = try BundleWriter(path: path, matrixSet: .webMercatorQuad, format: .pbf)
    for zoom in 0...4 {
      for id in TileMatrixSet.webMercatorQuad.wholeRange(zoom: zoom) { try writer.put(id, SampleTiles.gzip(tile)) }
    }
    try writer.write(places: places)
    var metadata = metadata
    metadata.json = #"{"vector_layers":[{"id":"spots","fields":{}}]}"#
    _ = try writer.finish(metadata)
  }
}
