import Foundation
import Support
import TestSupport
import Testing

/// A file that is written from one end to the other, and changed and read meanwhile.
@Suite(.ownThread) struct SpoolFileTests {
  private let folder: TemporaryFolder
  private let path: String

  init() throws {
    folder = try TemporaryFolder()
    path = folder.file("spool")
    try FileSystem.createExclusively(path)
  }

  /// Through the system's cache alone, past it from some block on, from the first one on, and with a beginning that is
  /// no multiple of a disk's blocks.
  @Test(arguments: [(Int.max, 0), (3 << 20, 8192), (0, 0), (0, 4096), (0, 100)])
  func theFileHasWhatWasWritten(cachedBytes: Int, start: Int) throws {
    var random = SeededGenerator(seed: UInt64(start + 1))
    var expected = [UInt8](repeating: 0, count: start)
    let file = try SpoolFile(path, from: start, cachedBytes: cachedBytes)
    let source = try SpoolFile(try made("source"))
    let noise = (0..<(3 << 20)).map { _ in UInt8.random(in: 0...255, using: &random) }
    try source.append(noise)
    while expected.count < 12 << 20 {
      let count = Int.random(in: 0...(Int.random(in: 0..<20, using: &random) == 0 ? 2_500_000 : 50_000), using: &random)
      let offset = Int.random(in: 0...(noise.count - count), using: &random)
      switch Int.random(in: 0..<6, using: &random) {
      case 0:
        let place = Int.random(in: 0...expected.count, using: &random)
        let bytes = noise[offset..<min(offset + count, offset + expected.count - place)]
        try file.overwrite(Array(bytes), at: place)
        expected.replaceSubrange(place..<(place + bytes.count), with: bytes)
      case 1:
        let place = Int.random(in: start...expected.count, using: &random)
        let end = min(place + count, expected.count)
        var found = [UInt8](repeating: 0, count: end - place)
        try found.withUnsafeMutableBytes { try file.read(into: $0, at: place) }
        #expect(found == Array(expected[place..<end]))
      case 2:
        try file.append(count, of: source, at: offset)
        expected += noise[offset..<(offset + count)]
      default:
        try file.append(Array(noise[offset..<(offset + count)]))
        expected += noise[offset..<(offset + count)]
      }
      #expect(file.end == expected.count)
    }
    try file.flush()
    #expect(try JSONFile.bytes(path) == expected)
    // More may follow, from an offset that no disk begins a block at.
    try file.append(noise)
    try file.flush()
    #expect(try JSONFile.bytes(path) == expected + noise)
  }

  @Test func bytesBehindTheEndAreNotRead() throws {
    let file = try SpoolFile(path)
    try file.append([1, 2, 3])
    var found = [UInt8](repeating: 0, count: 2)
    try found.withUnsafeMutableBytes { try file.read(into: $0, at: 1) }
    #expect(found == [2, 3])
    #expect(throws: FileSystem.SystemError.self) {
      try found.withUnsafeMutableBytes { try file.read(into: $0, at: 2) }
    }
  }

  /// A file may be given up while blocks of it wait for the disk.
  @Test func aFileThatIsGivenUpEndsItsThread() throws {
    for count in [0, 1, 9] {
      let file = try SpoolFile(path, cachedBytes: 0)
      try file.append([UInt8](repeating: 1, count: count << 20))
    }
    #expect(FileSystem.size(path) == 9 << 20)
  }

  private func made(_ name: String) throws -> String {
    try FileSystem.createExclusively(folder.file(name))
    return folder.file(name)
  }
}
