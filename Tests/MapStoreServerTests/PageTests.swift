import Foundation
import MapStoreWire
import TestSupport
import Testing
import TileImage
import TileIndex

@testable import MapStoreServer

/// The pages for people, and what belongs to them.
@Suite(.ownThread) struct PageTests {
  private static let products = """
    {"taxNote": "incl. VAT", "samples": ["shallow"], "products": [
      {"productId": "org.example.maps.world", "price": "4.9", "currency": "EUR",
       "countries": {"CH": {"price": "5", "currency": "CHF", "taxNote": "inkl. MWST"}}},
      {"productId": "org.example.maps.all", "title": "Everything", "price": "9.99", "currency": "EUR",
       "regions": ["world", "strip"]}
    ]}
    """

  @Test func aRegionsPageSaysWhatItIsAndWhatItCosts() async throws {
    try await TestStore.runPages(products: Self.products) {
      $0.publicURL = "https://maps.example.org"
      $0.pages.name = "Maps & more"
      $0.pages.checkout = "https://shop.example.org/buy?p={product}&r={id}"
      $0.pages.openInApp = "maps://regions/{id}"
    } _: { store, catalog in
      let answer = try await store.send("GET", "/regions/world")
      #expect(answer.status == 200 && answer["Content-Security-Policy"] == PageFrame.contentSecurityPolicy)
      let html = answer.text
      for part in [
        "<h1>The &lt;/script&gt;&lt;b&gt;world&lt;/b&gt; &amp; more</h1>", "€4.90", "incl. VAT",
        "CH: <b>CHF\u{a0}5.00</b>",
        "© Survey &amp; others", "Basel <small>city</small>", "Chur <small>town</small>", "Everything", "(2 maps)",
        "href=\"https://shop.example.org/buy?p=org.example.maps.world&amp;r=world\"", "href=\"maps://regions/world\"",
        "<link rel=\"canonical\" href=\"https://maps.example.org/regions/world\">",
        "<meta property=\"og:image\" content=\"https://maps.example.org/v1/regions/world/preview\">",
        "2026.1, the present one", "href=\"/regions/strip\"",
      ] { #expect(html.contains(part), "\(part)") }
      // Inline is data alone, which a title cannot end.
      #expect(!html.contains("</script><b>") && !html.contains("style=\"") && !html.contains("onclick"))
      let data = try #require(html.firstMatch(of: /application\/ld\+json">(.*?)<\/script>/)).1
      let product = try #require(try JSONSerialization.jsonObject(with: Data(data.utf8)) as? [String: Any])
      let offer = try #require(product["offers"] as? [String: Any])
      #expect(product["@type"] as? String == "Product" && product["name"] as? String == PageCatalog.title)
      #expect(offer["price"] as? String == "4.90" && offer["priceCurrency"] as? String == "EUR")
      // The country of the visitor's language.
      let swiss = try await store.send("GET", "/regions/world", ["Accept-Language": "de-CH,de;q=0.9"]).text
      #expect(swiss.contains("<p class=\"price\"><b>CHF\u{a0}5.00</b> <small>inkl. MWST</small></p>"))
      #expect(try await store.send("GET", "/regions/shallow").text.contains("<b>Free</b>"))
      let cards = try await store.send("GET", "/catalogue").text
      #expect(cards.contains("€4.90") && cards.contains("<b>Free</b>") && cards.contains("© Survey &amp; others"))
      let found = try await store.send("GET", "/catalogue?q=basell").text
      #expect(found.contains("0 maps") && found.contains("See all 3 maps"))
      #expect(try await store.send("GET", "/catalogue?q=shalow").text.contains("Did you mean shallow?"))
    }
  }

  /// What is not sold has no page, no picture and no tile.
  @Test func pagesThatAreNotThere() async throws {
    let list = "org.example.maps.world,ready\norg.example.maps.strip,removed\norg.example.maps.shallow,removed\n"
    try await TestStore.runPages(products: list) { store, _ in
      for path in ["/regions/strip", "/regions/nothing", "/regions/%3Cscript%3E"] {
        let answer = try await store.send("GET", path)
        #expect(answer.status == 404 && answer["Content-Type"] == "text/html; charset=utf-8", "\(answer)")
        #expect(answer.text.contains("See all 1 maps") && !answer.text.contains("<script>"))
      }
      for path in ["thumbnail", "preview", "preview/3/0/3"] {
        #expect(try await store.send("GET", "/v1/regions/strip/\(path)").status == 404)
      }
    }
  }

  // MARK: Pictures

  @Test func thumbnailsAreSmallWhateverThePreviewShows() async throws {
    try await TestStore.runPages { store, catalog in
      for size in ThumbnailSize.allCases {
        let answer = try await store.send("GET", "/v1/regions/world/thumbnail?size=\(size.rawValue)")
        #expect(answer.status == 200 && answer["Content-Type"] == "image/webp")
        #expect(answer.body.count <= min(size.limits.bytes, 30_000), "\(size): \(answer.body.count)")
        let picture = try answer.body.withUnsafeBytes { try ImageDecoder.decode($0, format: .webp) }
        #expect(max(picture.width, picture.height) <= size.limits.edge && picture.width >= 32)
        if size != .map { #expect(abs(Double(picture.width) / Double(picture.height) - 1.6) < 0.1) }
        let tag = try #require(answer["ETag"])
        let again = try await store.send(
          "GET", "/v1/regions/world/thumbnail?size=\(size.rawValue)", ["If-None-Match": tag])
        #expect(again.status == 304)
      }
      // An address with the picture's version never changes; one with another version does.
      let html = try await store.send("GET", "/catalogue").text
      let address = try #require(html.firstMatch(of: /src="(\/v1\/regions\/world\/thumbnail[^"]*)"/)).1
        .description.replacing("&amp;", with: "&")
      #expect(try await store.send("GET", address)["Cache-Control"]?.contains("immutable") == true)
      #expect(try await store.send("GET", address + "0")["Cache-Control"]?.contains("immutable") == false)
      #expect(try await store.send("GET", "/v1/regions/world/thumbnail?size=huge").status == 400)
    }
    // A preview that is none: said, and nothing else instead.
    try await TestStore.run { store in
      let answer = try await store.send("GET", "/v1/regions/alps/thumbnail")
      #expect(try answer.status == 503 && answer.problem().detail?.contains("cannot be drawn") == true)
    }
  }

  /// Coarse zooms are as the bundle has them; nothing else of it leaves the server.
  @Test func previewTilesHaveNoUnpaidDetail() async throws {
    try await TestStore.runPages { store, catalog in
      func tile(_ text: String) async throws -> HTTPResponse { try await store.send("GET", "/v1/regions/\(text)") }
      for (zoom, column, row) in [(0, 0, 0), (1, 1, 0), (3, 7, 7)] {
        let answer = try await tile("world/preview/\(zoom)/\(column)/\(row)")
        #expect(answer.status == 200 && answer["Content-Type"] == "image/png")
        #expect(try answer.body == catalog.bytes(TileID(unchecked: zoom, column, row), of: "world"))
      }
      // In the zooms, and not in the bundle: transparent.
      #expect(try await tile("world/preview/2/0/0").status == 204)
      // Three zooms coarser than the deepest (6), and beyond: zoom 4 is in the bundle.
      #expect(try catalog.bytes(TileID(unchecked: 4, 0, 0), of: "world") != nil)
      for zoom in 4...8 { #expect(try await tile("world/preview/\(zoom)/0/0").status == 404) }
      // 64 tiles at most: zoom 5 of the strip has 32, zoom 6 has 64.
      for (zoom, status) in [(3, 200), (6, 204), (7, 404), (11, 404)] {
        let row = (1 << zoom) / 2 - 1
        #expect(try await tile("strip/preview/\(zoom)/0/\(row)").status == status, "\(zoom)")
      }
      // Outside of the region, although the bundle has it.
      #expect(try catalog.bytes(TileID(unchecked: 3, 0, 0), of: "strip") != nil)
      #expect(try await tile("strip/preview/3/0/0").status == 404)
      for hostile in [
        "-1/0/0", "3/-1/0", "3/8/0", "3/0/8", "3/00/0", "03/0/0", "+3/0/0", "3/0/0.5", "3/0/0%2e", "3/0/0%2f1",
        "%33/0/%20",
        "3/0/9223372036854775808", "64/0/0", "3/1e0/0", "3/0/%00", "٣/0/0", "3/0/0.png", "0/0/0/0", "3//0",
      ] {
        let path =
          "world/preview/"
          + (hostile.addingPercentEncoding(withAllowedCharacters: .init(charactersIn: "!"..."~")) ?? "")
        let status = try await tile(path).status
        #expect([400, 404].contains(status), "\(hostile): \(status)")
      }
      for zoom in 0...2 { #expect(try await tile("shallow/preview/\(zoom)/0/0").status == 404) }
    }
  }

  // MARK: For machines

  @Test func searchEnginesAndPhonesFindThePages() async throws {
    try await TestStore.runPages {
      $0.publicURL = "https://maps.example.org"
      $0.pages.appleApps = ["TEAM.org.example.maps"]
      ($0.pages.androidPackage, $0.pages.androidFingerprints) = ("org.example.maps", ["14:6D"])
    } _: { store, _ in
      let map = try await store.send("GET", "/sitemap.xml")
      let pages = map.text.matches(of: /<loc>(.*?)<\/loc>/).map { String($0.1) }
      #expect(
        map.text.hasPrefix("<?xml")
          && pages
            == (["catalogue"] + PageCatalog.regions.map { "regions/\($0)" }).map { "https://maps.example.org/\($0)" }
      )
      let robots = try await store.send("GET", "/robots.txt").text
      #expect(robots.contains("Sitemap: https://maps.example.org/sitemap.xml") && robots.contains("Disallow: /v1/"))
      let apple = try await store.send("GET", "/.well-known/apple-app-site-association")
      #expect(
        apple["Content-Type"] == "application/json"
          && apple.text
            == #"{"applinks":{"details":[{"appIDs":["TEAM.org.example.maps"],"components":[{"/":"/regions/*"}]}]}}"#
      )
      let android = try await store.send("GET", "/.well-known/assetlinks.json").text
      #expect(android.contains("\"package_name\":\"org.example.maps\",\"sha256_cert_fingerprints\":[\"14:6D\"]"))
    }
    // Without a public address: the one that was asked for, unless it is no host.
    try await TestStore.runPages { store, _ in
      let map = try await store.send("GET", "/sitemap.xml").text
      #expect(map.contains("/regions/world</loc>") && map.contains("<loc>http://"), "\(map)")
      let android = try await store.send("GET", "/.well-known/assetlinks.json").text
      #expect(android == "[]")
    }
  }
}
