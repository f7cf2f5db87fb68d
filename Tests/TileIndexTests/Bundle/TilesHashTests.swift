import Crypto
import Foundation
import TestSupport
import Testing
import TileIndex

@Suite(.ownThread) struct TilesHashTests {
  let folder: TemporaryFolder
  init() throws { folder = try TemporaryFolder() }

  private let tiles = [
    TileID(unchecked: 0, 0, 0), TileID(unchecked: 2, 1, 3), TileID(unchecked: 2, 1, 0), TileID(unchecked: 2, 0, 2),
  ]

  private func bundle(_ name: String, _ tiles: [TileID]) throws -> any BundleReader {
    let writer = try BundleWriter(path: folder.file(name), matrixSet: .webMercatorQuad, format: .png)
    for tile in tiles { try writer.put(tile, bytes(tile)) }
    _ = try writer.finish(BundleMetadata(name: name))
    return try BundleFile.open(folder.file(name))
  }

  private func bytes(_ tile: TileID) -> [UInt8] { blob(UInt8(tile.zoom * 16 + tile.column * 4 + tile.row)) }

  /// The definition, by hand.
  @Test func itIsWhatItsDescriptionSays() throws {
    var hash = SHA256()
    hash.update(data: Data("http://www.opengis.net/def/tilematrixset/OGC/1.0/WebMercatorQuad\0".utf8))
    for index in [0, 3, 1, 2] {
      let tile = tiles[index]
      hash.update(data: Data([UInt8(tile.zoom), 0, 0, 0, UInt8(tile.column), 0, 0, 0, UInt8(tile.row)]))
      hash.update(data: Data(SHA256.hash(data: bytes(tile))))
    }
    let expected = hash.finalize().map { String(format: "%02x", $0) }.joined()
    #expect(try TilesHash.of(bundle("a.mbtiles", tiles)).description == expected)
  }

  @Test func formatAndOrderDoNotMatter() throws {
    let first = try TilesHash.of(bundle("a.mbtiles", tiles))
    #expect(try TilesHash.of(bundle("b.mbtiles", tiles.reversed())) == first)
    var archive = SmallArchive()
    for tile in tiles {
      archive.tiles[tile.hilbertID] = bytes(tile)
      let place = folder.file("tiles/\(tile.zoom)/\(tile.column)")
      try FileManager.default.createDirectory(atPath: place, withIntermediateDirectories: true)
      try folder.write("tiles/\(tile.zoom)/\(tile.column)/\(tile.row).png", bytes: bytes(tile))
    }
    archive.leafEntries = 2
    #expect(try TilesHash.of(BundleFile.open(folder.write("c.pmtiles", bytes: archive.bytes))) == first)
    #expect(try TilesHash.of(BundleFile.open(folder.file("tiles"))) == first)
    #expect(try TilesHash.of(bundle("d.mbtiles", Array(tiles.dropLast()))) != first)
  }

  @Test func itIsTextOf64Digits() throws {
    let text = String(repeating: "0aF9", count: 16)
    let hash = try #require(TilesHash(text))
    #expect(hash.description == text.lowercased())
    #expect(try JSONDecoder().decode([TilesHash].self, from: JSONEncoder().encode([hash])) == [hash])
    #expect(TilesHash("abc") == nil && TilesHash(String(repeating: "x", count: 64)) == nil)
  }
}
