import TestSupport
import Testing

@testable import TileIndex

/// The row `tiles_hash`.
@Suite(.ownThread) struct StoredTilesHashTests {
  let folder: TemporaryFolder
  init() throws { folder = try TemporaryFolder() }

  private static let tiles = (0...3).flatMap { zoom in
    TileMatrixSet.webMercatorQuad.wholeRange(zoom: zoom).map { ($0, Images.grey256("\($0.column % 3)")) }
  }

  private func write(_ name: String, _ tiles: [(TileID, [UInt8])] = tiles) throws -> String {
    let sink = try BundleFile.create(folder.file(name), matrixSet: .webMercatorQuad, format: .png, replacing: true)
    for (tile, bytes) in tiles { try sink.put(tile, bytes) }
    _ = try sink.finish(BundleMetadata(name: "n"))
    return folder.file(name)
  }

  private func stated(_ path: String) throws -> String? { try BundleFile.open(path).metadata["tiles_hash"] }

  @Test func equalTilesHaveOneHashInEveryContainerAndOrder() throws {
    var random = SeededGenerator(seed: 38)
    let paths = try ["a.mbtiles", "a.pmtiles", "a.gpkg", "a/"].map { name in
      try write(name, Self.tiles.shuffled(using: &random))
    }
    for path in paths {
      #expect(try stated(path) == TilesHash.of(BundleFile.open(path)).description)
      #expect(try stated(path) == stated(paths[0]))
    }
    for (index, name) in ["b.pmtiles", "b.mbtiles", "b/", "b.gpkg"].enumerated() {
      try BundleConvert().write(BundleFile.open(paths[index]), to: folder.file(name))
      #expect(try stated(folder.file(name)) == stated(paths[0]))
    }
  }

  /// More digests than are held in memory.
  @Test(arguments: [1, 7, 1000]) func digestsMaySpill(heldMax: Int) throws {
    var random = SeededGenerator(seed: 38)
    let sink = HashedSink(
      try BundleWriter(path: folder.file("s.mbtiles"), matrixSet: .webMercatorQuad, format: .png), heldMax: heldMax)
    for (tile, bytes) in Self.tiles.shuffled(using: &random) { try sink.put(tile, bytes) }
    _ = try sink.finish(BundleMetadata(name: "n"))
    let reader = try BundleFile.open(folder.file("s.mbtiles"))
    #expect(reader.metadata["tiles_hash"] == (try TilesHash.of(reader)).description)
  }

  @Test func extractsAndMergesHaveTheirOwn() throws {
    let path = try write("a.mbtiles")
    try BundleExtract(zooms: 0...2).write(BundleFile.open(path), to: folder.file("e.mbtiles"))
    try BundleMerge().write([BundleFile.open(folder.file("e.mbtiles")), BundleFile.open(path)], to: folder.file("m/"))
    let extract = try BundleFile.open(folder.file("e.mbtiles"))
    #expect(extract.metadata["tiles_hash"] == (try TilesHash.of(extract)).description)
    #expect(try stated(folder.file("m/")) == stated(path))
    #expect(try stated(path) != stated(folder.file("e.mbtiles")))
  }

  @Test func damagedTilesAreFound() throws {
    let path = try write("a.mbtiles")
    func findings() throws -> [VerificationFinding] {
      try BundleVerifier(path: path, decode: BundleVerifierTests.decode).verify().outcomes.flatMap(\.findings)
    }
    #expect(try findings().isEmpty)
    // After the image's end, where no decoder looks.
    try Database(path).run(
      "UPDATE images SET tile_data = CAST(substr(tile_data, 1, length(tile_data) - 1) || '9' AS BLOB) WHERE tile_id = 2"
    )
    let found = try findings()
    #expect(found.count == 1 && found[0].severity == .error)
    #expect(found.first?.message.contains("damaged, or another program changed it") == true)
    #expect(found.first?.remedy.contains("remove the metadata row tiles_hash") == true)
    // A copy would hide it.
    #expect(throws: BundleError.self) {
      try BundleConvert().write(BundleFile.open(path), to: folder.file("b.mbtiles"))
    }
    #expect(throws: BundleError.self) { try BundleFile.open(folder.file("b.mbtiles")) }
    let others = try write("c.mbtiles", Self.tiles.map { ($0.0, $0.0.zoom == 3 ? Images.grey256("other") : $0.1) })
    let copies: [(String, () throws -> Void)] = [
      ("e.mbtiles", { try BundleExtract().write(BundleFile.open(path), to: folder.file("e.mbtiles")) }),
      ("m.mbtiles", { try BundleMerge().write([BundleFile.open(path)], to: folder.file("m.mbtiles")) }),
      (
        "l.mbtiles",
        {
          try BundleMerge(conflict: .last)
            .write([BundleFile.open(path), BundleFile.open(others)], to: folder.file("l.mbtiles"))
        }
      ),
      ("p.patch", { _ = try BundlePatch.diff(old: path, new: others, output: folder.file("p.patch")) }),
      ("q.patch", { _ = try BundlePatch.diff(old: others, new: path, output: folder.file("q.patch")) }),
    ]
    for (name, copy) in copies {
      let error = #expect(throws: BundleError.self) { try copy() }
      #expect(error?.path == path && error?.message.contains("not those that were written") == true, "\(name)")
      #expect(!folder.names.contains(name))
    }
    try MetadataEdit(name: "tiles_hash", value: nil).apply(to: path)
    #expect(try findings().isEmpty)
    #expect(throws: BundleError.self) { try MetadataEdit(name: "tiles_hash", value: "0").apply(to: path) }
  }

  @Test func otherMetadataKeepIt() throws {
    let path = try write("a.mbtiles")
    let before = try stated(path)
    try MetadataEdit(name: "description", value: "d").apply(to: path)
    #expect(try stated(path) == before)
  }
}
