/// The tables of the bundles that we write (MBTiles 1.3). docs/bundle-format.md explains them.
enum MBTilesSchema {
  /// `MPBX`, by which file(1) and others know an MBTiles file.
  static let applicationID = 0x4D50_4258

  /// Blobs lie in their own table so that equal tiles share one; the map table holds only numbers, so looking up a tile touches few pages.
  static func statements(tilesView: String) -> [String] {
    [
      "CREATE TABLE metadata (name text, value text)",
      "CREATE UNIQUE INDEX metadata_name ON metadata (name)",
      "CREATE TABLE map (zoom_level INTEGER, tile_column INTEGER, tile_row INTEGER, tile_id INTEGER)",
      "CREATE UNIQUE INDEX map_tile ON map (zoom_level, tile_column, tile_row)",
      "CREATE TABLE images (tile_id INTEGER PRIMARY KEY, tile_data BLOB)",
      """
      CREATE VIEW \(tilesView) AS \
      SELECT map.zoom_level AS zoom_level, map.tile_column AS tile_column, map.tile_row AS tile_row, \
      images.tile_data AS tile_data FROM map JOIN images ON images.tile_id = map.tile_id
      """,
    ]
  }

  /// The name of the view that readers look for.
  static let mercatorView = "tiles"
  /// The name where the grid is not Web Mercator, so that no reader shows such tiles in the wrong place.
  static let otherGridView = "grid_tiles"

  /// Metadata key with the OGC URI of the tile matrix set, where it is not Web Mercator.
  static let matrixSetKey = "tile_matrix_set"
  /// Metadata key with the CRS as authority and code, where it is not Web Mercator.
  static let crsKey = "crs"
  /// Metadata key with the definition, as JSON, of a tile matrix set that is not a well-known one.
  static let gridKey = "tile_matrix_set_definition"

  /// The keys of the MBTiles specification and ours, which extra metadata may not take.
  static let ownKeys: Set<String> = [
    "name", "format", "bounds", "center", "minzoom", "maxzoom", "attribution", "description", "type", "version", "json",
    matrixSetKey, crsKey, gridKey,
  ]
}
