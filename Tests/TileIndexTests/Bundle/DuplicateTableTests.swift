import TestSupport
import Testing

@testable import TileIndex

@Suite(.ownThread) struct DuplicateTableTests {
  @Test func whatWasInsertedIsFoundWhileThereIsRoom() {
    var random = SeededGenerator(seed: 71)
    var table = DuplicateTable(slotsMax: 1 << 14)
    let hashes = (1...12_000).map { _ in UInt64.random(in: .min ... .max, using: &random) }
    for (index, hash) in hashes.enumerated() {
      #expect(table.find(hash) { $0 == index + 1 } == nil)
      table.insert(hash, image: index + 1)
    }
    #expect(table.count == 12_000)
    for (index, hash) in hashes.enumerated() { #expect(table.find(hash) { $0 == index + 1 } == index + 1) }
  }

  /// Equal hashes of different bytes: the comparison decides, and both stay known.
  @Test func collisionsAreToldApart() {
    var table = DuplicateTable()
    for image in 1...20 { table.insert(42, image: image) }
    for image in 1...20 { #expect(table.find(42) { $0 == image } == image) }
    #expect(table.find(42) { _ in false } == nil)
  }

  @Test func aFullTableKeepsWhatWasFoundAgain() {
    var random = SeededGenerator(seed: 72)
    var table = DuplicateTable(slotsMax: 64)
    let sea: UInt64 = 0x1234_5678_9abc_def0
    table.insert(sea, image: 1)
    #expect(table.find(sea) { $0 == 1 } == 1)
    for image in 2...5_000 { table.insert(.random(in: .min ... .max, using: &random), image: image) }
    #expect(table.count <= 64)
    #expect(table.find(sea) { $0 == 1 } == 1)
    // And it still learns.
    let last: UInt64 = .random(in: .min ... .max, using: &random)
    var found = 0
    for image in 5_001...5_100 {
      let hash = last &+ UInt64(image) << 33
      table.insert(hash, image: image)
      if table.find(hash, isSame: { $0 == image }) != nil { found += 1 }
    }
    #expect(found > 0)
  }

  @Test func hashesTellContentsApart() {
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
    // Lengths of zeros differ, which a hash that pads would miss.
    let zeros = (0..<100).map { [UInt8](repeating: 0, count: $0).withUnsafeBytes(ContentHash.hash) }
    #expect(Set(zeros).count == 100)
  }
}
