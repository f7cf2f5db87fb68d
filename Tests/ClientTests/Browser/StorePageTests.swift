import Foundation
import PurchaseLedger
import RegionCatalog
import Support
import TestSupport
import Testing
import TileIndex

/// The pages of the built `mapstore` in a real browser: the catalogue, a region's page, what they load, and who can use
/// them.
@Suite(.ownThread, .serialized, .enabled(if: Browser.isInstalled, .init(rawValue: Browser.skipMessage)))
struct StorePageTests {
  /// The built `mapstore serve` over some of the sample regions; ends with the object.
  private final class Store {
    let address: String
    let regionCount: Int
    private let folder: TemporaryFolder
    private let process: ChildProcess

    static let few = ["utah", "colorado", "longs-peak", "jacksboro-fault"]

    /// - Parameter copies: of each region, for a large catalogue.
    init(regions: [String] = few, copies: Int = 1) throws {
      folder = try TemporaryFolder()
      let catalog = folder.file("catalogue")
      let built = try Command(built: "tilecut").run(
        ["build", ProjectFiles.path("sample-regions/regions.json"), "-o", catalog, "--progress", "none"]
          + (regions.isEmpty ? [] : ["--region"] + regions), timeout: 300)
      try #require(built.status == 0, "\(built)")
      if copies > 1 { try Self.multiply(catalog, copies) }
      regionCount = try Catalog(path: "\(catalog)/catalogue.json").regions.count
      _ = try Ledger.create(at: folder.file("ledger.sqlite"), policy: LedgerPolicy(), clock: .system)
      let process = try Command(built: "mapstore").start(
        [
          "serve", "--catalogue", catalog, "--ledger", folder.file("ledger.sqlite"), "--port", "0", "--config",
          ProjectFiles.path("sample-regions/shop/mapstore.json"),
        ],
        environment: [
          "MAPSTORE_LOG_LEVEL": "warning",
          // The sample's prices are those of all regions.
          "MAPSTORE_PRODUCTS": try folder.write("products.json", Self.products),
        ])
      let isUp = process.wait(timeout: 60) { process.stdout.contains("/catalogue\n") }
      let line = process.stdout.split(separator: "\n").first { $0.hasPrefix("catalogue: ") }
      address = String(
        try #require(isUp ? line?.dropFirst(11) : nil, "\(process.stdout)\(process.stderr)").dropLast(10))
      self.process = process
    }

    private static let products = """
      {"taxNote": "incl. VAT", "samples": ["longs-peak"], "products": [
        {"productId": "utah", "price": "4.99", "currency": "USD"},
        {"productId": "colorado", "price": "4.99", "currency": "USD"},
        {"productId": "jacksboro-fault"}, {"productId": "longs-peak"}, {"productId": "west", "title": "The West", "price": "7.99", "currency": "USD",
         "regions": ["utah", "colorado"]}]}
      """

    /// Gives each region copies under other ids, with the same files and pictures.
    private static func multiply(_ folder: String, _ copies: Int) throws {
      let path = "\(folder)/catalogue.json"
      var regions = try Catalog(path: path).regions
      for original in regions {
        for number in 1..<copies {
          var copy = original
          (copy.id, copy.title) = ("\(original.id)-\(number)", "\(original.title) \(number)")
          // Pictures of their own, or a browser loads each once.
          if let preview = copy.preview {
            let name = "\(number)-\(preview.file)"
            var bytes = try Data(contentsOf: URL(fileURLWithPath: "\(folder)/\(preview.file)"))
            bytes.append(UInt8(number))
            try bytes.write(to: URL(fileURLWithPath: "\(folder)/\(name)"))
            copy.preview?.file = name
            copy.preview?.bytes = bytes.count
            copy.preview?.sha256 = try FileHash.sha256(ofFile: "\(folder)/\(name)")
          }
          regions.append(copy)
        }
      }
      try Data(Catalog(regions: regions).bytes).write(to: URL(fileURLWithPath: path), options: .atomic)
    }

    deinit {
      process.send(SIGTERM)
      _ = process.wait(timeout: 15) as CommandRun
    }
  }

