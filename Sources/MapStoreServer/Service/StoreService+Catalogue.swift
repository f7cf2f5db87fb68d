import HTTPTypes
import Hummingbird
import MapStoreWire
import NIOCore
import TileIndex

extension StoreService {
  private static let caching = "public, max-age=60"

  func catalogue(_ request: StoreRequest) async throws -> Response {
    let view = shelf.view
    let question = try CatalogueQuestion(request.query)
    let body = try await body(of: question, view, "catalogue", for: request) {
      try WireJSON.encode(question.page(of: view))
    }
    return Reply.shared(
      body, type: "application/json", etag: "\(view.etag)-\(question.hashText)", caching: Self.caching, for: request)
  }

  /// The answer to a question. Searches are done one after the other where they hold up nothing else, and as many wait as are soon done.
  func body(
    of question: CatalogueQuestion, _ view: ShelfView, _ kind: String, for request: StoreRequest,
    _ make: @escaping @Sendable () throws -> [UInt8]
  ) async throws -> ReplyBody {
    let (replies, key) = (view.replies, "\(kind) \(question)")
    if question.text.isEmpty { return try replies.body(for: key, make) }
    if let known = replies.known(key) { return known }
    guard let seat = searchesByAddress.take(request.address), let place = searches.take(.all) else {
      throw Rejection(.unavailable("too many searches are under way"), retryAfter: 1)
    }
    defer { withExtendedLifetime((seat, place)) {} }
    return try await searchQueue.run { try replies.body(for: key, make) }
  }

  func region(_ request: StoreRequest) throws -> Response {
    let (view, index) = try visible(request)
    let body = try view.replies.body(for: "region \(index)") {
      try WireJSON.encode(RegionDetails(region: view.regions[index], isForSale: view.isForSale[index]))
    }
    return Reply.shared(
      body, type: "application/json", etag: "\(view.etag)-r\(index)", caching: caching(view, index), for: request)
  }

  func parcels(_ request: StoreRequest) throws -> Response {
    let (view, index) = try visible(request)
    let region = view.regions[index]
    // Read in any case: what is wrong is wrong for regions that are not split, too.
    let (point, box) = (try Self.point(request.query), try Self.box(request.query))
    guard point == nil || box == nil else { throw Problem.badRequest("bbox: goes without point") }
    var chosen = Array(region.parcels.indices)
    if let parcels = view.parcelIndex(of: index) {
      if let point { chosen = parcels.parcels(longitude: point[0], latitude: point[1]) }
      if let box { chosen = parcels.parcels(in: box) }
    }
    return try Reply.message(
      ParcelList(regionId: region.id, edition: region.edition, parcels: chosen.map { region.parcels[$0] }),
      caching: caching(view, index))
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
    guard try query.value("bbox") != nil else { return nil }
    let box = try query.numbers("bbox", count: 4)
    guard abs(box[0]) <= 360, abs(box[2]) <= 360, -90 <= box[1], box[1] <= box[3], box[3] <= 90 else {
      throw .badRequest("bbox: is not west, south, east, north in degrees")
    }
    return BoundingBox(west: box[0], south: box[1], east: box[2], north: box[3])
  }

  func preview(_ request: StoreRequest) throws -> Response {
    let (view, index) = try visible(request)
    guard let picture = view.regions[index].preview else { throw Problem.notFound }
    var headers: HTTPFields = [.eTag: "\"\(picture.sha256)\"", .cacheControl: caching(view, index)]
    if Reply.matches(request.field(.ifNoneMatch), "\"\(picture.sha256)\"") {
      return Response(status: .notModified, headers: headers)
    }
    guard let file = OpenFile(shelf.path(of: picture.file)), file.byteCount == picture.bytes else {
      throw Rejection(.unavailable("the preview is not on the shelf"), retryAfter: 5)
    }
    headers[.contentType] = MediaType.ofFile(named: picture.file)
    return Response(
      status: .ok, headers: headers, body: ResponseBody(byteBuffer: try file.bytes(at: 0, count: file.byteCount)))
  }

  /// The region of the path, if the one who asks may know of it: what is not for sale is shown to its owners only.
  private func visible(_ request: StoreRequest) throws -> (ShelfView, Int) {
    let view = shelf.view
    guard let index = view.index(of: request.parameters[0]) else { throw Problem.notFound }
    if !view.isForSale[index] {
      guard let account = request.session?.account, try owns(view.regions[index], account) else {
        throw Problem.notFound
      }
    }
    return (view, index)
  }

  private func caching(_ view: ShelfView, _ index: Int) -> String {
    view.isForSale[index] ? Self.caching : "private, no-cache"
  }
}
