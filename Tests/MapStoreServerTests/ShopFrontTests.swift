import Foundation
import TestSupport
import Testing

@testable import MapStoreServer

/// Name, logo, colours and languages of the pages, and what is refused at the start.
@Suite(.ownThread) struct ShopFrontTests {
  private static let german = ProjectFiles.path("sample-regions/shop/de.json")

  @Test func theTextsAreComplete() {
    #expect(Set(PageText.english.keys) == Set(PageText.allCases))
  }

  @Test func languagesAndLogo() async throws {
    try await TestStore.runPages {
      $0.pages.texts = [Self.german]
      $0.pages.logo = ProjectFiles.path("sample-regions/shop/logo.svg")
      ($0.pages.accent, $0.pages.accentDark) = ("#7a2e1d", "#f0a080")
    } _: { store, _ in
      func html(_ path: String, _ languages: String? = nil) async throws -> String {
        try await store.send("GET", path, languages.map { ["Accept-Language": $0] } ?? [:]).text
      }
      for (languages, tag) in [
        (nil, "en"), ("de", "de"), ("de-AT", "de"), ("fr, de;q=0.2", "de"), ("fr", "en"), ("en, de;q=0.9", "en"),
        ("de;q=0", "en"), (",,;q=x", "en"),
      ] as [(String?, String)] {
        let page = try await html("/catalogue", languages)
        #expect(page.contains("<html lang=\"\(tag)\">"), "\(languages ?? "")")
      }
      let german = try await html("/catalogue?lang=de", "en")
      #expect(german.contains("3 Karten") && german.contains("href=\"/regions/world?lang=de\""))
      #expect(german.contains("name=\"lang\" value=\"de\"") && german.contains("aria-current=\"true\">Deutsch"))
      #expect(try await html("/regions/world?lang=de").contains("Ähnliche Karten"))
      let logo = try await store.send("GET", "/assets/logo.svg")
      #expect(logo["Content-Type"] == "image/svg+xml" && logo["Content-Security-Policy"]?.contains("sandbox") == true)
      #expect(try await store.send("GET", "/assets/colours.css").text.contains("--accent: #7a2e1d"))
    }
  }

  @Test(arguments: [
    ("\"shop\": \"Karten\", ", "", "texts lacks shop"),
    ("\"shop\":", "\"shopp\":", "texts has an unknown key \"shopp\"; did you mean \"shop\"?"),
    ("{count} Karten\"", "{cont} Karten\"", "texts.maps has other words in braces than English; use {count}"),
    ("\"language\": \"de\", ", "", "has no text \"language\""), ("\"de\"", "\"d e\"", "language: \"d e\" is no tag"),
    ("\"shop\": \"Karten\"", "\"shop\": 1", "texts.shop is no text"), ("{", "", "cannot be read"),
  ])
  func unusableTexts(_ old: String, _ new: String, _ message: String) throws {
    let folder = try TemporaryFolder()
    let text = try String(contentsOfFile: Self.german, encoding: .utf8)
    let range = try #require(text.firstRange(of: old))
    let path = try folder.write("de.json", text.replacingCharacters(in: range, with: new))
    #expect { try PageLanguage(path: path) } throws: { "\($0)".hasPrefix("\(path): \(message)") }
  }

  @Test func unusableLooks() throws {
    let folder = try TemporaryFolder()
    func expect(_ message: String, _ change: (inout PageOptions) -> Void) {
      var options = PageOptions()
      change(&options)
      #expect { try ShopFront(options) } throws: { "\($0)".contains(message) }
    }
    let large = try folder.write("large.svg", "<svg/>")
    try FileHandle(forWritingTo: URL(fileURLWithPath: large)).truncate(atOffset: 20_000_000)
    expect("\(large): has 20000000 bytes, and each visitor of the pages would load them; give a logo") {
      $0.logo = large
    }
    let text = try folder.write("logo.svg", "text")
    expect("\(text): is neither SVG, PNG, WebP nor JPEG") { $0.logo = text }
    expect("missing.svg: cannot be read") { $0.logo = folder.file("missing.svg") }
    expect("pages.accent: #ffcc00 on #f6f5f0 has a contrast of 1.3, and text needs 4.5; give a darker one") {
      $0.accent = "#ffcc00"
    }
    expect("pages.accentDark: #203020 on #151a17") { $0.accentDark = "#203020" }
    expect("\"green\" is no colour") { $0.accent = "green" }
    expect("pages.checkout: \"javascript:alert(1)\" is no URL") { $0.checkout = "javascript:alert(1)" }
    expect("pages.appStore: \"apps.apple.com\" is no URL") { $0.appStore = "apps.apple.com" }
    expect("has the language de, as another file has") { $0.texts = [Self.german, Self.german] }
  }
}
