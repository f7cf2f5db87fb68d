import Foundation
import Support
import TestSupport
import Testing

/// A bundle whose tiles are a view without end: every command ends with an error that names the file, and leaves
/// nothing half-written.
@Suite(.ownThread) struct EndlessViewTests {
  private let folder: TemporaryFolder

  init() throws {
    folder = try TemporaryFolder()
    let connection = try SQLiteConnection(creating: folder.file("view.mbtiles"))
    try connection.execute(
      """
      CREATE TABLE metadata (name TEXT, value TEXT);
      INSERT INTO metadata VALUES ('name', 'view'), ('format', 'png'), ('minzoom', '4'), ('maxzoom', '4');
      CREATE VIEW tiles AS WITH RECURSIVE n(i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM n)
      SELECT 4 AS zoom_level, i % 16 AS tile_column, i / 16 AS tile_row, x'89504e470d0a1a0a' AS tile_data FROM n;
      """)
    try connection.close()
    try folder.writeBundle("good.mbtiles", zooms: 0...2)
  }

  @Test(
    arguments: [
      "inspect view.mbtiles", "verify view.mbtiles", "convert view.mbtiles out.pmtiles",
      "extract view.mbtiles --bounds=-10,-10,10,10 -o out.mbtiles", "merge view.mbtiles good.mbtiles -o out.mbtiles",
      "diff good.mbtiles view.mbtiles -o out.patch", "preview view.mbtiles -o out.png",
    ])
  func commandsEnd(command: String) throws {
    let run = try Command(built: "tilecut").run(
      command.split(separator: " ").map(String.init), in: folder.path, timeout: 300)
    #expect(run.status.map { (65...75).contains($0) } == true, "\(run)")
    #expect(run.stderr.contains("view.mbtiles"), "\(run)")
    #expect(folder.names == ["good.mbtiles", "view.mbtiles"], "\(folder.names)")
  }

  /// A tile of 900 MB in a bundle of some kilobytes is refused before it is made.
  @Test(
    arguments: [
      "inspect huge.mbtiles", "verify huge.mbtiles", "convert huge.mbtiles out.pmtiles",
      "extract huge.mbtiles --bounds=-10,-10,10,10 -o out.mbtiles", "merge huge.mbtiles good.mbtiles -o out.mbtiles",
      "diff good.mbtiles huge.mbtiles -o out.patch", "preview huge.mbtiles -o out.png", "textures huge.mbtiles -o out/",
    ])
  func hugeTilesAreRefused(command: String) throws {
    try folder.writeHugeTile("huge.mbtiles")
    let before = folder.names
    let run = try Command(built: "tilecut").run(
      command.split(separator: " ").map(String.init), in: folder.path, timeout: 300)
    #expect(run.status.map { $0 == 1 || (65...75).contains($0) } == true, "\(run)")
    #expect(run.stderr.contains("huge.mbtiles") || run.stdout.contains("huge.mbtiles"), "\(run)")
    #expect(run.peakBytes > 0 && run.peakBytes < 400_000_000, "\(run)")
    #expect(folder.names == before, "\(folder.names)")
  }
}
