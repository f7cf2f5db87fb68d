import Foundation
import TestSupport
import Testing

@testable import TileIndex

/// What reading may cost goes by the bytes that are on the disk, not by those that a small file claims.
@Suite(.ownThread) struct SparseFileTests {
  let folder: TemporaryFolder
  init() throws { folder = try TemporaryFolder() }

  private func extend(_ path: String, to bytes: UInt64) throws {
    let file = try #require(FileHandle(forUpdatingAtPath: path))
    try file.truncate(atOffset: bytes)
    try file.close()
  }

  @Test func holesGiveNoBudget() throws {
    try folder.writeEndlessView("a.mbtiles")
    let path = folder.file("a.mbtiles")
    try extend(path, to: 1 << 40)
    try #require(FileManager.default.attributesOfItem(atPath: path)[.size] as? Int == 1 << 40)
    #expect(BundleAccess.budgetBytes(path) == 16 << 20)
    let reader = try MBTilesReader(path: path)
    let error = #expect(throws: BundleError.self) { try reader.tile(TileID(unchecked: 4, 1, 1)) }
    #expect(error?.code == .tooCostly, "\(error?.description ?? "")")
    #expect(throws: BundleError.self) { try reader.prepareLookups() }
  }

  /// Every byte on the disk counts, and a small file by what it says: its file system may compress.
  @Test func whatIsStoredCounts() throws {
    var random = SeededGenerator(seed: 5)
    let bytes = (0..<(20 << 20) / 8).map { _ in random.next() }
    let path = try folder.write("whole", bytes: bytes.withUnsafeBytes { Array($0) })
    #expect(BundleAccess.budgetBytes(path) == 20 << 20)
    let small = try folder.write("small", bytes: [1])
    try extend(small, to: 10 << 20)
    #expect(BundleAccess.budgetBytes(small) == 10 << 20)
    #expect(BundleAccess.budgetBytes(folder.file("none")) == 0)
  }
}
