import Foundation
import OfflineMap
import Synchronization

#if canImport(FoundationNetworking)
  import FoundationNetworking
#endif

/// Answers `bundle://NAME/ZOOM/COLUMN/ROW` from bundles of the app, for MapLibre Native and others that ask by URL. The
/// app registers it with the map library's session: `configuration.protocolClasses = [BundleURLProtocol.self]`.
final class BundleURLProtocol: URLProtocol {
  /// By the name in the URL.
  static let bundles = Mutex<[String: MapBundle]>([:])
  private let reading = Mutex<Task<Void, Never>?>(nil)
  override class func canInit(with request: URLRequest) -> Bool { request.url?.scheme == "bundle" }
  override class func canonicalRequest(for request: URLRequest) -> URLRequest { request }
  override func stopLoading() { reading.withLock { $0?.cancel() } }

  override func startLoading() {
    // Only the task uses it until it stops.
    nonisolated(unsafe) let loader = self
    reading.withLock { $0 = Task { await loader.load() } }
  }

  private func load() async {
    do {
      guard let url = request.url, let bundle = Self.bundles.withLock({ $0[url.host ?? ""] }),
        case let numbers = url.pathComponents.compactMap({ Int($0) }), numbers.count == 3,
        let bytes = try await bundle.tile(TileID(zoom: numbers[0], column: numbers[1], row: numbers[2]))
      else { throw URLError(.fileDoesNotExist) }
      let type = bundle.metadata.format?.mediaType
      let response = URLResponse(url: url, mimeType: type, expectedContentLength: bytes.count, textEncodingName: nil)
      client?.urlProtocol(self, didReceive: response, cacheStoragePolicy: .allowedInMemoryOnly)
      client?.urlProtocol(self, didLoad: Data(bytes))
      client?.urlProtocolDidFinishLoading(self)
    } catch {
      client?.urlProtocol(self, didFailWithError: error)
    }
  }
}
