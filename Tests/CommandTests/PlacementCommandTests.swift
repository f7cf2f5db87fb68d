import Foundation
import TestSupport
import Testing

/// Each command says that it reads a bundle otherwise than its container says.
@Suite(.ownThread) struct PlacementCommandTests {
  private static let warning = """
    tilecut: warning: map.mbtiles: numbers its rows from the north, not from the south: its bounds fit only so, and it \
    is read so; convert it, and its rows are as readers expect them
    """

  private let folder: TemporaryFolder

  init() throws {
    folder = try TemporaryFolder()
    try folder.writeBundle("straight.mbtiles", zooms: 0...4)
    try SQLiteFile.execute(
      folder.file("map.mbtiles"),
      """
      ATTACH '\(folder.file("straight.mbtiles"))' AS source;
      CREATE TABLE metadata (name TEXT, value TEXT);
      INSERT INTO metadata VALUES ('name', 'map'), ('format', 'png'), ('bounds', '1,42,22,55');
      CREATE TABLE tiles (zoom_level INTEGER, tile_column INTEGER, tile_row INTEGER, tile_data BLOB);
      INSERT INTO tiles SELECT zoom_level, tile_column, (1 << zoom_level) - 1 - tile_row, tile_data FROM source.tiles
        WHERE zoom_level = 4 AND tile_column = 8 AND tile_row = 10;
      CREATE UNIQUE INDEX tile_index ON tiles (zoom_level, tile_column, tile_row);
      """)
  }

  private func tilecut(_ words: [String]) throws -> CommandRun {
    try Command(built: "tilecut").run(words + ["--progress", "none"], in: folder.path)
  }

  @Test(arguments: [
    ["convert", "map.mbtiles", "-o", "out.pmtiles"], ["textures", "map.mbtiles", "-o", "out/"],
    ["diff", "map.mbtiles", "straight.mbtiles", "-o", "out.patch"],
    ["diff", "straight.mbtiles", "map.mbtiles", "-o", "out.patch"],
  ])
  func theReadingIsSaid(words: [String]) throws {
    let run = try tilecut(words)
    #expect(run.status == 0 && run.stderr.contains(Self.warning), "\(run)")
  }

  @Test func theReadingOfTheBaseOfAPatchIsSaid() throws {
    #expect(try tilecut(["diff", "map.mbtiles", "straight.mbtiles", "-o", "next.patch"]).status == 0)
    let run = try tilecut(["apply", "next.patch", "map.mbtiles", "-o", "out.mbtiles"])
    #expect(run.status == 0 && run.stderr.contains(Self.warning), "\(run)")
  }

  @Test func theReadingOfABundleThatIsAddedToIsSaid() throws {
    let raster = ProjectFiles.path("sample-regions/rocky-mountain-np/rocky-mountain-np-rgb.tif")
    let run = try tilecut(["cut", raster, "--append", "map.mbtiles", "-o", "out.mbtiles", "--json"])
    #expect(run.status == 0 && run.stderr.contains(Self.warning), "\(run)")
    #expect(run.stdout.contains("numbers its rows from the north"), "\(run)")
  }

  /// Their rows have one reading, so that nothing else fits.
  @Test(arguments: ["map.pmtiles", "map.gpkg"]) func tilesFarFromTheBoundsAreSaid(name: String) throws {
    func warnings(_ bounds: String) throws -> [Substring] {
      try SQLiteFile.execute(
        folder.file("map.mbtiles"), "UPDATE metadata SET value = '\(bounds)' WHERE name = 'bounds'")
      #expect(try tilecut(["convert", "map.mbtiles", "-o", name, "--force"]).status == 0)
      let run = try tilecut(["extract", name, "--zoom", "4", "-o", "out.mbtiles", "--force"])
      #expect(run.status == 0, "\(run)")
      return run.stderr.split(separator: "\n").filter { $0.contains("bounds") }
    }
    #expect(try warnings("1,42,22,55") == [])
    #expect(
      try warnings("100,42,120,55") == [
        """
        tilecut: warning: \(name): its tiles lie outside the bounds that it states; see which are wrong: \
        tilecut verify '\(name)'
        """
      ])
  }
}
