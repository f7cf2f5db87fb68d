import Foundation
import Support
import TestSupport
import Testing

@testable import TileIndex

@Suite(.ownThread) struct DuplicateTableTests {
  @Test func insertedImagesAreFoundUntilTheTableIsFull() {
    var random = SeededGenerator(seed: 71)
    var table = DuplicateTable(slotsMax: 1 << 14)
    let hashes = (1...12_000).map { _ in UInt64.random(in: .min ... .max, using: &random) }
    for (index, hash) in hashes.enumerated() {
      #expect(table.find(hash) { $0 == index + 1 } == nil)
      table.insert(hash, place: index + 1)
    }
    #expect(table.count == 12_000)
    for (index, hash) in hashes.enumerated() { #expect(table.find(hash) { $0 == index + 1 } == index + 1) }
  }

  /// Images with equal hashes but different bytes are all kept.
  @Test func collidingHashesAreDistinguishedByComparison() {
    var table = DuplicateTable()
    for image in 1...20 { table.insert(42, place: image) }
    for image in 1...20 { #expect(table.find(42) { $0 == image } == image) }
    #expect(table.find(42) { _ in false } == nil)
  }

  @Test func fullTableKeepsRepeatedImages() {
    var random = SeededGenerator(seed: 72)
    var table = DuplicateTable(slotsMax: 64)
    let sea: UInt64 = 0x1234_5678_9abc_def0
    table.insert(sea, place: 1)
    #expect(table.find(sea) { $0 == 1 } == 1)
    for image in 2...5_000 { table.insert(.random(in: .min ... .max, using: &random), place: image) }
    #expect(table.count <= 64)
    #expect(table.find(sea) { $0 == 1 } == 1)
    // New images are still accepted.
    let last: UInt64 = .random(in: .min ... .max, using: &random)
    var found = 0
    for image in 5_001...5_100 {
      let hash = last &+ UInt64(image) << 33
      table.insert(hash, place: image)
      if table.find(hash, isSame: { $0 == image }) != nil { found += 1 }
    }
    #expect(found > 0)
  }

  @Test func differentContentsHaveDifferentHashes() {
    var random = SeededGenerator(seed: 73)
    var seen: [UInt64: [UInt8]] = [:]
    for length in 0..<200 {
      var bytes = (0..<length).map { _ in UInt8.random(in: 0...255, using: &random) }
      for flip in -1..<length {
        if flip >= 0 { bytes[flip] ^= 1 }
        let hash = bytes.withUnsafeBytes(ContentHash.hash)
        #expect(seen[hash] == nil || seen[hash] == bytes, "seed 73")
        seen[hash] = bytes
        if flip >= 0 { bytes[flip] ^= 1 }
      }
    }
    // A hash that pads its input would not distinguish zeros of different length.
    let zeros = (0..<100).map { [UInt8](repeating: 0, count: $0).withUnsafeBytes(ContentHash.hash) }
    #expect(Set(zeros).count == 100)
  }
}

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

  /// Recomputes the hash from its definition.
  @Test func hashMatchesItsDefinition() throws {
    var hash = SHA256Hash()
    hash.update(Array("http://www.opengis.net/def/tilematrixset/OGC/1.0/WebMercatorQuad\0".utf8))
    for index in [0, 3, 1, 2] {
      let tile = tiles[index]
      hash.update([UInt8(tile.zoom), 0, 0, 0, UInt8(tile.column), 0, 0, 0, UInt8(tile.row)])
      hash.update(SHA256Hash.digest(of: bytes(tile)))
    }
    let expected = Hexadecimal.text(hash.digest())
    #expect(try TilesHash.of(bundle("a.mbtiles", tiles)).description == expected)
  }

  @Test func hashIsIndependentOfFormatAndOrder() throws {
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

  @Test func hashIsTextOf64Digits() throws {
    let text = String(repeating: "0aF9", count: 16)
    let hash = try #require(TilesHash(text))
    #expect(hash.description == text.lowercased())
    #expect(try JSONDecoder().decode([TilesHash].self, from: JSONEncoder().encode([hash])) == [hash])
    #expect(TilesHash("abc") == nil && TilesHash(String(repeating: "x", count: 64)) == nil)
  }
}
