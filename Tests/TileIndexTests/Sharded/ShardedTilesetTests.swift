import Foundation
import TestSupport
import Testing

@testable import TileIndex

/// Tilesets of shards: what ``ShardedWriter`` writes, ``ShardedReader`` reads as one bundle.
@Suite(.ownThread) struct ShardedTilesetTests {
  let folder: TemporaryFolder
  init() throws { folder = try TemporaryFolder() }

  private static let metadata = BundleMetadata(name: "Shards")

  /// Tiles of zooms 1 to 5, without those of two shards of zoom 3 and some others.
  private static let tiles = (1...5).flatMap { zoom in
    TileMatrixSet.webMercatorQuad.wholeRange(zoom: zoom).filter { tile in
      let root = TileMatrixSet.webMercatorQuad.ancestor(of: tile, zoom: 3)
      let isAbsent = zoom >= 3 && root.column == root.row && root.column < 2
      return !isAbsent && (zoom < 5 || (tile.column + tile.row) % 3 != 0)
    }
  }

  private static func bytes(_ tile: TileID) -> [UInt8] {
    blob(UInt8(truncatingIfNeeded: tile.column * 37 + tile.row), count: 100 + tile.zoom)
  }

  /// A tileset of shards with roots of zoom 3, more than a reader keeps open.
  private func write(_ path: String) throws {
    try FileManager.default.createDirectory(atPath: folder.file("parts"), withIntermediateDirectories: true)
    let sink = try ShardedWriter(
      path: path, top: folder.file("parts/top.pmtiles"), shardZoom: 3, matrixSet: .webMercatorQuad, format: .png)
    let below = Dictionary(grouping: Self.tiles.filter { $0.zoom >= 3 }) {
      TileMatrixSet.webMercatorQuad.ancestor(of: $0, zoom: 3)
    }
    #expect(below.count == 62)
    for (root, tiles) in below {
      let name = folder.file("parts/\(root.column)-\(root.row).\(root.row % 2 == 0 ? "pmtiles" : "mbtiles")")
      let part = try BundleFile.create(name, matrixSet: .webMercatorQuad, format: .png)
      for tile in tiles { try part.put(tile, Self.bytes(tile)) }
      _ = try part.finish(Self.metadata)
      try sink.add(BundleFile.open(name), root: root, tiles: tiles.count)
    }
    for tile in Self.tiles where tile.zoom < 3 { try sink.put(tile, Self.bytes(tile)) }
    let summary = try sink.finish(Self.metadata)
    #expect(summary.tiles == Self.tiles.count && summary.minZoom == 1 && summary.maxZoom == 5)
  }

  /// Shards have hashes of their own; a copy would hide their damage with a new one.
  @Test func damagedShardsAreNotCopied() throws {
    let path = folder.file("a.tileset")
    try write(path)
    try BundleConvert().write(BundleFile.open(path), to: folder.file("whole.mbtiles"))
    let shard = folder.file("parts/2-1.mbtiles")
    try Database(shard).run("UPDATE images SET tile_data = CAST(tile_data || '9' AS BLOB) WHERE tile_id = 1")
    let whole = folder.file("whole.mbtiles")
    let copies: [(String, () throws -> Void)] = [
      ("c.mbtiles", { try BundleConvert().write(BundleFile.open(path), to: folder.file("c.mbtiles")) }),
      ("e.pmtiles", { try BundleExtract().write(BundleFile.open(path), to: folder.file("e.pmtiles")) }),
      ("m.mbtiles", { try BundleMerge().write([BundleFile.open(path)], to: folder.file("m.mbtiles")) }),
      ("p.patch", { _ = try BundlePatch.diff(old: whole, new: path, output: folder.file("p.patch")) }),
    ]
    for (name, copy) in copies {
      let error = #expect(throws: BundleError.self) { try copy() }
      #expect(error?.message.contains("not those that were written") == true, "\(name): \(error as Any)")
      #expect(error?.path == shard && !folder.names.contains(name), "\(name)")
    }
  }

  private func contents(_ bundle: any BundleReader) throws -> [(TileID, [UInt8])] {
    var contents: [(TileID, [UInt8])] = []
    try bundle.forEachTile { contents.append(($0, Array($1))) }
    return contents
  }

