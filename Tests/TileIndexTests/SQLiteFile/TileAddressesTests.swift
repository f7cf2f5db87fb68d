import Foundation
import TestSupport
import Testing

@testable import TileIndex

/// Addresses that are sorted in memory, or in a file where they are many.
@Suite(.ownThread) struct TileAddressesTests {
  let folder: TemporaryFolder
  init() throws { folder = try TemporaryFolder() }

  private func sorted(_ all: [TileEntry], heldMax: Int) throws -> [TileEntry] {
    let addresses = TileAddresses(spillingBeside: folder.file("x.mbtiles"), heldMax: heldMax)
    for address in all { try addresses.append(address) }
    #expect(addresses.count == all.count)
    // The file has no name, so that a process that is killed leaves none.
    #expect(folder.names == [])
    var result: [TileEntry] = []
    try addresses.drain { result.append($0) }
    return result
  }

  @Test(arguments: [0, 1, 9, 10, 11, 100, 20_000, 50_001])
  func theOrderIsThatOfTheIndex(count: Int) throws {
    var random = SeededGenerator(seed: UInt64(count))
    let all = (0..<count).map { number in
      TileEntry(
        column: .random(in: 0...(.max), using: &random), row: .random(in: 0...(.max), using: &random),
        rowID: UInt32(number), zoom: .random(in: 0...30, using: &random))
    }
    let expected = all.sorted { ($0.zoom, $0.column, $0.row) < ($1.zoom, $1.column, $1.row) }
    for heldMax in [10, 5000, 1 << 20] where count < 1000 * heldMax {
      #expect(try sorted(all, heldMax: heldMax) == expected, "at most \(heldMax) in memory")
    }
  }

  @Test func theLargestRecordIsKnown() throws {
    let addresses = TileAddresses(spillingBeside: folder.file("x.mbtiles"))
    try addresses.append(TileEntry(column: 70_000, row: 0, rowID: 1, zoom: 1))
    try addresses.append(TileEntry(column: 0, row: 200, rowID: 2, zoom: 17))
    // The head's five bytes, and 1, 3, 2 and 1 of the numbers.
    #expect(addresses.recordBytesMax == 5 + 1 + 3 + 2 + 1)
  }
}
