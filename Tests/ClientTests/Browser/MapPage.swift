import Foundation
import TestSupport
import Testing

/// A viewer page of `tileserve` in a browser: reads the state of its map from the document and moves it as a user does.
struct MapPage {
  /// What a raster map shows at the moment, as the browser laid it out.
  struct State: Decodable {
    /// Tiles that are in sight: their URLs.
    let tiles: [String]
    /// Those of them that have no picture.
    let broken: [String]
    /// Places, in a grid of 8 pixels over the window, where the region is but no tile.
    let holes: [[Double]]
    /// Places of the grid inside the region.
    let covered: Int
    let zoom: Double
    let center: [Double]
  }

  let page: BrowserPage
  let server: RunningServer

  /// Opens the viewer of a tileset and waits for its tiles.
  ///
  /// - Parameter place: `zoom/latitude/longitude` to open at.
  init(_ server: RunningServer, _ id: String, at place: String? = nil, isDark: Bool = false) throws {
    self.server = server
    page = try BrowserPage(isDark: isDark)
    try page.open("\(server.address)/\(segment(id))/\(place.map { "#\($0)" } ?? "")", ready: Self.isStill)
  }

  func settle() throws { try page.settle(Self.isStill) }

  /// True when nothing moves or fades and no tile is awaited; MapLibre knows by itself.
  private static let isStill = """
    (() => {
      const map = window.TileViewer && TileViewer.map;
      if (!map) return false;
      if (map.areTilesLoaded) return map.loaded() && map.areTilesLoaded() && !map.isMoving();
      if (document.querySelector(".leaflet-zoom-anim, .leaflet-pan-anim, .leaflet-drag-target")) return false;
      return [...document.querySelectorAll("#map img.leaflet-tile")]
        .every((tile) => tile.classList.contains("leaflet-tile-loaded") && getComputedStyle(tile).opacity === "1");
    })()
    """

  /// The state of a map of Leaflet's.
  func state() throws -> State {
    try page.evaluate(
      """
      (() => {
        const { map, settings } = TileViewer;
        const frame = document.getElementById("map").getBoundingClientRect();
        const inSight = (r) => Math.min(r.right, frame.right) - Math.max(r.left, frame.left) >= 1
          && Math.min(r.bottom, frame.bottom) - Math.max(r.top, frame.top) >= 1;
        const tiles = [...document.querySelectorAll("#map img.leaflet-tile")]
          .map((image) => ({ image, r: image.getBoundingClientRect() })).filter(({ r }) => inSight(r));
        const good = tiles.filter(({ image }) => image.complete && image.naturalWidth > 0);
        const [west, south, east, north] = settings.bounds;
        const holes = [];
        let covered = 0;
        for (let y = 4; y < frame.height; y += 8) for (let x = 4; x < frame.width; x += 8) {
          const at = map.containerPointToLatLng([x, y]);
          if (at.lng <= west || at.lng >= east || at.lat <= south || at.lat >= north) continue;
          covered += 1;
          const [px, py] = [x + frame.left, y + frame.top];
          // A hair of rounding between neighbours is not to be seen.
          if (!good.some(({ r }) => px >= r.left - 0.5 && px <= r.right + 0.5 && py >= r.top - 0.5 && py <= r.bottom + \
          0.5)) holes.push([x, y]);
        }
        const center = map.getCenter();
        return {
          tiles: tiles.map(({ image }) => image.src), broken: tiles.filter((t) => !good.includes(t)).map(({ image }) \
          => image.src),
          holes, covered, zoom: map.getZoom(), center: [center.lng, center.lat],
        };
      })()
      """, as: State.self)
  }

  /// Expects that what is in sight is there.
  ///
  /// - Returns: the state that was looked at.
  @discardableResult
  func expectWhole(_ what: String, sourceLocation: SourceLocation = #_sourceLocation) throws -> State {
    let state = try state()
    #expect(!state.tiles.isEmpty, "\(what): no tile in sight", sourceLocation: sourceLocation)
    #expect(state.broken.isEmpty, "\(what)", sourceLocation: sourceLocation)
    #expect(state.covered > 20, "\(what): the region is out of sight", sourceLocation: sourceLocation)
    #expect(state.holes.isEmpty, "\(what): of \(state.covered) places", sourceLocation: sourceLocation)
    return state
  }

  /// Expects that nothing went wrong, and that nobody else was asked for anything.
  func expectClean(sourceLocation: SourceLocation = #_sourceLocation) {
    #expect(page.complaints == [], sourceLocation: sourceLocation)
    let foreign = page.requests.filter { !$0.hasPrefix("\(server.address)/") }
    #expect(foreign == [], sourceLocation: sourceLocation)
    #expect(!page.requests.isEmpty, sourceLocation: sourceLocation)
  }

  var middle: SIMD2<Double> { SIMD2(Double(page.size.width) / 2, Double(page.size.height) / 2 + 24) }

  /// Turns the wheel by one notch and waits until all is still.
  func wheel(in isIn: Bool, at place: SIMD2<Double>? = nil) throws {
    try page.wheel(at: place ?? middle, pixels: isIn ? -120 : 120)
    // A map collects the wheel's turns for a moment before it moves.
    usleep(150_000)
    try settle()
  }

  /// Drags the map and waits until all is still.
  func drag(by way: SIMD2<Double>) throws {
    try page.drag(from: middle - way / 2, by: way)
    usleep(100_000)
    try settle()
  }
}

/// Where the pictures of pages go, for people to look at: the folder of `CLIENT_SCREENSHOTS`, or `.build/screenshots`.
enum Screenshots {
  static let folder: String = {
    let wanted = ProcessInfo.processInfo.environment["CLIENT_SCREENSHOTS"] ?? ""
    return wanted.isEmpty ? ProjectFiles.path(".build/screenshots") : wanted
  }()

  /// Takes one under a name.
  static func take(_ page: BrowserPage, _ name: String) throws {
    try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
    try page.screenshot().write(to: URL(fileURLWithPath: "\(folder)/\(name).png"))
  }
}
