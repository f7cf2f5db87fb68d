import HTTPTypes
import Hummingbird
import MapStoreWire
import NIOCore
import RegionCatalog
import TileIndex

/// The handlers of the catalogue: messages for apps, and the web page.
extension StoreService {
  private static let caching = "public, max-age=60"

  func catalogue(_ request: StoreRequest) async throws -> Response {
    let snapshot = catalog.snapshot
    let query = try CatalogQuery(request.query)
    let body = try await body(of: query, snapshot, "catalogue", for: request) {
      try WireJSON.encode(query.page(of: snapshot))
    }
    return Reply.shared(
      body, type: "application/json", etag: "\(snapshot.etag)-\(query.hashText)", caching: Self.caching, for: request)
  }

  /// The body of a query's answer. Searches run one after the other on a queue of their own; few may wait.
  func body(
    of query: CatalogQuery, _ snapshot: CatalogSnapshot, _ kind: String, for request: StoreRequest,
    _ make: @escaping @Sendable () throws -> [UInt8]
  ) async throws -> ReplyBody {
    let (replies, key) = (snapshot.replies, "\(kind) \(query)")
    if query.text.isEmpty { return try replies.body(for: key, make) }
    if let known = replies.known(key) { return known }
    guard let slot = searchesByAddress.take(request.address), let place = searches.take(.all) else {
      throw Rejection(.unavailable("too many searches are under way"), retryAfter: 1)
    }
    defer { withExtendedLifetime((slot, place)) {} }
    return try await searchQueue.run { try replies.body(for: key, make) }
  }

  /// A region answers under a former id too, with that as its id: a device that knows no other goes on with it.
  func region(_ request: StoreRequest) throws -> Response {
    let (snapshot, index) = try visible(request)
    var region = snapshot.regions[index]
    let suffix = request.parameters[0] == region.id ? "" : "-\(request.parameters[0])"
    region.id = request.parameters[0]
    let body = try snapshot.replies.body(for: "region \(index)\(suffix)") { [region] in
      try WireJSON.encode(RegionDetails(region: region, isForSale: snapshot.isForSale[index]))
    }
    return Reply.shared(
      body, type: "application/json", etag: "\(snapshot.etag)-r\(index)\(suffix)", caching: caching(snapshot, index),
      for: request)
  }

  func packs(_ request: StoreRequest) throws -> Response {
    let (snapshot, index) = try visible(request)
    let region = snapshot.regions[index]
    // Parsed for regions without tile packs too, so that errors do not depend on the region.
    let (point, box) = (try Self.point(request.query), try Self.box(request.query))
    guard point == nil || box == nil else { throw Problem.badRequest("bounds: goes without point") }
    var chosen = Array(region.packs.indices)
    if let packs = snapshot.packIndex(of: index) {
      if let point { chosen = packs.packs(longitude: point[0], latitude: point[1]) }
      if let box { chosen = packs.packs(in: box) }
    }
    return try Reply.message(
      TilePackList(
        regionId: request.parameters[0], edition: region.edition, packs: chosen.map { region.packs[$0] }),
      caching: caching(snapshot, index))
  }

  private static func point(_ query: Query) throws(Problem) -> [Double]? {
    guard try query.value("point") != nil else { return nil }
    let place = try query.numbers("point", count: 2)
    guard abs(place[0]) <= 180, abs(place[1]) <= 90 else {
      throw .badRequest("point: is no longitude and latitude in degrees")
    }
    return place
  }

  private static func box(_ query: Query) throws(Problem) -> BoundingBox? {
    guard try query.value("bounds") != nil else { return nil }
    let box = try query.numbers("bounds", count: 4)
    guard abs(box[0]) <= 360, abs(box[2]) <= 360, -90 <= box[1], box[1] <= box[3], box[3] <= 90 else {
      throw .badRequest("bounds: is not west, south, east, north in degrees")
    }
    return BoundingBox(west: box[0], south: box[1], east: box[2], north: box[3])
  }

  func preview(_ request: StoreRequest) throws -> Response {
    let (snapshot, index) = try visible(request)
    guard let picture = snapshot.regions[index].preview else { throw Problem.notFound }
    let headers: HTTPFields = [.eTag: "\"\(picture.sha256)\"", .cacheControl: caching(snapshot, index)]
    if Reply.matches(request.field(.ifNoneMatch), "\"\(picture.sha256)\"") {
      return Reply.notModified(headers)
    }
    guard let file = RegularFile(catalog.path(of: picture.file)), file.byteCount == picture.bytes else {
      throw Rejection(.unavailable("the preview is not in the catalogue"), retryAfter: 5)
    }
    return Reply.bytes(
      try file.bytes(at: 0, count: file.byteCount), type: MediaType.ofFile(named: picture.file), headers: headers)
  }

  /// The region of the path. One that is not for sale is visible to its owners only.
  private func visible(_ request: StoreRequest) throws -> (CatalogSnapshot, Int) {
    let snapshot = catalog.snapshot
    guard let index = snapshot.index(of: request.parameters[0]) else { throw Problem.notFound }
    if !snapshot.isForSale[index] {
      guard let account = request.session?.account, try owns(snapshot.regions[index], account) else {
        throw Problem.notFound
      }
    }
    return (snapshot, index)
  }

  private func caching(_ snapshot: CatalogSnapshot, _ index: Int) -> String {
    snapshot.isForSale[index] ? Self.caching : "private, no-cache"
  }

  // MARK: The web page

  func cataloguePage(_ request: StoreRequest) async throws -> Response {
    let snapshot = catalog.snapshot
    let query = try CatalogQuery(request.query)
    let hasMap = libraries.leaflet != nil
    let body = try await body(of: query, snapshot, "page", for: request) {
      StorePage.document(try query.page(of: snapshot), query: query, hasMap: hasMap)
    }
    var response = Reply.shared(
      body, type: "text/html; charset=utf-8", etag: "\(snapshot.etag)-p\(query.hashText)",
      caching: "no-cache", for: request)
    response.headers[.contentSecurityPolicy] = StorePage.contentSecurityPolicy
    return response
  }

  func asset(_ request: StoreRequest) throws -> Response {
    let name = request.parameters[0]
    let bytes: [UInt8]
    switch name {
    case "store.css": bytes = PackageResources.store_css
    case "store.js": bytes = PackageResources.store_js
    default:
      guard let path = libraries.path(of: name), let file = RegularFile(path) else { throw Problem.notFound }
      bytes = try file.allBytes(countMax: 4 << 20)
    }
    return Reply.bytes(
      ByteBuffer(bytes: bytes), type: MediaType.ofFile(named: name), headers: [.cacheControl: "public, max-age=300"])
  }
}
