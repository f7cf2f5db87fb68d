import Foundation
import TestSupport
import Testing

/// Another program that puts a new edition into a file which is being served.
enum ForeignWriter: String, CaseIterable, CustomTestStringConvertible {
  /// By SQLite: all tiles in one transaction.
  case update
  /// All rows anew, then VACUUM.
  case vacuum
  /// A transaction for each tile, with a rollback journal and with a write-ahead log: a cache that is being filled.
  case steps, logSteps
  /// One transaction in a write-ahead log that is merged and removed.
  case log
  /// Past SQLite: a copy over the file, and block by block, as rsync --inplace does.
  case copy, blocks
  case copyGeoPackage, copyPMTiles, blocksPMTiles, renamePMTiles
  /// Tile by tile in a folder.
  case folder

  var testDescription: String { rawValue }

  var name: String {
    switch self {
    case .copyGeoPackage: "a.gpkg"
    case .copyPMTiles, .blocksPMTiles, .renamePMTiles: "a.pmtiles"
    case .folder: "a"
    default: "a.mbtiles"
    }
  }

  /// True where SQLite keeps readers apart from the writer, so that most of them are answered meanwhile.
  var isPolite: Bool { [.steps, .logSteps].contains(self) }

  func write(_ edition: Edition, to path: String) throws {
    if name == "a.mbtiles" { return try edition.writeMBTiles(path) }
    try edition.write(self == .folder ? path + "/" : path)
  }

  /// Starts the writer.
  ///
  /// - Parameters:
  ///   - new: a file with the new edition, which may be moved away.
  ///   - path: the served file.
  func start(_ new: String, over path: String) throws -> ChildProcess {
    let attach = "ATTACH '\(new)' AS new;"
    let all =
      "UPDATE tiles AS t SET tile_data = (SELECT n.tile_data FROM new.tiles AS n WHERE n.tile_column = "
      + "t.tile_column AND n.tile_row = t.tile_row)"
    func each(_ mode: String) -> String {
      let rows = (0..<256).map { " WHERE tile_column = \($0 / 16) AND tile_row = \($0 % 16);" }
      return "PRAGMA journal_mode = \(mode); PRAGMA synchronous = OFF; PRAGMA wal_autocheckpoint = 40; \(attach)"
        + rows.map { all + $0 }.joined()
    }
    switch self {
    case .update: return try sql(path, "\(attach) BEGIN; \(all); COMMIT;")
    case .vacuum:
      return try sql(
        path, "\(attach) BEGIN; DELETE FROM tiles; INSERT INTO tiles SELECT * FROM new.tiles; COMMIT; VACUUM main;")
    case .steps: return try sql(path, each("DELETE"))
    case .logSteps: return try sql(path, each("WAL"))
    case .log: return try sql(path, "PRAGMA journal_mode = WAL; \(attach) \(all); PRAGMA wal_checkpoint(TRUNCATE);")
    case .copy, .copyGeoPackage, .copyPMTiles: return try shell("cp '\(new)' '\(path)'")
    case .renamePMTiles: return try shell("mv '\(new)' '\(path)'")
    case .blocks, .blocksPMTiles:
      return try shell(
        """
        size=$(stat -c %s '\(new)'); at=0
        while [ $((at * 131072)) -lt $size ]; do
          dd if='\(new)' of='\(path)' bs=131072 skip=$at seek=$at count=1 conv=notrunc status=none; at=$((at + 1))
        done
        truncate -s $size '\(path)'
        """)
    case .folder: return try shell("cp -r '\(new)/.' '\(path)/'")
    }
  }

  private func sql(_ path: String, _ text: String) throws -> ChildProcess {
    try #require(Command(installed: "sqlite3")).start([path, ".timeout 20000", text])
  }

  private func shell(_ text: String) throws -> ChildProcess { try Command(path: "/bin/sh").start(["-ec", text]) }
}
