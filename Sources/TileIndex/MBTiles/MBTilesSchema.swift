import CSQLite
import Support

/// The tables of the bundles that ``BundleWriter`` writes (MBTiles 1.3); see docs/reference/bundle-format.md.
enum MBTilesSchema {
  /// `MPBX`, which file(1) and others recognise as MBTiles.
  static let applicationID = 0x4D50_4258

  /// Blobs have their own table so that equal tiles share one. The map table has only numbers, so looking up a tile
  /// touches few pages.
  static func statements(tilesView: String, hashes: Bool) -> [String] {
    (hashes ? [TileHashes.statement] : []) + [
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

  /// The name of the view in MBTiles.
  static let mercatorView = "tiles"
  /// Its name for other grids than WebMercatorQuad, so that no MBTiles reader shows such tiles in the wrong place.
  static let otherGridView = "grid_tiles"
}

/// The tables of an opened bundle: which one has the tiles, and what is behind it.
struct BundleSchema {
  /// `tiles`, or `grid_tiles` in bundles of other grids; a temporary view once the reader has made an index.
  var tiles: String
  let layout: BundleLayout
  /// The smallest table that has the addresses of all tiles.
  var keys: String
  /// True when the blobs' ids are integers, false when they are text such as an MD5; nil for a flat table.
  let hasIntegerIDs: Bool?
  /// True with a table that has a hash of each image.
  let hasHashes: Bool
  /// The table or view as the file has it.
  let stored: String
  /// True where zooms, columns and rows are declared as text or decimals, which other programs compare as numbers.
  let hasOtherNumbers: Bool

  /// Stands for a table whose numbers are of other types.
  private static let numberedView = "numbered_tiles"

  /// - Throws: ``BundleError`` with `.malformed` when there is no table of tiles.
  init(_ connection: SQLiteConnection, path: String) throws {
    var objects: [String: String] = [:]
    let list = try connection.prepare("SELECT lower(name), type FROM sqlite_master WHERE type IN ('table', 'view')")
    while try list.step() {
      if let name = list.optionalText(0), let type = list.optionalText(1) { objects[name] = type }
    }
    let candidates = [MBTilesSchema.mercatorView, MBTilesSchema.otherGridView]
    guard let tiles = candidates.first(where: { objects[$0] != nil }) else {
      throw BundleError(
        .malformed, path: path, "is an SQLite database, but has no table or view called tiles",
        remedy: "check that it is an MBTiles bundle")
    }
    let columns = try connection.columns(of: tiles)
    for column in ["zoom_level", "tile_column", "tile_row", "tile_data"] where columns[column] == nil {
      throw BundleError(.malformed, path: path, "its \(tiles) has no column \(column), so it is not an MBTiles bundle")
    }
    stored = tiles
    let numbers = ["zoom_level", "tile_column", "tile_row"]
    // A column without a type of numbers keeps integers as they are (SQLite, "Determination Of Column Affinity").
    hasOtherNumbers = numbers.contains { Self.convertsIntegers(columns[$0] ?? "") }
    if hasOtherNumbers {
      try Self.makeNumberedView(of: tiles, connection)
      (self.tiles, keys, hasIntegerIDs) = (Self.numberedView, Self.numberedView, nil)
      layout = objects[tiles] == "view" ? .view : .numbered
      hasHashes = false
      return
    }
    self.tiles = tiles
    guard objects[tiles] == "view" else {
      (layout, keys, hasIntegerIDs, hasHashes) = (.flat, tiles, nil, false)
      return
    }
    let map = objects["map"] == "table" ? try connection.columns(of: "map") : [:]
    let images = objects["images"] == "table" ? try connection.columns(of: "images") : [:]
    let isPair =
      ["zoom_level", "tile_column", "tile_row", "tile_id"].allSatisfy { map[$0] != nil }
      && ["tile_id", "tile_data"].allSatisfy { images[$0] != nil }
    layout = isPair ? .mapAndImages : .view
    keys = isPair ? "map" : tiles
    hasIntegerIDs = images["tile_id"].map { $0.uppercased().contains("INT") }
    hasHashes = try isPair && objects[TileHashes.table] == "table" && TileHashes.isIn(connection)
  }

  /// True for a declared type with the affinity TEXT or REAL.
  private static func convertsIntegers(_ type: String) -> Bool {
    let type = type.uppercased()
    guard !type.contains("INT") else { return false }
    return ["CHAR", "CLOB", "TEXT", "REAL", "FLOA", "DOUB"].contains { type.contains($0) }
  }

  /// Rows whose numbers are not whole are none of a tile.
  private static func makeNumberedView(of tiles: String, _ connection: SQLiteConnection) throws {
    let numbers = ["zoom_level", "tile_column", "tile_row"]
    try connection.execute("PRAGMA query_only = OFF")
    defer { try? connection.execute("PRAGMA query_only = ON") }
    try connection.execute(
      """
      CREATE TEMP VIEW IF NOT EXISTS \(numberedView) AS \
      SELECT \(numbers.map { "CAST(\($0) AS INTEGER) AS \($0)" }.joined(separator: ", ")), tile_data \
      FROM main.\(tiles) WHERE \(numbers.map { "CAST(\($0) AS INTEGER) = \($0)" }.joined(separator: " AND "))
      """)
  }
}
