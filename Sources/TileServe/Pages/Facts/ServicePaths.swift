import Support
import TileIndex

/// The paths of the service below its base path, percent-encoded. Every document takes them from here.
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
  /// What WMTS offers of one tileset alone.
  package static func wmtsCapabilities(_ id: String) -> String {
    "/wmts/1.0.0/\(PercentEncoding.segment(id))/WMTSCapabilities.xml"
  }
  package static func tms(_ id: String) -> String { "\(tms)/\(PercentEncoding.segment(id))" }
  /// A file of the pages: `style.css`, `leaflet/leaflet.js`.
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
