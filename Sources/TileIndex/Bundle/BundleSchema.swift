import CSQLite

/// What the tables of an opened bundle look like: which one has the tiles, and what is behind it.
struct BundleSchema {
  /// `tiles`, or `grid_tiles` in bundles of other grids.
  let tiles: String
  let layout: BundleLayout
  /// The smallest table that has the three numbers of every tile.
  let keys: String
  /// True when the blobs' ids are integers, false when they are text such as an MD5; nil for a flat table.
  let hasIntegerIDs: Bool?

  /// - Throws: ``BundleError`` with `.malformed` when there is no table of tiles.
  init(_ connection: SQLiteConnection, path: String) throws {
    var objects: [String: String] = [:]
    let list = try connection.prepare("SELECT lower(name), type FROM sqlite_master WHERE type IN ('table', 'view')")
    while try list.step() {
      if let name = list.text(0), let type = list.text(1) { objects[name] = type }
    }
    let candidates = [MBTilesSchema.mercatorView, MBTilesSchema.otherGridView]
    guard let tiles = candidates.first(where: { objects[$0] != nil }) else {
      throw BundleError(
        .malformed, path: path, "is an SQLite database, but has no table or view called tiles",
        remedy: "check that it is an MBTiles bundle")
    }
    let columns = try Self.columns(of: tiles, connection)
    for column in ["zoom_level", "tile_column", "tile_row", "tile_data"] where columns[column] == nil {
      throw BundleError(.malformed, path: path, "its \(tiles) has no column \(column), so it is not an MBTiles bundle")
    }
    self.tiles = tiles
    guard objects[tiles] == "view" else {
      (layout, keys, hasIntegerIDs) = (.flat, tiles, nil)
      return
    }
    let map = objects["map"] == "table" ? try Self.columns(of: "map", connection) : [:]
    let images = objects["images"] == "table" ? try Self.columns(of: "images", connection) : [:]
    let isPair =
      ["zoom_level", "tile_column", "tile_row", "tile_id"].allSatisfy { map[$0] != nil }
      && ["tile_id", "tile_data"].allSatisfy { images[$0] != nil }
    layout = isPair ? .mapAndImages : .view
    keys = isPair ? "map" : tiles
    hasIntegerIDs = images["tile_id"].map { $0.uppercased().contains("INT") }
  }

  /// Column names in lower case with their declared types.
  static func columns(of table: String, _ connection: SQLiteConnection) throws -> [String: String] {
    let statement = try connection.prepare("PRAGMA table_info(\(table))")
    var columns: [String: String] = [:]
    while try statement.step() {
      if let name = statement.text(1) { columns[name.lowercased()] = statement.text(2) ?? "" }
    }
    return columns
  }
}
