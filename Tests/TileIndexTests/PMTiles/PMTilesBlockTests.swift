import Support
import TestSupport
import Testing

@testable import TileIndex

/// Reading an archive's file in blocks.
@Suite struct PMTilesBlockTests {
  /// A file in memory that counts what is read.
  private final class Source: ByteSource {
    let bytes: [UInt8]
    var reads = 0
    var byteCount: Int { bytes.count }

    init(_ bytes: [UInt8]) { self.bytes = bytes }

    func read(into buffer: UnsafeMutableRawBufferPointer, at offset: Int) throws -> Int {
      reads += 1
      let part = bytes[min(offset, bytes.count)..<min(offset + buffer.count, bytes.count)]
      buffer.copyBytes(from: part)
      return part.count
    }
  }

  private let source: Source

  init() {
    var random = SeededGenerator(seed: 1)
    source = Source((0..<3_000_000).map { _ in UInt8.random(in: 0...255, using: &random) })
  }

  private func expectRead(_ block: PMTilesBlock, at offset: Int, count: Int) throws {
    let found = try block.withBytes(of: source, at: offset, count: count) { Array($0) }
    #expect(found == Array(source.bytes[min(offset, source.byteCount)..<min(offset + count, source.byteCount)]))
  }

  /// One tile follows the other, but for those that recur.
  @Test func aWalkReadsBlocks() throws {
    let block = PMTilesBlock()
    for offset in stride(from: 1000, to: 2_900_000, by: 2000) {
      try expectRead(block, at: offset, count: 2000)
      try expectRead(block, at: 1000, count: 100)
    }
    #expect(source.reads < 20)
  }

  @Test func gapsLongTilesAndTheEndAreReadRightly() throws {
    let block = PMTilesBlock()
    try expectRead(block, at: 5, count: 1000)
    try expectRead(block, at: 400_000, count: 1000)
    try expectRead(block, at: 401_000, count: 1000)
    try expectRead(block, at: 402_000, count: 1_000_000)
    try expectRead(block, at: 1_402_000, count: 0)
    try expectRead(block, at: 1_402_000, count: 7)
    try expectRead(block, at: 2_999_990, count: 100)
    try expectRead(block, at: 3_000_000, count: 100)
    var random = SeededGenerator(seed: 2)
    for _ in 0..<500 {
      try expectRead(
        block, at: Int.random(in: 0..<3_000_000, using: &random), count: Int.random(in: 0..<400_000, using: &random))
    }
  }
}
