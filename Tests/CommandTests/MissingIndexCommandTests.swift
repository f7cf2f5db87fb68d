import Foundation
import TestSupport
import Testing

/// Commands with a bundle whose maker left the index of its tiles out.
@Suite(.ownThread) struct MissingIndexCommandTests {
  private let folder: TemporaryFolder

  init() throws {
    folder = try TemporaryFolder()
    try folder.writeBundle("indexed.mbtiles", zooms: 0...4)
    let source = folder.file("indexed.mbtiles")
    try SQLiteFile.execute(
      folder.file("it's plain.mbtiles"),
      """
      ATTACH '\(source)' AS source;
      CREATE TABLE metadata AS SELECT * FROM source.metadata;
      CREATE TABLE tiles AS SELECT zoom_level, tile_column, tile_row, tile_data FROM source.tiles;
      """)
  }

  /// The same result as of the bundle with an index.
  @Test(
    arguments: [
      ("preview", ["-o", "out.png"]), ("preview", ["-o", "out.png", "--contact-sheet"]),
      ("extract", ["--bounds=-10,-10,60,60", "-o", "out.mbtiles"]), ("convert", ["-o", "out.pmtiles"]),
      ("textures", ["-o", "out/"]),
    ])
  func commandsGiveTheSame(command: String, options: [String]) throws {
    func output(_ bundle: String) throws -> [String: Data] {
      let run = try Command(built: "tilecut").run([command, bundle] + options, in: folder.path)
      #expect(run.status == 0, "\(run)")
      let name = try #require(folder.names.first { $0.hasPrefix("out") })
      defer { try? FileManager.default.removeItem(atPath: folder.file(name)) }
      let parts = FileManager.default.subpaths(atPath: folder.file(name)) ?? []
      let files = parts.isEmpty ? [name] : parts.map { "\(name)/\($0)" }
      // Folders have no bytes.
      return Dictionary(uniqueKeysWithValues: files.compactMap { file in (try? folder.bytes(file)).map { (file, $0) } })
    }
    let (plain, indexed) = (try output("it's plain.mbtiles"), try output("indexed.mbtiles"))
    #expect(plain == indexed && !plain.isEmpty)
  }

  @Test(arguments: [["inspect"], ["verify"], ["preview", "-o", "out.png"], ["convert", "-o", "out.mbtiles"]])
  func theCommandThatMakesAnIndexIsNamed(words: [String]) throws {
    func warnings(_ bundle: String) throws -> [Substring] {
      let run = try Command(built: "tilecut").run(
        [words[0], bundle] + words.dropFirst() + ["--progress", "none"], in: folder.path)
      if words[0] != "verify" { #expect(run.status == 0, "\(run)") }
      #expect(!run.stdout.contains("indexed copy"), "\(run)")
      return run.stderr.split(separator: "\n").filter { $0.contains("index") }
    }
    let text =
      "tilecut: warning: it's plain.mbtiles: has no index of its tiles, so that each command reads the whole table; "
      + #"make an indexed copy: tilecut convert 'it'\''s plain.mbtiles' indexed.mbtiles"#
    #expect(try warnings("it's plain.mbtiles") == [Substring(text)])
    if let output = words.last, output.hasPrefix("out") {
      try FileManager.default.removeItem(atPath: folder.file(output))
    }
    #expect(try warnings("indexed.mbtiles") == [])
  }
}
