import Foundation
import TestSupport
import Testing
import TileImage
import TileIndex

extension BrowserTests {
  /// What the index page shows.
  struct Cards: Decodable {
    let shown: Int
    let count: String
    /// Pictures in sight, and those of them that are there.
    let pictures: Int
    let loaded: Int
    /// How far the page can be scrolled, and where it is, in pixels.
    let height: Double
    let top: Double
    /// Whether the page is wider than the window.
    let overflows: Bool
  }

  private func cards(_ page: BrowserPage) throws -> Cards {
    try page.evaluate(
      """
      (() => {
        const inSight = (e) => { const r = e.getBoundingClientRect(); return r.height > 0 && r.bottom > 0 && r.top < \
        innerHeight; };
        const pictures = [...document.querySelectorAll(".card img")].filter(inSight);
        return {
          shown: [...document.querySelectorAll(".card")].filter((card) => card.getClientRects().length > 0).length,
          count: document.getElementById("count").textContent,
          pictures: pictures.length,
          loaded: pictures.filter((image) => image.complete && image.naturalWidth > 0 && \
          !image.classList.contains("missing")).length,
          height: document.documentElement.scrollHeight - innerHeight,
          top: scrollY,
          overflows: document.documentElement.scrollWidth > innerWidth,
        };
      })()
      """, as: Cards.self)
  }

  /// True when the pictures in sight are there, or known not to come; some come only when the page has been laid out.
  private static let isStill = """
    [...document.querySelectorAll(".card img")].every((image) => {
      const r = image.getBoundingClientRect();
      return image.complete && (image.naturalWidth > 0 || image.classList.contains("missing"))
        || r.height === 0 || r.bottom <= 0 || r.top >= innerHeight;
    })
    """

  private func expectClean(_ page: BrowserPage, _ server: RunningServer) {
    #expect(page.complaints == [])
    #expect(page.requests.filter { !$0.hasPrefix("\(server.address)/") } == [])
  }

  /// Light and dark, on a desk and in a hand.
  @Test(arguments: [("light", 1280, 1.0), ("dark", 1280, 1), ("phone", 390, 2)].prefix(isLong ? 3 : 1))
  func indexPageListsEveryTilesetWithItsPicture(_ look: String, _ width: Int, _ density: Double) throws {
    let server = try RunningServer(SampleBundles.folders(all: Self.isLong))
    let page = try BrowserPage(width: width, height: 800, isDark: look == "dark", density: density)
    try page.open("\(server.address)/", ready: Self.isStill)
    let cards = try cards(page)
    let count = try SampleBundles.count(all: Self.isLong)
    #expect(cards.shown == count && cards.count == "\(count)")
    #expect(cards.pictures > 0 && cards.loaded == cards.pictures)
    #expect(!cards.overflows)
    try Screenshots.take(page, "index-\(look)")

    // A card leads to its map, and the arrow back.
    try page.click(".card h2 a")
    usleep(300_000)
    try page.settle("document.readyState === 'complete' && document.body.classList.contains('viewer')")
    try page.click(".back")
    usleep(300_000)
    try page.settle(
      "document.readyState === 'complete' && document.body.classList.contains('index') && \(Self.isStill)")
    expectClean(page, server)
  }

  @Test func indexPageListsAThousandTilesets() throws {
    let folder = try TemporaryFolder()
    let colours: [UInt32] = [0xff3d_7a4c, 0xff9c_6b3f, 0xff4f_6fae, 0xffb0_4a5f]
    for (number, colour) in colours.enumerated() {
      let pixels = PixelBuffer(width: 256, height: 256)
      for i in 0..<256 * 256 { pixels.bytes.storeBytes(of: colour, toByteOffset: i * 4, as: UInt32.self) }
      let writer = try BundleWriter(
        path: folder.file("original \(number).mbtiles"), matrixSet: .webMercatorQuad, format: .png)
      try writer.put(TileID(zoom: 0, column: 0, row: 0), TileEncoder(.png(PNGOptions())).encode(pixels))
      _ = try writer.finish(BundleMetadata(name: "Colour \(number)"))
    }
    for number in colours.count..<1000 {
      try FileManager.default.copyItem(
        atPath: folder.file("original \(number % colours.count).mbtiles"),
        toPath: folder.file("sheet \(number).mbtiles"))
    }
    let server = try RunningServer([folder.path])
    let page = try BrowserPage()
    try page.open("\(server.address)/", ready: Self.isStill)
    let top = try cards(page)
    #expect(top.shown == 1000 && top.count == "1000")
    #expect(top.pictures > 0 && top.loaded == top.pictures)
    // Pictures out of sight are left for later.
    #expect(page.requests.count < 300, "\(page.requests.count)")
    try Screenshots.take(page, "index-1000")

    for _ in 0..<3 { try page.wheel(at: SIMD2(640, 400), pixels: top.height / 3 + 100) }
    usleep(300_000)
    try page.settle("scrollY > 0 && \(Self.isStill)")
    let bottom = try cards(page)
    #expect(bottom.top >= bottom.height - 2, "\(bottom)")
    #expect(bottom.pictures > 0 && bottom.loaded == bottom.pictures)
    try Screenshots.take(page, "index-1000-bottom")

    try page.evaluateVoid("scrollTo(0, 0)")
    try page.click("#search")
    try page.type("sheet 77")
    usleep(200_000)
    try page.settle("document.getElementById('count').textContent !== '1000' && \(Self.isStill)")
    // 77, 177 to 977, 770 to 779; 777 is in both.
    let found = try cards(page)
    #expect(found.shown == 19 && found.count == "19 of 1000")
    #expect(found.loaded == found.pictures)
    try Screenshots.take(page, "index-1000-search")
    expectClean(page, server)
  }
}
