/// The file format of a bundle.
public enum BundleContainer: String, Sendable, CaseIterable, Codable {
  /// MBTiles 1.3, a SQLite database.
  case mbtiles
  /// PMTiles, version 3.
  case pmtiles
  /// A GeoPackage (OGC 12-128r18).
  case geopackage
  /// `zoom/column/row.extension`
  case folder
  /// Many bundles, named by one file (``ShardedReader``).
  case tileset

  /// The extension of its files, without a dot; empty for folders.
  package var fileExtension: String {
    switch self {
    case .mbtiles: "mbtiles"
    case .pmtiles: "pmtiles"
    case .geopackage: "gpkg"
    case .folder: ""
    case .tileset: "tileset"
    }
  }
}

/// The layout of the tables of MBTiles.
package enum BundleLayout: String, Sendable, Codable {
  /// One table with the blobs in it.
  case flat
  /// A view over `map` and `images`, where equal tiles share a blob.
  case mapAndImages = "map and images"
  /// Another view.
  case view
  /// One table with the blobs in it, whose columns of numbers are declared as text or decimals.
  case numbered = "flat, its numbers of another type"
}