  @Test func shardsAreReadAsOneBundle() throws {
    try write(folder.file("a.tileset"))
    let whole = try BundleFile.create(folder.file("whole.mbtiles"), matrixSet: .webMercatorQuad, format: .png)
    for tile in Self.tiles { try whole.put(tile, Self.bytes(tile)) }
    _ = try whole.finish(Self.metadata)
    #expect(BundleFile.kind(folder.file("a.tileset")) == .tileset)
    // Also where all of it was moved.
    try FileManager.default.createDirectory(atPath: folder.file("there"), withIntermediateDirectories: true)
    for name in ["a.tileset", "parts"] {
      try FileManager.default.moveItem(atPath: folder.file(name), toPath: folder.file("there/\(name)"))
    }
    let (shards, bundle) = (
      try BundleFile.open(folder.file("there/a.tileset")), try BundleFile.open(folder.file("whole.mbtiles"))
    )
    #expect(try shards.zooms() == bundle.zooms())
    for zoom in try bundle.zooms() { #expect(try shards.range(zoom: zoom) == bundle.range(zoom: zoom)) }
    // The hash of the tiles is that of each shard.
    #expect(shards.metadata.values == bundle.metadata.values.filter { $0.key != "tiles_hash" })
    let (found, expected) = (try contents(shards), try contents(bundle))
    #expect(found.map(\.0) == expected.map(\.0))
    #expect(zip(found, expected).allSatisfy { $0.1 == $1.1 })
    #expect(try shards.tile(TileID(unchecked: 3, 1, 1)) == nil && shards.tile(TileID(unchecked: 0, 0, 0)) == nil)
    let inspection = try BundleInspection(shards)
    #expect(inspection.container == .tileset && inspection.tiles == Self.tiles.count)
    let report = try BundleVerifier(path: folder.file("there/a.tileset")) { _, _ in (256, 256) }.verify()
    #expect(report.isValid && report.tiles == Self.tiles.count, "\(report)")
  }

  @Test func missingShardIsNamed() throws {
    try write(folder.file("a.tileset"))
    let reader = try BundleFile.open(folder.file("a.tileset"))
    let gone = folder.file("parts/7-7.mbtiles")
    try FileManager.default.removeItem(atPath: gone)
    let error = #expect(throws: BundleError.self) { try reader.tile(TileID(unchecked: 3, 7, 7)) }
    #expect(error?.code == .notFound && error?.path == gone)
    #expect(try reader.tile(TileID(unchecked: 3, 6, 6)) != nil)
  }

  @Test func damagedShardIsNamedByVerify() throws {
    try write(folder.file("a.tileset"))
    try folder.write("parts/7-6.pmtiles", bytes: Array(folder.bytes("parts/7-6.pmtiles").prefix(200)))
    let report = try BundleVerifier(path: folder.file("a.tileset")) { _, _ in (256, 256) }.verify()
    #expect(!report.isValid && "\(report)".contains("parts/7-6.pmtiles"), "\(report)")
  }

  /// A tileset is opened without its bundles, of which any may be gone.
  @Test func firstShardMayBeGone() throws {
    try write(folder.file("a.tileset"))
    let text = String(decoding: try folder.bytes("a.tileset"), as: UTF8.self)
    let first = try #require(text.firstMatch(of: /"file": "([^"]*)"/)?.1)
    try FileManager.default.removeItem(atPath: folder.file(String(first)))
    #expect(try BundleFile.open(folder.file("a.tileset")).zooms() == [1, 2, 3, 4, 5])
  }

  @Test(arguments: [
    ("\"shardZoom\": 3", "\"shardZoom\": 4"), ("\"root\": \"", "\"root\": \"x"), ("\"levels\"", "\"level\""),
    ("\"columns\"", "\"column\""), ("\"file\"", "\"files\""), ("\n}\n", "\n"),
  ])
  func damagedTilesetsAreRefused(_ part: String, _ other: String) throws {
    try write(folder.file("a.tileset"))
    let text = String(decoding: try folder.bytes("a.tileset"), as: UTF8.self)
    #expect(text.contains(part))
    let path = try folder.write("b.tileset", text.replacing(part, with: other))
    let error = #expect(throws: BundleError.self) { try BundleFile.open(path) }
    #expect(error?.code == .malformed && error?.path == path)
  }
}
