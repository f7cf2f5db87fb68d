import HTTPTypes
import Hummingbird
import MapStoreWire
import RegionCatalog
import Support

/// The files by which search engines and phones know the pages.
extension StoreService {
  /// All pages of regions for sale (sitemaps.org, version 0.9).
  func sitemap(_ request: StoreRequest) async throws -> Response {
    let (snapshot, base) = (catalog.snapshot, address(request))
    let body = try await request.compute {
      let paths =
        ["/catalogue"]
        + snapshot.regions.indices.filter { snapshot.isForSale[$0] }.prefix(Self.pagesMax).map {
          StoreRoute.regionPage.path(snapshot.regions[$0].id)
        }
      let urls = paths.map { "<url><loc>\(Markup.escaped(base + $0))</loc></url>" }
      return ReplyBody(
        Array(
          """
          <?xml version="1.0" encoding="UTF-8"?>
          <urlset xmlns="http://www.sitemaps.org/schemas/sitemap/0.9">
          \(urls.joined(separator: "\n"))
          </urlset>

          """.utf8))
    }
    return try Reply.body(body, type: "application/xml; charset=utf-8", caching: "no-cache", for: request)
  }

  /// The protocol's limit for one file.
  private static let pagesMax = 49_999

  /// RFC 9309.
  func robots(_ request: StoreRequest) -> Response {
    let text = """
      User-agent: *
      Allow: /v1/regions/*/preview
      Allow: /v1/regions/*/thumbnail
      Disallow: /v1/
      Disallow: /catalogue?

      Sitemap: \(address(request))/sitemap.xml

      """
    return Reply.text(text)
  }

  /// Where clients reach the service: what the operator says, else what this client asked for.
  private func address(_ request: StoreRequest) -> String {
    if let url = options.publicURL { return url }
    let host = request.request.head.authority ?? "\(options.host):\(options.port)"
    let isHost = host.utf8.allSatisfy {
      $0 | 0x20 >= 0x61 && $0 | 0x20 <= 0x7a || $0 >= 0x30 && $0 <= 0x39 || [0x2d, 0x2e, 0x3a, 0x5b, 0x5d].contains($0)
    }
    return "http://\(isHost ? host : "localhost")"
  }

  /// Apple's "Supporting associated domains": the pages of regions open in the app. Empty without an app.
  func appleAssociation() throws -> Response {
    let components = JSONValue.array([.object([.init("/", .string("/regions/*"))])])
    let details = JSONValue.object([
      .init("appIDs", .array(options.pages.appleApps.map { .string($0) })), .init("components", components),
    ])
    let apps = options.pages.appleApps.isEmpty ? [] : [details]
    return json(.object([.init("applinks", .object([.init("details", .array(apps))]))]))
  }

  /// Google's Digital Asset Links. Empty without an app.
  func androidAssociation() throws -> Response {
    guard let package = options.pages.androidPackage else { return json(.array([])) }
    let target = JSONValue.object([
      .init("namespace", .string("android_app")), .init("package_name", .string(package)),
      .init("sha256_cert_fingerprints", .array(options.pages.androidFingerprints.map { .string($0) })),
    ])
    let relation = JSONValue.array([.string("delegate_permission/common.handle_all_urls")])
    return json(.array([.object([.init("relation", relation), .init("target", target)])]))
  }

  private func json(_ value: JSONValue) -> Response {
    Reply.text(String(decoding: value.bytes, as: UTF8.self), type: "application/json")
  }
}
