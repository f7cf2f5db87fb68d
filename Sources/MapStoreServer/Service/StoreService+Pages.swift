import HTTPTypes
import Hummingbird
import MapStoreWire
import NIOCore
import RegionCatalog
import ServerSupport
import Support
import TileIndex

/// The handlers of the pages for people.
extension StoreService {
  func cataloguePage(_ request: StoreRequest) async throws -> Response {
    let snapshot = catalog.snapshot
    let query = try CatalogSearch(request.query)
    let frame = frame(request)
    let body = try await request.body("page \(frame.key) \(query)", in: snapshot.replies) {
      CataloguePage(frame: frame, snapshot: snapshot, query: query, page: try query.page(of: snapshot)).document()
    }
    return try page(body, request)
  }

  func regionPage(_ request: StoreRequest) async throws -> Response {
    let (frame, hasMap) = (frame(request), libraries.leaflet != nil)
    let (snapshot, index): (CatalogSnapshot, Int)
    do {
      (snapshot, index) = try await visible(request)
    } catch let problem as Problem where problem.status == 404 {
      return missingPage(frame)
    }
    let body = try await request.body("region page \(frame.key) \(index)", in: snapshot.replies) {
      RegionPage(
        frame: frame, snapshot: snapshot, index: index, places: snapshot.places.places(of: index, limit: 24),
        hasMap: hasMap
      ).document()
    }
    var response = try page(body, request)
    if !snapshot.isForSale[index] { response.headers[.cacheControl] = "private, no-cache" }
    return response
  }

  private func frame(_ request: StoreRequest) -> PageFrame {
    let field = request.field(.acceptLanguage)
    let chosen = request.query["lang"].flatMap { tag in front.languages.first { $0.tag == tag } }
    let country = request.query["country"]?.uppercased() ?? PageLanguage.country(field)
    return PageFrame(
      front: front, language: chosen ?? PageLanguage.best(of: front.languages, for: field),
      isLanguageChosen: chosen != nil,
      // Only countries with prices of their own make pages of their own.
      country: country.flatMap { catalog.snapshot.countries.contains($0) ? $0 : nil },
      publicURL: options.publicURL)
  }

  private func page(_ body: ReplyBody, _ request: StoreRequest) throws -> Response {
    var response = try Reply.shared(
      body, type: "text/html; charset=utf-8", etag: "p\(body.tag)", caching: "no-cache", for: request)
    response.headers[.contentSecurityPolicy] = PageFrame.contentSecurityPolicy
    response.headers[.vary] = "Accept-Encoding, Accept-Language"
    return response
  }

  private func missingPage(_ frame: PageFrame) -> Response {
    let count = catalog.snapshot.isForSale.count { $0 }
    let html = frame.document(
      title: frame.language(.missingPage), path: "/catalogue", isIndexed: false,
      main: """
        <div class="nothing"><h1>\(frame.text(.missingPage))</h1><p>\(frame.text(.missingPageNote))</p>
        <p><a href="\(frame.link("/catalogue"))">\(frame.text(.allMaps, ["count": "\(count)"]))</a></p></div>
        """)
    return Reply.bytes(
      ByteBuffer(bytes: html), status: .notFound, type: "text/html; charset=utf-8",
      headers: [
        .cacheControl: "no-store", .contentSecurityPolicy: PageFrame.contentSecurityPolicy,
        .vary: "Accept-Language",
      ])
  }

  // MARK: Pictures

