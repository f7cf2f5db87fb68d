import CSQLite
import Foundation
import TileIndex

/// Bundles as other tools write them.
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

  /// The schema of GDAL, MapTiler and others.
  static func flat(index: Bool = true) -> String {
    "CREATE TABLE tiles (zoom_level INTEGER, tile_column INTEGER, tile_row INTEGER, tile_data BLOB);"
      // Inserted in reverse, so that readers have to sort.
      + rows.reversed().map { "INSERT INTO tiles VALUES (\($0.0), \($0.1));" }.joined()
      + (index ? "CREATE UNIQUE INDEX tile_index ON tiles (zoom_level, tile_column, tile_row);" : "") + metadata
  }

  /// The schema of mb-util and node-mbtiles.
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

  /// The schema that martin calls flat-with-hash: a view over a table.
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

/// A PNG signature followed by bytes that depend on the seed.
func blob(_ seed: UInt8, count: Int = 100) -> [UInt8] {
  [0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a] + (0..<count).map { UInt8(truncatingIfNeeded: $0 &* 7) &+ seed }
}

/// Inspects and modifies bundles with SQLite directly, independent of the code under test.
final class Database {
  let handle: OpaquePointer

  struct Failure: Error { let message: String }

  init(_ path: String) throws {
    var opened: OpaquePointer?
    guard sqlite3_open(path, &opened) == SQLITE_OK, let opened else { throw Failure(message: "cannot open \(path)") }
    handle = opened
  }

  deinit { sqlite3_close(handle) }

  /// Runs statements; returns the rows as text, with `NULL` for NULL.
  @discardableResult
  func run(_ sql: String) throws -> [[String]] {
    var rows: [[String]] = []
    try withUnsafeMutablePointer(to: &rows) { rows in
      let code = sqlite3_exec(
        handle, sql,
        { rows, count, values, _ in
          let row = (0..<Int(count)).map { values?[$0].map { String(cString: $0) } ?? "NULL" }
          rows!.assumingMemoryBound(to: [[String]].self).pointee.append(row)
          return 0
        }, rows, nil)
      guard code == SQLITE_OK else { throw Failure(message: "\(String(cString: sqlite3_errmsg(handle))): \(sql)") }
    }
    return rows
  }
}

/// Small images assembled by hand, since this module has no codec.
enum Images {
  /// 256 x 256 pixels, grey, one bit: all black.
  static let grey256 = [UInt8](
    Data(
      base64Encoded:
        """
        iVBORw0KGgoAAAANSUhEUgAAAQAAAAEAAQAAAAB0CZXLAAAAH0lEQVR42u3BAQ0AAADCoPdPbQ43oAAAAAAAAAAAvg0hAAABYOSdlwAA\
        AABJRU5ErkJggg==
        """)!)

  /// The black image with a comment after its end, so that images differ.
  static func grey256(_ comment: String) -> [UInt8] { grey256 + Array(comment.utf8) }

  /// The start of a PNG, up to its size.
  static func png(width: Int, height: Int) -> [UInt8] {
    [0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a, 0, 0, 0, 13] + Array("IHDR".utf8) + big(width, 4) + big(height, 4)
      + [8, 6, 0, 0, 0] + Array("....IEND".utf8)
  }

  /// The start of a JPEG, up to its size: an application segment, a table and fill bytes before the frame header.
  static func jpeg(width: Int, height: Int, marker: UInt8 = 0xc0) -> [UInt8] {
    [0xff, 0xd8, 0xff, 0xe0, 0, 4, 1, 2, 0xff, 0xc4, 0, 3, 7, 0xff, 0xff, marker, 0, 11, 8] + big(height, 2)
      + big(width, 2) + [1, 1, 0x11, 0]
  }

  /// The start of a WebP, up to its size: `VP8 ` (lossy), `VP8L` (lossless) or `VP8X` (extended).
  static func webp(_ kind: String, width: Int, height: Int) -> [UInt8] {
    let head = Array("RIFF".utf8) + [22, 0, 0, 0] + Array("WEBP\(kind)".utf8) + [10, 0, 0, 0]
    switch kind {
    case "VP8 ": return head + [0x10, 0, 0, 0x9d, 0x01, 0x2a] + little(width, 2) + little(height, 2)
    case "VP8L": return head + [0x2f] + little((width - 1) | (height - 1) << 14, 4) + [0, 0, 0, 0, 0]
    default: return head + [0x10, 0, 0, 0] + little(width - 1, 3) + little(height - 1, 3)
    }
  }

  private static func big(_ value: Int, _ count: Int) -> [UInt8] {
    (0..<count).reversed().map { UInt8(truncatingIfNeeded: value >> (8 * $0)) }
  }

  private static func little(_ value: Int, _ count: Int) -> [UInt8] {
    (0..<count).map { UInt8(truncatingIfNeeded: value >> (8 * $0)) }
  }
}
