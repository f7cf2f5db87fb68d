import TestSupport
import Testing

@testable import TileIndex

/// Archives with flipped bytes, wild numbers and lost parts: an answer or a ``BundleError``, in bounded time, and never a crash.
@Suite(.ownThread) struct PMTilesDamageTests {
  /// Reads all there is to read. Returns whether the archive was refused somewhere.
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

  @Test(arguments: 0..<8 as Range<UInt64>) func damagedArchivesDoNoHarm(seed: UInt64) throws {
    let folder = try TemporaryFolder()
    var random = SeededGenerator(seed: 77 + seed)
    var refused = 0
    let start = ContinuousClock.now
    for round in 0..<500 {
      var archive = SmallArchive.random(using: &random)
      // Most damage to packed directories ends in the unpacker; the plain ones let it through to the decoder.
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
    // Damage in a tile's bytes or in the figures nobody uses is not noticed; most other is.
    #expect((100..<500).contains(refused), "seed \(seed): \(refused) of 500 refused")
    #expect(ContinuousClock.now - start < .seconds(60), "seed \(seed)")
  }

  /// Rectangles are found in bounded time when the leaf directories lie as raggedly as they can.
  @Test func raggedLeaves() throws {
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

  /// A search that may not go on to its end finds a rectangle that is too large, never one that leaves a tile out.
  @Test(arguments: 0..<30 as Range<UInt64>) func searchesThatAreCutShort(seed: UInt64) throws {
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
