import Foundation
import PurchaseLedger
import RegionCatalog
import TestSupport
import Testing
import TileIndex

/// The catalogue's page of the built `mapstore` in a real browser: the map of what the regions cover, and the search.
@Suite(.ownThread, .serialized, .enabled(if: Browser.isInstalled, .init(rawValue: Browser.skipMessage)))
struct StorePageTests {
  /// The built `mapstore serve` over some of the sample regions; ends with the object.
  private final class Store {
    let address: String
    let regionCount: Int
    private let folder: TemporaryFolder
    private let process: ChildProcess

    static let few = ["utah", "colorado", "longs-peak", "jacksboro-fault"]

    init(regions: [String]) throws {
      folder = try TemporaryFolder()
      let catalog = folder.file("catalogue")
      let built = try Command(built: "tilecut").run(
        ["build", ProjectFiles.path("sample-regions/regions.json"), "-o", catalog, "--progress", "none"]
          + (regions.isEmpty ? [] : ["--region"] + regions), timeout: 300)
      try #require(built.status == 0, "\(built)")
      regionCount = try Catalog(path: "\(catalog)/catalogue.json").regions.count
      _ = try Ledger.create(at: folder.file("ledger.sqlite"), policy: LedgerPolicy(), clock: .system)
      let process = try Command(built: "mapstore").start(
        ["serve", "--catalogue", catalog, "--ledger", folder.file("ledger.sqlite"), "--port", "0"],
        environment: ["MAPSTORE_LOG_LEVEL": "warning"])
      let isUp = process.wait(timeout: 60) { process.stdout.contains("/catalogue\n") }
      let line = process.stdout.split(separator: "\n").first { $0.hasPrefix("catalogue: ") }
      address = String(
        try #require(isUp ? line?.dropFirst(11) : nil, "\(process.stdout)\(process.stderr)").dropLast(10))
      self.process = process
    }

    deinit {
      process.send(SIGTERM)
      _ = process.wait(timeout: 15) as CommandRun
    }
  }

  /// What the page shows.
  private struct State: Decodable {
    let cards: [String]
    let count: String
    /// Outlines of at least 8 pixels on the map, and the marks that stand for smaller ones.
    let shapes: Int
    /// Pictures over the map that are loaded.
    let pictures: Int
    /// The map's height in pixels.
    let mapHeight: Double
    let overflows: Bool
  }

  private func state(_ page: BrowserPage) throws -> State {
    try page.evaluate(
      """
      (() => {
        const isVisible = (e) => { const r = e.getBoundingClientRect(); return Math.max(r.width, r.height) >= 8; };
        return {
          cards: [...document.querySelectorAll("[data-region]")].map((card) => card.dataset.region),
          count: document.querySelector(".count").textContent,
          shapes: [...document.querySelectorAll("#map path.leaflet-interactive")].filter(isVisible).length,
          pictures: [...document.querySelectorAll("#map img.leaflet-image-layer")]
            .filter((i) => i.complete && i.naturalWidth > 0).length,
          mapHeight: document.getElementById("map").getBoundingClientRect().height,
          overflows: document.documentElement.scrollWidth > innerWidth,
        };
      })()
      """, as: State.self)
  }

  private static let isStill = "[...document.images].every((i) => i.complete || i.loading === 'lazy')"
  private static let isDrawn =
    "document.querySelectorAll('#map img.leaflet-image-layer').length > 0 && \(isStill)"

  @Test(
    .enabled(if: BrowserTests.hasLeaflet, .init(rawValue: BrowserTests.leafletMessage)),
    arguments: [("light", 1280, 1.0), ("dark", 1280, 1), ("phone", 390, 2)].prefix(BrowserTests.isLong ? 3 : 1))
  func coverageMapShowsEveryRegion(_ look: String, _ width: Int, _ density: Double) throws {
    let store = try Store(regions: BrowserTests.isLong ? [] : Store.few)
    let page = try BrowserPage(width: width, height: 900, isDark: look == "dark", density: density)
    try page.open("\(store.address)/catalogue", ready: Self.isDrawn)
    let all = try state(page)
    let count = store.regionCount
    #expect(all.cards.count == count && all.count == "\(count) regions")
    #expect(all.pictures == count && all.shapes == count && all.mapHeight > 200 && !all.overflows, "\(all)")
    try Screenshots.take(page, "store-\(look)")

    // A click on a card shows its region on the map, large.
    try page.click("[data-region=utah] h2")
    try page.settle("document.querySelector('.chosen') && \(Self.isStill)")
    usleep(400_000)
    #expect(try page.evaluate("document.querySelector('.chosen').dataset.region", as: String.self) == "utah")
    let share = try page.evaluate(
      """
      Math.max(...[...document.querySelectorAll('#map path.leaflet-interactive')].map((p) => \
      p.getBoundingClientRect().height)) / document.getElementById('map').clientHeight
      """,
      as: Double.self)
    #expect(share > 0.4, "\(share)")
    try Screenshots.take(page, "store-\(look)-region")

    // A place finds the regions that it lies in.
    try page.click("input[type=search]")
    try page.type("denver")
    try page.evaluateVoid("document.querySelector('form').requestSubmit()")
    usleep(300_000)
    try page.settle("location.search.includes('denver') && \(Self.isStill)")
    let found = try state(page)
    #expect(found.cards == ["colorado"], "\(found)")
    #expect(
      try page.evaluate("document.querySelector('.places').textContent", as: String.self).contains("Denver"))
    try Screenshots.take(page, "store-\(look)-search")
    #expect(page.complaints == [])
    #expect(page.requests.filter { !$0.hasPrefix("\(store.address)/") } == [])
  }
}
