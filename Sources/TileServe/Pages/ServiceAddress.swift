import Support
import TileIndex

/// The base URL of the service as clients see it, which behind a proxy differs from the address it listens on.
public struct ServiceAddress: Hashable, Sendable {
  /// Scheme, host and port, such as `https://maps.example.org` or `http://127.0.0.1:8080`; no slash at the end.
  public var origin: String
  /// The prefix of every path: empty, or `/maps`; no slash at the end.
  public var basePath: String

  /// An address without slashes at the ends.
  public init(origin: String, basePath: String = "") {
    self.origin = origin
    self.basePath = basePath
  }

  /// The absolute URL of a path that begins with a slash and is already percent-encoded.
  public func url(_ path: String) -> String { origin + basePath + path }

  /// The path without scheme and host, for pages.
  public func path(_ path: String) -> String { basePath + path }
}

/// The paths of the service below its base path, percent-encoded.
package enum ServicePaths {
  package static let index = "/"
  package static let tilesets = "/tilesets.json"
  /// The WMTS endpoint for requests with a query (KVP).
  package static let wmts = "/wmts"
  package static let wmtsCapabilities = "/wmts/1.0.0/WMTSCapabilities.xml"
  package static let tms = "/tms/1.0.0"

  package static func tileJSON(_ id: String) -> String { "/\(PercentEncoding.segment(id)).json" }
  /// The search for places of a tileset, without its query.
  package static func places(_ id: String) -> String { "/\(PercentEncoding.segment(id))/places" }
  /// The viewer page of a tileset.
  package static func viewer(_ id: String) -> String { "/\(PercentEncoding.segment(id))/" }
  /// The WMTS capabilities of one tileset.
  package static func wmtsCapabilities(_ id: String) -> String {
    "/wmts/1.0.0/\(PercentEncoding.segment(id))/WMTSCapabilities.xml"
  }
  package static func tms(_ id: String) -> String { "\(tms)/\(PercentEncoding.segment(id))" }
  /// An asset of the pages: `style.css`, `leaflet/leaflet.js`.
  package static func asset(_ name: String) -> String { "/_assets/\(name)" }
}

extension TilesetInfo {
  /// The XYZ path of a tile.
  func tilePath(_ zoom: Int, _ column: Int, _ row: Int) -> String {
    "/\(PercentEncoding.segment(id))/\(zoom)/\(column)/\(row).\(format.fileExtension)"
  }

  /// The XYZ path with `{z}`, `{x}` and `{y}`.
  var tileTemplate: String { "/\(PercentEncoding.segment(id))/{z}/{x}/{y}.\(format.fileExtension)" }
}