  /// True when the pictures in sight are there; some come only when the page has been laid out.
  private static let isStill = """
    [...document.images].every((image) => {
      const r = image.getBoundingClientRect();
      return image.complete && image.naturalWidth > 0 || r.height === 0 || r.bottom <= 0 || r.top >= innerHeight;
    })
    """
  private static let message: Comment = "axe-core is not installed (scripts/install-python-tools.sh)"
  /// The accessibility rules of Deque, as scripts/install-python-tools.sh fetches them.
  private static let axe = try? String(
    contentsOfFile: ProjectFiles.path(".build/axe-core-python/axe_core_python/axe.min.js"), encoding: .utf8)

  private struct State: Decodable {
    let cards: [String]
    let count: String
    let shapes: Int
    /// Thumbnails that are loaded.
    let pictures: Int
    let mapHeight: Double
    let overflows: Bool
  }

  private func state(_ page: BrowserPage) throws -> State {
    try page.evaluate(
      """
      (() => ({
        cards: [...document.querySelectorAll("[data-region]")].map((card) => card.dataset.region),
        count: document.querySelector(".count").textContent,
        shapes: [...document.querySelectorAll("[data-shape]")]
          .filter((e) => Math.max(e.getBoundingClientRect().width, e.getBoundingClientRect().height) >= 8).length,
        pictures: [...document.querySelectorAll(".card img")].filter((i) => i.complete && i.naturalWidth > 0).length,
        mapHeight: document.querySelector(".coverage svg")?.getBoundingClientRect().height ?? 0,
        overflows: document.documentElement.scrollWidth > innerWidth,
      }))()
      """, as: State.self)
  }

  private func expectClean(_ page: BrowserPage, _ store: Store, sourceLocation: SourceLocation = #_sourceLocation) {
    #expect(page.complaints == [], sourceLocation: sourceLocation)
    #expect(page.requests.filter { !$0.hasPrefix("\(store.address)/") } == [], sourceLocation: sourceLocation)
  }

  @Test(arguments: [("light", 1280, 1.0), ("dark", 1280, 1), ("phone", 390, 2)].prefix(BrowserTests.isLong ? 3 : 1))
  func aBuyerFindsARegion(_ look: String, _ width: Int, _ density: Double) throws {
    let store = try Store()
    let page = try BrowserPage(width: width, height: 900, isDark: look == "dark", density: density)
    try page.open("\(store.address)/catalogue", ready: Self.isStill)
    let all = try state(page)
    let count = store.regionCount
    #expect(all.cards.count == count && all.count == "\(count) maps" && all.shapes == count, "\(all)")
    #expect(all.pictures > 0 && all.mapHeight > 100 && !all.overflows, "\(all)")
    try Screenshots.take(page, "store-\(look)")
    // A card and its outline point at each other.
    try page.evaluateVoid("document.querySelector('[data-region=utah]').dispatchEvent(new MouseEvent('mouseenter'))")
    #expect(
      try page.evaluate("document.querySelector('[data-shape].chosen').dataset.shape", as: String.self) == "utah")

    // A place finds the regions that it lies in; the search suggests it first.
    try page.click("input[type=search]")
    try page.type("denv")
    try page.settle("document.querySelector('#suggestions option')?.value === 'Denver'")
    try page.type("er")
    try page.evaluateVoid("document.querySelector('form').requestSubmit()")
    usleep(300_000)
    try page.settle("location.search.includes('denver') && \(Self.isStill)")
    #expect(try state(page).cards == ["colorado"])
    #expect(
      try page.evaluate("document.querySelector('.places').textContent", as: String.self).contains("Denver"))
    try Screenshots.take(page, "store-\(look)-search")

