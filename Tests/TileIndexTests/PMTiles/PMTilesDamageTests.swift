import TestSupport
import Testing

@testable import TileIndex

/// Archives with modified bytes, extreme numbers and missing parts give a result or a ``BundleError``, in bounded time,
/// and never crash.
@Suite(.ownThread) struct PMTilesDamageTests {
  /// Reads everything. Returns true if the archive was refused.
  private func readAll(_ path: String) throws -> Bool {
    do {
      let reader = try PMTilesReader(path: path)
      _ = reader.metadata.bounds
      for zoom in try reader.zooms() {
        let range = try reader.range(zoom: zoom)
        guard let range else { return false }
        for tile in range.prefix(20) { _ = try reader.tile(tile) }
      }
      for id in stride(from: UInt64(0), to: 6000, by: 61) { _ = try reader.tile(TileID(hilbertID: id)) }
      return false
    } catch let error as BundleError {
      #expect(error.code == .malformed, "\(error)")
      return true
    }
  }

  @Test(arguments: 0..<8 as Range<UInt64>) func damagedArchivesNeverCrash(seed: UInt64) throws {
    let folder = try TemporaryFolder()
    var random = SeededGenerator(seed: 77 + seed)
    var refused = 0
    let start = ContinuousClock.now
    for round in 0..<500 {
      var archive = SmallArchive.random(using: &random)
      // Damage to compressed directories is usually detected by the decompressor; uncompressed ones test the decoder.
      archive.internalCompression = round % 4 == 0 ? 2 : 1
      var bytes = archive.bytes
      let directoryEnd = bytes.count - 1
      for _ in 0..<Int.random(in: 1...4, using: &random) {
        let isHeader = Bool.random(using: &random)
        let place =
          isHeader ? Int.random(in: 8..<127, using: &random) : Int.random(in: 127...directoryEnd, using: &random)
        switch Int.random(in: 0..<5, using: &random) {
        case 0: bytes[place] ^= 1 << UInt8.random(in: 0..<8, using: &random)
        case 1: bytes[place] = [0, 0x7f, 0x80, 0xff].randomElement(using: &random)!
        case 2: for index in place..<min(place + 8, bytes.count) { bytes[index] = 0xff }
        case 3: for index in place..<min(place + 8, bytes.count) { bytes[index] = 0 }
        default:
          for index in place..<min(place + 4, bytes.count) { bytes[index] = UInt8.random(in: 0...255, using: &random) }
        }
      }
      if Int.random(in: 0..<10, using: &random) == 0 {
        bytes.removeLast(Int.random(in: 0..<bytes.count, using: &random))
      }
      refused += try readAll(folder.write("a.pmtiles", bytes: bytes)) ? 1 : 0
    }
    // Damage to tile bytes and unused header fields is not detected; most other damage is.
    #expect((100..<500).contains(refused), "seed \(seed): \(refused) of 500 refused")
    #expect(ContinuousClock.now - start < .seconds(60), "seed \(seed)")
  }

  /// The rectangle is found in bounded time even if the tiles are scattered over many leaf directories.
  @Test func boundsOfScatteredLeavesAreFound() throws {
    let folder = try TemporaryFolder()
    var archive = SmallArchive()
    var random = SeededGenerator(seed: 3)
    let first = TileID(unchecked: 20, 0, 0).hilbertID
    for _ in 0..<30_000 { archive.tiles[first + UInt64.random(in: 0..<(1 << 40), using: &random)] = [1] }
    archive.leafEntries = 2
    archive.leafLevels = 2
    let reader = try PMTilesReader(path: folder.write("ragged.pmtiles", bytes: archive.bytes))
    let tiles = try archive.tiles.keys.map { try TileID(hilbertID: $0) }
    let range = try reader.range(zoom: 20)
    #expect(range?.columns == tiles.map(\.column).min()!...tiles.map(\.column).max()!)
    #expect(range?.rows == tiles.map(\.row).min()!...tiles.map(\.row).max()!)
  }

  /// A search that reaches its limit gives a rectangle that is too large, never one that is too small.
  @Test(arguments: 0..<30 as Range<UInt64>) func limitedSearchesGiveALargerRange(seed: UInt64) throws {
    let folder = try TemporaryFolder()
    var random = SeededGenerator(seed: 300 + seed)
    var archive = SmallArchive.random(using: &random)
    archive.leafEntries = 3
    let reader = try PMTilesReader(path: folder.write("a.pmtiles", bytes: archive.bytes))
    for zoom in try reader.zooms() {
      let range = try #require(try reader.range(zoom: zoom))
      for workMax in [0, 1, 5, 70, 200] {
        let larger = try reader.range(zoom: zoom, workMax: workMax)
        #expect(larger?.intersection(range) == range, "seed \(seed), zoom \(zoom), \(workMax) entries")
      }
    }
  }
}
