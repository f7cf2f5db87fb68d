import TestSupport
import Testing

@testable import TileIndex
@testable import TileServe

/// Tiles that are compared with their hashes before they are sent.
@Suite(.ownThread) struct CheckedTileTests {
  let folder: TemporaryFolder
  init() throws { folder = try TemporaryFolder() }

  private static let grid = TileMatrixSet.webMercatorQuad

  private static func image(_ tile: TileID) throws -> [UInt8] {
    try SampleTiles.image(tile.zoom * 100 + tile.column * 10 + tile.row)
  }

  private func write(_ name: String, hashes: Bool) throws {
    let path = folder.file(name)
    let sink = try BundleFile.create(path, matrixSet: Self.grid, format: .png, hashes: hashes)
    for zoom in 0...2 {
      for tile in Self.grid.wholeRange(zoom: zoom) { try sink.put(tile, Self.image(tile)) }
    }
    _ = try sink.finish(BundleMetadata(name: "n"))
  }

  /// After the image's end, where no decoder looks.
  private func damage(_ name: String) throws {
    try Database(folder.file(name)).execute(
      """
      UPDATE images SET tile_data = CAST(tile_data || '~' AS BLOB) WHERE tile_id = \
      (SELECT tile_id FROM map WHERE zoom_level = 2 AND tile_column = 1 AND tile_row = 1) OR tile_id = \
      (SELECT tile_id FROM map WHERE zoom_level = 0)
      """)
  }

  @Test(arguments: [true, false]) func damagedTilesAreNotSent(fastPath: Bool) async throws {
    try write("a.mbtiles", hashes: true)
    try damage("a.mbtiles")
    let registry = try TilesetRegistry([folder.path], checkingTiles: true)
    func body(_ served: Served) async throws {
      let connection = try served.connect()
      for _ in 1...3 {
        let answer = try connection.request("/a/2/1/2.png")
        #expect(answer.status == 500 && answer.text.contains("tile 2/1/2"), "\(answer.text)")
        // The first one, from which a server takes what tiles are like.
        #expect(try connection.request("/a/0/0/0.png").status == 500)
        #expect(try connection.request("/a/2/1/1.png").body == Self.image(TileID(unchecked: 2, 1, 1)))
      }
      // Neither enlarged, nor under another.
      #expect(try connection.request("/a/2/1/2@2x.png").status != 200)
      #expect(try served.metric("tileserve_damaged_tiles_total") ?? 0 >= 3)
      #expect(try !served.get("/tilesets.json").text.contains("unchecked"))
    }
    try await serving(registry, { $0.fastPath = fastPath }, body)
  }

  @Test func withoutTheOptionTheyAre() async throws {
    try write("a.mbtiles", hashes: true)
    try damage("a.mbtiles")
    try await serving([folder.path]) { (served) async throws in
      #expect(try served.get("/a/2/1/2.png").status == 200)
      #expect(try served.metric("tileserve_damaged_tiles_total") == 0)
    }
  }

  @Test(arguments: ["a.mbtiles", "a.pmtiles"]) func whatCannotBeCheckedIsSaid(_ name: String) async throws {
    try write(name, hashes: false)
    let registry = try TilesetRegistry([folder.path], checkingTiles: true)
    try await serving(registry) { (served) async throws in
      #expect(try served.get("/a/2/1/2.png").status == 200)
      let list = try served.get("/tilesets.json").text
      #expect(list.contains("has no hash of each tile") && list.contains("with hashes of its tiles"), "\(list)")
    }
  }
}
