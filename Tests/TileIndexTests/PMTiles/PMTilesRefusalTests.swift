import Foundation
import TestSupport
import Testing
import TileIndex

/// Invalid and hostile archives are refused with the reason.
@Suite(.ownThread) struct PMTilesRefusalTests {
  let folder: TemporaryFolder
  init() throws { folder = try TemporaryFolder() }

  func refusal(_ bytes: [UInt8]) throws -> BundleError? {
    let path = try folder.write("bad.pmtiles", bytes: bytes)
    return #expect(throws: BundleError.self) {
      let reader = try PMTilesReader(path: path)
      for zoom in 0...4 { _ = try reader.tile(TileID(unchecked: zoom, 0, 0)) }
    }
  }

  @Test func unsupportedCompressionsAndVersionsAreReported() throws {
    var archive = SmallArchive()
    archive.tiles = [0: [1]]
    for (code, word) in [(3, "brotli"), (4, "zstd"), (9, "unknown")] as [(UInt8, String)] {
      archive.tileCompression = code
      var error = try refusal(archive.bytes)
      #expect(error?.code == .malformed && error?.message.contains(word) == true && error?.remedy != nil)
      archive.tileCompression = 1
      var bytes = archive.bytes
      bytes[97] = code
      error = try refusal(bytes)
      #expect(error?.message.contains(word) == true && error?.message.contains("directories") == true)
    }
    for version in [0, 1, 2, 4, 255] as [UInt8] {
      var bytes = archive.bytes
      bytes[7] = version
      #expect(try refusal(bytes)?.message.contains("version \(version)") == true)
    }
    #expect(
      try refusal(Array("PM".utf8) + [2, 0] + [UInt8](repeating: 0, count: 600))?.message.contains("version 2") == true)
  }

  /// Incomplete copies.
  @Test func truncatedArchivesAreRefused() throws {
    var random = SeededGenerator(seed: 5)
    var archive = SmallArchive.random(using: &random)
    archive.leafEntries = 4
    let bytes = archive.bytes
    for count in Array(0..<140) + Array(stride(from: 140, to: bytes.count, by: 37)) {
      let error = try refusal(Array(bytes.prefix(count)))
      #expect(error?.code == .malformed && error?.remedy != nil, "\(count): \(error?.description ?? "")")
      if count >= 127 { #expect(error?.message.contains("cut off") == true) }
    }
  }

  @Test func hostileDirectoriesAreRefused() throws {
    let archive = SmallArchive()
    func entry(_ id: UInt64, run: UInt64 = 1, bytes: UInt64 = 1, offset: UInt64 = 0) -> SmallArchive.Entry {
      SmallArchive.Entry(id: id, run: run, bytes: bytes, offset: offset)
    }
    func refused(_ directory: [UInt8], _ word: String, leaves: [UInt8] = []) throws {
      let bytes = archive.archive(root: archive.pack(directory), leaves: leaves, data: [1, 2, 3])
      let error = try refusal(bytes)
      #expect(error?.code == .malformed && error?.message.contains(word) == true, "\(error?.description ?? "")")
    }
    try refused(SmallArchive.varint(0), "empty")
    try refused([], "ends early")
    try refused(SmallArchive.varint(1 << 40), "ends early")
    try refused(SmallArchive.varint(.max), "ends early")
    try refused([UInt8](repeating: 0xff, count: 12), "above 2^64")
    try refused(SmallArchive.directory([entry(0), entry(0)]), "not in order")
    // The difference to the second id overflows 64 bits.
    try refused(SmallArchive.directory([entry(9), entry(3)]), "beyond zoom")
    try refused(SmallArchive.directory([entry(1 << 62)]), "beyond zoom")
    try refused(SmallArchive.directory([entry(0, bytes: 0)]), "without bytes")
    try refused(SmallArchive.directory([entry(0, bytes: 1 << 40)]), "above 2^32")
    try refused(SmallArchive.directory([entry(0, run: 1 << 40)]), "above 2^32")
    try refused(SmallArchive.directory([entry(0, offset: 1 << 63)]), "beyond any file")
    try refused([1, 0, 1, 1, 0], "no offset")
    try refused(SmallArchive.directory([entry(0, offset: 3)]), "beyond the end")
    try refused(SmallArchive.directory([entry(0, bytes: UInt64(UInt32.max))]), "4294967295 bytes")
    try refused(SmallArchive.directory([entry(0)]) + [0], "follows")
    try refused(SmallArchive.directory([entry(0, run: 0, bytes: 5, offset: 9)]), "outside its section")
    // A leaf that contains itself, and one that contains another leaf's tiles.
    var itself = archive.pack(SmallArchive.directory([entry(0, run: 0, bytes: 1, offset: 0)]))
    for _ in 0..<3 {
      itself = archive.pack(SmallArchive.directory([entry(0, run: 0, bytes: UInt64(itself.count), offset: 0)]))
    }
    try refused(
      SmallArchive.directory([entry(0, run: 0, bytes: UInt64(itself.count), offset: 0)]), "too deep", leaves: itself)
    let strange = archive.pack(SmallArchive.directory([entry(0), entry(7)]))
    try refused(
      SmallArchive.directory([
        entry(0, run: 0, bytes: UInt64(strange.count), offset: 0),
        entry(6, run: 0, bytes: UInt64(strange.count), offset: 0),
      ]), "belong into another", leaves: strange)
    let early = archive.pack(SmallArchive.directory([entry(0)]))
    try refused(
      SmallArchive.directory([entry(5, run: 0, bytes: UInt64(early.count), offset: 0)]), "belong into another",
      leaves: early)
  }

  /// Sections that decompress to far more than their size.
  @Test func decompressionBombsAreRefused() throws {
    let archive = SmallArchive()
    let bomb = SmallArchive.gzip([UInt8](repeating: 0, count: 40 << 20))
    #expect(bomb.count < 100_000)
    #expect(try refusal(archive.archive(root: bomb))?.message.contains("when unpacked") == true)
    let entry = SmallArchive.Entry(id: 0, run: 0, bytes: UInt64(bomb.count), offset: 0)
    let root = archive.pack(SmallArchive.directory([entry]))
    #expect(try refusal(archive.archive(root: root, leaves: bomb))?.message.contains("when unpacked") == true)
  }

  @Test func invalidMetadataAreRefused() throws {
    var archive = SmallArchive()
    archive.tiles = [0: [1]]
    for text in ["[1]", "{", "{\"a\":}", String(repeating: "[", count: 100_000)] {
      archive.metadata = Array(text.utf8)
      #expect(try refusal(archive.bytes)?.message.contains("metadata") == true, "\(text.prefix(9))")
    }
  }

  @Test func missingAndOtherFilesAreRefused() throws {
    #expect(throws: BundleError.self) { try PMTilesReader(path: folder.file("none.pmtiles")) }
    let error = #expect(throws: BundleError.self) { try PMTilesReader(path: folder.path) }
    #expect(error?.message.contains("folder") == true)
    #expect(try refusal(Array("something else".utf8))?.message.contains("not a PMTiles archive") == true)
  }
}
