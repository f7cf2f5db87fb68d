import Foundation
import NIOHTTP1
import TestSupport
import Testing

@testable import TileServe

/// The URLs in documents are those by which the client reaches the server: through proxies, below a base path, with a
/// public name.
@Suite(.ownThread) struct PrintedAddressTests {
  /// All absolute URLs of this server in its documents.
  private func printed(_ served: Served, _ prefix: String = "", _ fields: [String: String]) throws -> Set<String> {
    var found: Set<String> = []
    for target in [
      "/tilesets.json", "/relief.json", "/relief,labels.json", "/wmts?request=GetCapabilities",
      "/wmts/1.0.0/relief/WMTSCapabilities.xml", "/tms/1.0.0", "/tms/1.0.0/relief", "/", "/relief/",
    ] {
      let response = try served.get(prefix + target, fields)
      #expect(response.status == 200, "\(prefix + target): \(response)")
      let text = response.text.replacingOccurrences(of: "\\/", with: "/")
      for match in text.matches(of: /https?:\/\/[^"'<> ]*/) {
        let url = String(match.output)
        let foreign = ["www.opengis.net", "schemas.opengis.net", "www.w3.org", "tms.osgeo.org", "osgeo.org"]
        if !foreign.contains(where: { url.contains("://\($0)") }) { found.insert(url) }
      }
      // Links in pages have no host, but the base path.
      for match in text.matches(of: /(?:href|src)="(\/[^"]*)"/) { found.insert(String(match.output.1)) }
    }
    #expect(found.count > 10)
    return found
  }

  private func expectAll(_ urls: Set<String>, below origin: String, _ basePath: String) {
    for url in urls {
      #expect(url.hasPrefix(url.hasPrefix("/") ? "\(basePath)/" : "\(origin)\(basePath)/"), "\(url)")
    }
  }

  @Test func withoutAProxyTheHostFieldCounts() async throws {
    try await serving([SampleTilesets.path]) { (served) async throws in
      let host = "localhost:\(served.port)"
      expectAll(try printed(served, ["Host": host]), below: "http://\(host)", "")
      expectAll(try printed(served, ["Host": "[::1]:9"]), below: "http://[::1]:9", "")
      // Invalid hosts must not get into pages.
      for host in ["a\"onload=x", "a/b", "<b>", "a b", "a:x", "[::1", "a:65536", ":80"] {
        let connection = try served.connect()
        for target in ["/relief.json", "/relief/0/0/0.png", "/relief/0/0/0.png"] {
          let response = try connection.request(target, ["Host": host])
          #expect(response.status == 400 && response.text.contains("Host field"), "\(host): \(response)")
        }
      }
      let empty = try served.get("/relief.json", ["Host": ""])
      #expect(empty.status == 200 && empty.text.contains("127.0.0.1:\(served.port)"))
    }
  }

  /// A proxy may remove the base path or leave it.
  @Test(arguments: ["", "/maps/v1"]) func basePath(_ sent: String) async throws {
    try await serving([SampleTilesets.path]) {
      $0.basePath = "maps/v1/"
    } _: { (served) async throws in
      #expect(served.server.url == "http://127.0.0.1:\(served.port)/maps/v1/")
      expectAll(try printed(served, sent, ["Host": "192.0.2.7"]), below: "http://192.0.2.7", "/maps/v1")
      #expect(try served.get("\(sent)/relief/0/0/0.png").status == 200)
      #expect(try served.get("\(sent)/relief/0/0/x.png").status == 400)
      #expect(try served.get("/maps/v1").status == 200)
      #expect(try served.get("/maps/v10/health").status == 404)
    }
  }