    // To the region's page by the keyboard.
    try page.evaluateVoid("document.querySelector('[data-region=colorado] h2 a').click()")
    usleep(300_000)
    try page.settle("location.pathname === '/regions/colorado' && \(Self.isStill)")
    let text = try page.evaluate("document.querySelector('main').innerText", as: String.self)
    for part in ["Colorado", "$4.99", "The West (2 maps): $7.99", "Denver", "Shaded relief", "Buy here"] {
      #expect(text.contains(part), "\(part): \(text)")
    }
    #expect(try !page.evaluate("document.documentElement.scrollWidth > innerWidth", as: Bool.self))
    try Screenshots.take(page, "store-\(look)-region")

    // Nothing is found: a way on.
    try page.open("\(store.address)/catalogue?q=coloradu", ready: Self.isStill)
    try page.click(".nothing a")
    usleep(300_000)
    try page.settle("location.search === '?q=colorado'")
    #expect(try state(page).cards.contains("colorado"))
    expectClean(page, store)
  }

  /// The preview pans and zooms; it loads tiles of the coarse zooms, and no others.
  @Test(.enabled(if: BrowserTests.hasLeaflet, .init(rawValue: BrowserTests.leafletMessage)))
  func thePreviewPans() throws {
    let store = try Store()
    let page = try BrowserPage(width: 1000, height: 800)
    try page.open(
      "\(store.address)/regions/jacksboro-fault",
      ready: "window.RegionPreview && document.querySelector('.leaflet-tile-loaded') && \(Self.isStill)")
    for _ in 0..<6 {
      try page.wheel(at: SIMD2(300, 420), pixels: -240)
      usleep(200_000)
    }
    try page.drag(from: SIMD2(300, 420), by: SIMD2(-120, 60))
    try page.settle("RegionPreview.getZoom() > 0")
    let zooms = page.requests.compactMap { $0.firstMatch(of: /preview\/(\d+)\//).flatMap { Int($0.1) } }
    // The map goes to zoom 11.
    #expect(!zooms.isEmpty && zooms.allSatisfy { $0 <= 8 }, "\(zooms)")
    try Screenshots.take(page, "store-preview")
    expectClean(page, store)
  }

  /// 100 regions on one page, as a browser loads them: scripts, styles and all pictures in sight and near it.
  @Test(arguments: [(1280, 1.0), (390, 2)]) func aHundredRegionsLoadInThreeHundredKilobytes(
    _ width: Int, _ density: Double
  ) throws {
    let store = try Store(copies: 25)
    let page = try BrowserPage(width: width, height: 900, density: density)
    try page.open("\(store.address)/catalogue", ready: Self.isStill)
    let shown = try state(page)
    let loaded = page.transferredBytes
    #expect(shown.cards.count == 100 && shown.pictures > 3, "\(shown)")
    #expect(loaded > 20_000 && loaded <= 300_000, "\(loaded) bytes")
    // Scripts are not needed.
    #expect(page.requests.allSatisfy { !$0.contains("leaflet") })
    expectClean(page, store)
  }

  private struct Finding: Decodable {
    let id: String
    let help: String
    let targets: [String]
  }

  /// axe-core's rules find nothing, light or dark, wide or narrow.
  @Test(.enabled(if: axe != nil, message), arguments: [false, true])
  func axeFindsNothing(_ isDark: Bool) throws {
    let store = try Store()
    let page = try BrowserPage(width: isDark ? 390 : 1280, height: 900, isDark: isDark)
    for path in [
      "/catalogue", "/catalogue?q=zzz&lang=de", "/regions/colorado", "/regions/longs-peak?lang=de", "/regions/x",
    ] {
      try page.open("\(store.address)\(path)", ready: Self.isStill)
      try page.evaluateVoid(try #require(Self.axe))
      try page.evaluateVoid(
        """
        window.findings = null;
        axe.run().then((r) => { window.findings = r.violations.map((v) => ({ id: v.id, help: v.help, \
        targets: v.nodes.map((n) => n.target.join(" ")) })); })
        """)
      try page.settle("window.findings !== null")
      let findings = try page.evaluate("window.findings", as: [Finding].self)
      #expect(findings.isEmpty, "\(path): \(findings)")
    }
  }
}