  func thumbnail(_ request: StoreRequest) async throws -> Response {
    let (snapshot, index) = try await visible(request)
    guard let preview = snapshot.regions[index].preview else { throw Problem.notFound }
    guard let size = ThumbnailSize(rawValue: request.query["size"] ?? "card") else {
      let sizes = ThumbnailSize.allCases.map(\.rawValue).joined(separator: ", ")
      throw Problem.badRequest("size: is none of \(sizes)")
    }
    let path = catalog.path(of: preview.file)
    let body = try await request.picture("\(size) \(preview.sha256)", in: thumbnails) {
      guard let file = RegularFile(path), let bytes = try? file.allBytes(countMax: Self.previewBytesMax) else {
        throw Rejection(.unavailable("the preview is not in the catalogue"), retryAfter: 5)
      }
      do { return try Thumbnail.webp(bytes, size) } catch {
        // The whole preview instead would be the megabytes that thumbnails are there to spare.
        throw Rejection(.unavailable("the preview cannot be drawn: \(error)"), retryAfter: 3600)
      }
    }
    return try picture(
      body, "image/webp", isVersioned: request.query["v"] == String(preview.sha256.prefix(10)),
      caching(snapshot, index), request)
  }

  private static let previewBytesMax = 64 << 20

  /// A tile of the zooms that everybody may see. All others are as if they did not exist.
  func previewTile(_ request: StoreRequest) async throws -> Response {
    let (snapshot, index) = try await visible(request)
    let region = snapshot.regions[index]
    guard let tile = PreviewTiles(of: region)?.tile(request.parameters[1...], of: region) else {
      throw Problem.notFound
    }
    let path = catalog.path(of: region.file)
    let body = try await request.picture("tile \(region.sha256) \(tile)", in: thumbnails) {
      do { return try MBTilesReader(path: path).tile(tile) ?? [] } catch {
        throw Rejection(.unavailable("the region's bundle cannot be read"), retryAfter: 5)
      }
    }
    // Transparent tiles are not stored.
    guard body.plain.readableBytes > 0 else {
      return Response(status: .noContent, headers: [.cacheControl: caching(snapshot, index)])
    }
    return try picture(
      body, region.format.mediaType, isVersioned: request.query["v"] == String(region.sha256.prefix(10)),
      caching(snapshot, index), request)
  }

  /// A picture whose address names its version never changes.
  private func picture(
    _ body: ReplyBody, _ type: String, isVersioned: Bool, _ caching: String, _ request: StoreRequest
  ) throws -> Response {
    let caching = isVersioned && caching.hasPrefix("public") ? Self.forEver : caching
    let headers: HTTPFields = [.eTag: "\"\(body.tag)\"", .cacheControl: caching]
    if Reply.matches(request.field(.ifNoneMatch), "\"\(body.tag)\"") { return Reply.notModified(headers) }
    var response = try Reply.body(body, type: type, caching: caching, for: request)
    response.headers[.eTag] = headers[.eTag]
    return response
  }

  // MARK: Assets

  func asset(_ request: StoreRequest) throws -> Response {
    let name = request.parameters[0]
    // An address with a version never changes, if it is the version of what is here.
    func caching(_ body: ReplyBody) -> String {
      request.query["v"] == String(body.tag.prefix(8)) ? Self.forEver : Self.assetCaching
    }
    if let logo = front.logo, logo.name == name {
      var response = try Reply.body(
        logo.body, type: MediaType.ofFile(named: name), caching: caching(logo.body), for: request)
      // An SVG that is opened by itself runs nothing.
      response.headers[.contentSecurityPolicy] = "default-src 'none'; style-src 'unsafe-inline'; sandbox"
      return response
    }
    let body = name == "colours.css" ? front.colours : PageAssets.bodies[name]
    if let body {
      return try Reply.shared(
        body, type: MediaType.ofFile(named: name), etag: body.tag, caching: caching(body), for: request)
    }
    guard let library = libraries.asset(named: "leaflet/\(name)"), let file = RegularFile(library.path) else {
      throw Problem.notFound
    }
    return send(file, type: library.mediaType, [.cacheControl: Self.assetCaching], for: request)
  }

  private static let assetCaching = "public, max-age=300"
  private static let forEver = "public, max-age=31536000, immutable"
}

extension StoreRequest {
  /// The body of a key; pictures are not compressed once more.
  fileprivate func picture(
    _ key: String, in cache: ReplyCache<String>, _ make: @escaping @Sendable () throws -> [UInt8]
  ) async throws -> ReplyBody {
    if let known = cache.known(key) { return known }
    return try await compute { try cache.body(for: key, make) }
  }
}
