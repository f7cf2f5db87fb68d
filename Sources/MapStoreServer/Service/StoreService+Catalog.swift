import HTTPTypes
import Hummingbird
import MapStoreWire
import NIOCore
import RegionCatalog
import ServerSupport
import TileIndex

/// The handlers of the catalogue's messages for apps.
extension StoreService {
  static let caching = "public, max-age=60"

  func catalogue(_ request: StoreRequest) async throws -> Response {
    let snapshot = catalog.snapshot
    let query = try CatalogSearch(request.query)
    let etag = "\(snapshot.etag)-\(query.hashText)"
    if let answer = Reply.knownShared(etag: etag, caching: Self.caching, for: request) { return answer }
    let body = try await request.body("catalogue \(query)", in: snapshot.replies) {
      try query.document(of: snapshot)
    }
    return try Reply.shared(body, type: "application/json", etag: etag, caching: Self.caching, for: request)
  }

  /// A region answers under a former id too, with that as its id: a device that knows no other goes on with it.
  func region(_ request: StoreRequest) async throws -> Response {
    let (snapshot, index) = try await visible(request)
    let id = request.parameters[0]
    let suffix = id == snapshot.regions[index].id ? "" : "-\(id)"
    let (etag, caching) = ("\(snapshot.etag)-r\(index)\(suffix)", caching(snapshot, index))
    if let answer = Reply.knownShared(etag: etag, caching: caching, for: request) { return answer }
    let body = try await request.body("region \(index)\(suffix)", in: snapshot.replies) {
      var region = snapshot.regions[index]
      region.id = id
      return try WireJSON.encode(RegionDetails(region: region, isForSale: snapshot.isForSale[index]))
    }
    return try Reply.shared(body, type: "application/json", etag: etag, caching: caching, for: request)
  }

  func packs(_ request: StoreRequest) async throws -> Response {
    let (snapshot, index) = try await visible(request)
    let (region, id) = (snapshot.regions[index], request.parameters[0])
    // Parsed for regions without tile packs too, so that errors do not depend on the region.
    let (point, box) = (try Self.point(request.query), try Self.box(request.query))
    guard point == nil || box == nil else { throw Problem.badRequest("bounds: goes without point") }
    @Sendable func document() throws -> [UInt8] {
      var chosen = Array(region.packs.indices)
      if let packs = snapshot.packIndex(of: index) {
        if let point { chosen = packs.packs(longitude: point[0], latitude: point[1]) }
        if let box { chosen = packs.packs(in: box) }
      }
      return try WireJSON.encode(
        TilePackList(regionId: id, edition: region.edition, packs: chosen.map { region.packs[$0] }))
    }
    // Points and boxes seldom come again, and would put other answers out of the cache.
    let body =
      point == nil && box == nil
      ? try await request.body("packs \(index) \(id)", in: snapshot.replies, document)
      : try await request.compute { ReplyBody(try document()) }
    return try Reply.body(body, caching: caching(snapshot, index), for: request)
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
    guard abs(box[0]) <= 540, abs(box[2]) <= 540, -90 <= box[1], box[1] <= box[3], box[3] <= 90 else {
      throw .badRequest("bounds: is not west, south, east, north in degrees")
    }
    return BoundingBox(west: box[0], south: box[1], east: box[2], north: box[3])
  }

  func preview(_ request: StoreRequest) async throws -> Response {
    let (snapshot, index) = try await visible(request)
    guard let picture = snapshot.regions[index].preview else { throw Problem.notFound }
    let headers: HTTPFields = [.eTag: "\"\(picture.sha256)\"", .cacheControl: caching(snapshot, index)]
    if Reply.matches(request.field(.ifNoneMatch), "\"\(picture.sha256)\"") {
      return Reply.notModified(headers)
    }
    guard let file = RegularFile(catalog.path(of: picture.file)), file.byteCount == picture.bytes else {
      throw Rejection(.unavailable("the preview is not in the catalogue"), retryAfter: 5)
    }
    return send(file, type: MediaType.ofFile(named: picture.file), headers, for: request)
  }

  /// Sends a whole file from the disk: clients that do not read hold no memory.
  func send(_ file: RegularFile, type: String, _ headers: HTTPFields, for request: StoreRequest) -> Response {
    var headers = headers
    headers[.contentType] = type
    let body = DownloadBody.make(file, 0..<file.byteCount, channel: request.channel, metrics: metrics)
    return Response(status: .ok, headers: headers, body: body)
  }

  /// The region of the path. One that is not for sale is visible to its owners only.
  func visible(_ request: StoreRequest) async throws -> (CatalogSnapshot, Int) {
    let snapshot = catalog.snapshot
    guard let index = snapshot.index(of: request.parameters[0]) else { throw Problem.notFound }
    if !snapshot.isForSale[index] {
      guard let account = request.session?.account,
        try await request.read({ try self.owns(index, of: snapshot, account) })
      else { throw Problem.notFound }
    }
    return (snapshot, index)
  }

  func caching(_ snapshot: CatalogSnapshot, _ index: Int) -> String {
    snapshot.isForSale[index] ? Self.caching : "private, no-cache"
  }
}