  @Test func forwardedFieldsOfTrustedProxiesCount() async throws {
    try await serving([SampleTilesets.path]) { (served) async throws in
      let fields = [
        "Host": "127.0.0.1:81", "X-Forwarded-Proto": "https", "X-Forwarded-Host": "maps.example.org",
        "X-Forwarded-Prefix": "/tiles/",
      ]
      expectAll(try printed(served, fields), below: "https://maps.example.org", "/tiles")
      func url(_ more: [String: String]) throws -> String {
        let json = try served.get("/relief.json", fields.merging(more) { $1 }).text.replacing("\\/", with: "/")
        return json.firstMatch(of: /"(http[^"]*)\/relief\//).map { String($0.output.1) } ?? json
      }
      #expect(try url(["X-Forwarded-Host": "first.example, second.example"]) == "https://first.example/tiles")
      #expect(try url(["X-Forwarded-Proto": "HTTPS,http"]) == "https://maps.example.org/tiles")
      #expect(try url(["X-Forwarded-Proto": "javascript"]) == "http://maps.example.org/tiles")
      #expect(try url(["X-Forwarded-Port": "8443"]) == "https://maps.example.org:8443/tiles")
      #expect(try url(["X-Forwarded-Port": "443"]) == "https://maps.example.org/tiles")
      #expect(try url(["X-Forwarded-Port": "8443", "X-Forwarded-Host": "a.example:7"]) == "https://a.example:7/tiles")
      #expect(try url(["X-Forwarded-Port": "eighty"]) == "https://maps.example.org/tiles")
      for evil in ["\"><script>", "//evil.example", "/a b", "/a//b"] {
        #expect(
          try url(["X-Forwarded-Prefix": evil]).hasSuffix("evil.example") == (evil == "//evil.example"), "\(evil)")
        #expect(try !url(["X-Forwarded-Prefix": evil]).contains("script"))
      }
      #expect(try !url(["X-Forwarded-Host": "a\"b"]).contains("a\""))
      // Programs that follow such a URL may crash.
      for host in ["a.example:65536", "a.example:0", "[]", "2001:db8::1"] {
        #expect(try !url(["X-Forwarded-Host": host]).contains(host), "\(host)")
      }
      // Without the space it would be another host.
      for host in ["a .example", "a\t.example"] {
        #expect(try !url(["X-Forwarded-Host": host]).contains("a.example"), "\(host)")
      }
      #expect(try url(["X-Forwarded-Host": "a.example \t, b"]).contains("://a.example/"))
    }
  }

  /// RFC 7239. What a proxy says in the older fields is not mixed with what a client may have claimed here.
  @Test func theFieldForwardedCountsAlike() async throws {
    try await serving([SampleTilesets.path]) { (served) async throws in
      for (field, origin) in [
        ("proto=https;host=maps.example.org", "https://maps.example.org"),
        (
          "for=192.0.2.1;Proto=HTTPS; Host=\"maps.example.org:8443\", for=10.0.0.1;proto=http;host=inner",
          "https://maps.example.org:8443"
        ),
        ("nonsense", "http://127.0.0.1:81"),
      ] {
        let found = try printed(served, ["Host": "127.0.0.1:81", "Forwarded": field])
        expectAll(found, below: origin, "")
      }
      let both = ["Host": "127.0.0.1:81", "X-Forwarded-Proto": "https", "Forwarded": "host=evil.example"]
      expectAll(try printed(served, both), below: "https://127.0.0.1:81", "")
    }
  }

  @Test func forwardedFieldsOfOthersAreIgnored() {
    var options = TileServerOptions()
    options.basePath = "/maps"
    let book = BaseURLResolver(options, boundOrigin: "http://10.0.0.1:80")
    let fields: HTTPHeaders = [
      "Host": "10.0.0.1", "X-Forwarded-Host": "evil.example", "X-Forwarded-Proto": "https",
      "X-Forwarded-Prefix": "/evil", "X-Forwarded-Port": "99",
    ]
    let facts = RequestFacts(HTTPRequestHead(version: .http1_1, method: .GET, uri: "/", headers: fields))
    #expect(book.address(facts, isTrusted: false) == ServiceAddress(origin: "http://10.0.0.1", basePath: "/maps"))
    #expect(
      book.address(facts, isTrusted: true) == ServiceAddress(origin: "https://evil.example:99", basePath: "/evil"))
  }

  @Test(arguments: [
    ("https://maps.example.org", ""), ("https://maps.example.org/", ""), ("https://m.example:8/a/b/", "/a/b"),
  ])
  func publicURLTakesPrecedence(_ url: String, path: String) async throws {
    try await serving([SampleTilesets.path]) {
      $0.publicURL = url
    } _: { (served) async throws in
      let fields = ["Host": "127.0.0.1:81", "X-Forwarded-Host": "other.example", "X-Forwarded-Prefix": "/other"]
      let origin = url.split(separator: "/").prefix(2).joined(separator: "//")
      expectAll(try printed(served, fields), below: origin, path)
    }
  }

  /// Every URL in a document exists.
  @Test(arguments: ["", "/base"]) func printedURLsExist(_ basePath: String) async throws {
    try await serving([SampleTilesets.path]) {
      $0.basePath = basePath
    } _: { (served) async throws in
      let urls = try printed(served, basePath, ["Host": "localhost"])
      // A TMS document names the folders of its zooms, which contain only tiles.
      for url in urls where !url.contains("{TileMatrixSet}") && url.wholeMatch(of: /.*\/tms\/1.0.0\/[^\/]*\/\d+/) == nil
      {
        let filled = url.replacing("{z}", with: "0").replacing("{x}", with: "0").replacing("{y}", with: "0")
        let response = try served.get(filled.replacing("http://localhost", with: "").replacing("&amp;", with: "&"))
        #expect([200, 204].contains(response.status), "\(url): \(response.statusLine)")
      }
    }
  }
}

extension PrintedAddressTests {
  private func printed(_ served: Served, _ fields: [String: String]) throws -> Set<String> {
    try printed(served, "", fields)
  }
}
