import HTTPTypes
import Hummingbird
import MapStoreWire
import NIOCore

extension StoreService {
  func cataloguePage(_ request: StoreRequest) async throws -> Response {
    let view = shelf.view
    let question = try CatalogueQuestion(request.query)
    let hasMap = libraries.leaflet != nil
    let body = try await body(of: question, view, "page", for: request) {
      StorePage.document(try question.page(of: view), question: question, hasMap: hasMap)
    }
    var response = Reply.shared(
      body, type: "text/html; charset=utf-8", etag: "\(view.etag)-p\(question.hashText)",
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
      guard let path = libraries.path(of: name), let file = OpenFile(path) else { throw Problem.notFound }
      bytes = try file.allBytes(countMax: 4 << 20)
    }
    return Response(
      status: .ok, headers: [.contentType: MediaType.ofFile(named: name), .cacheControl: "public, max-age=300"],
      body: ResponseBody(byteBuffer: ByteBuffer(bytes: bytes)))
  }
}
