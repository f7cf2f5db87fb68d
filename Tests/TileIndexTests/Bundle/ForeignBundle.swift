import Foundation
import TileIndex

/// Bundles as other tools make them, for the reader's and the verifier's tests.
enum ForeignBundle {
  /// Six tiles: zooms 0 to 2, two of them equal; the tile 2/1/3 has row 0.
  static let tiles: [(TileID, [UInt8])] = [
    (TileID(unchecked: 0, 0, 0), blob(1)), (TileID(unchecked: 1, 0, 1), blob(2)), (TileID(unchecked: 1, 1, 0), blob(3)),
    (TileID(unchecked: 2, 1, 3), blob(4)), (TileID(unchecked: 2, 2, 0), blob(4)), (TileID(unchecked: 2, 3, 3), blob(5)),
  ]

  static func hex(_ bytes: [UInt8]) -> String {
    "X'" + bytes.map { byte in (byte < 16 ? "0" : "") + String(byte, radix: 16) }.joined() + "'"
  }

  private static var rows: [(String, String)] {
    tiles.map { tile, bytes in ("\(tile.zoom), \(tile.column), \((1 << tile.zoom) - 1 - tile.row)", hex(bytes)) }
  }

  /// What GDAL, MapTiler and others write.
  static func flat(index: Bool = true) -> String {
    "CREATE TABLE tiles (zoom_level INTEGER, tile_column INTEGER, tile_row INTEGER, tile_data BLOB);"
      // Not in order, so that an order has to be made.
      + rows.reversed().map { "INSERT INTO tiles VALUES (\($0.0), \($0.1));" }.joined()
      + (index ? "CREATE UNIQUE INDEX tile_index ON tiles (zoom_level, tile_column, tile_row);" : "") + metadata
  }

  /// What mb-util and node-mbtiles write.
  static var textIDs: String {
    """
    CREATE TABLE map (zoom_level INTEGER, tile_column INTEGER, tile_row INTEGER, tile_id TEXT, grid_id TEXT);
    CREATE TABLE images (tile_data BLOB, tile_id TEXT);
    CREATE UNIQUE INDEX map_index ON map (zoom_level, tile_column, tile_row);
    CREATE UNIQUE INDEX images_id ON images (tile_id);
    CREATE VIEW tiles AS SELECT map.zoom_level AS zoom_level, map.tile_column AS tile_column, map.tile_row AS tile_row,
      images.tile_data AS tile_data FROM map JOIN images ON images.tile_id = map.tile_id;
    """
      + rows.map { row in
        "INSERT OR IGNORE INTO images VALUES (\(row.1), '\(String(row.1.hashValue, radix: 16))');"
          + "INSERT INTO map VALUES (\(row.0), '\(String(row.1.hashValue, radix: 16))', NULL);"
      }.joined() + metadata
  }

  /// What martin calls flat with hash: a view over a table of its own.
  static var otherView: String {
    """
    CREATE TABLE tiles_with_hash (zoom_level INTEGER NOT NULL, tile_column INTEGER NOT NULL, tile_row INTEGER NOT NULL,
      tile_data BLOB, tile_hash TEXT, PRIMARY KEY (zoom_level, tile_column, tile_row));
    CREATE VIEW tiles AS SELECT zoom_level, tile_column, tile_row, tile_data FROM tiles_with_hash;
    """ + rows.map { "INSERT INTO tiles_with_hash VALUES (\($0.0), \($0.1), 'x');" }.joined() + metadata
  }

  static var withoutRowid: String {
    """
    CREATE TABLE tiles (zoom_level INTEGER, tile_column INTEGER, tile_row INTEGER, tile_data BLOB,
      PRIMARY KEY (tile_row, tile_column, zoom_level)) WITHOUT ROWID;
    """ + rows.map { "INSERT INTO tiles VALUES (\($0.0), \($0.1));" }.joined()
  }

  static let metadata = """
    CREATE TABLE metadata (name text, value text);
    INSERT INTO metadata VALUES ('name', 'Foreign'), ('format', 'png'), ('bounds', '-180,-85,180,85');
    """
}
