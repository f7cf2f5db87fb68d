import Foundation
import TestSupport
import Testing
import TileImage

@Suite(.ownThread) struct GzipCheckTests {
  /// `printf 'a vector tile, or so' | gzip -n`, 20 bytes uncompressed.
  private static let good =
    [
      0x1f, 0x8b, 0x08, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x03, 0x4b, 0x54, 0x28, 0x4b, 0x4d, 0x2e, 0xc9, 0x2f,
      0x52, 0x28, 0xc9, 0xcc, 0x49, 0xd5, 0x51, 0x00, 0x32, 0x8a, 0xf3, 0x01, 0x32, 0x06, 0xf6, 0xd2, 0x14, 0x00,
      0x00, 0x00,
    ] as [UInt8]

  private static func verify(_ bytes: [UInt8], byteCountMax: Int = GzipCheck.byteCountMax) throws -> Int {
    try bytes.withUnsafeBytes { try GzipCheck.verify($0, byteCountMax: byteCountMax) }
  }

  @Test func validStreamReturnsItsLength() throws {
    #expect(try Self.verify(Self.good) == 20)
    // RFC 1952, 2.2: members follow each other directly.
    #expect(try Self.verify(Self.good + Self.good) == 40)
  }

  @Test func everyTruncationIsMalformed() {
    for count in 0..<Self.good.count {
      let error = #expect(throws: ImageError.self) { try Self.verify([UInt8](Self.good[..<count])) }
      #expect(error?.code == .malformed)
    }
  }

  @Test func everyDamageToDataOrChecksumsIsMalformed() {
    for offset in 10..<Self.good.count {
      var damaged = Self.good
      damaged[offset] ^= 0x55
      #expect(throws: ImageError.self, "byte \(offset)") { try Self.verify(damaged) }
    }
  }

  @Test func otherDataAreMalformed() {
    for bytes in [
      [UInt8]("plain text".utf8), Self.good + [0], Self.good + Self.good.dropLast(), [0x78, 0x9c, 3, 0, 0, 0, 0, 1],
    ] {
      let error = #expect(throws: ImageError.self) { try Self.verify(bytes) }
      #expect(error?.code == .malformed)
    }
  }

  @Test func decompressionBombStopsAtTheLimit() throws {
    // Zeros compressed to a thousandth of their size: fixed Huffman codes, one literal and then copies of 258 bytes
    // with codes of 13 bits.
    var bits: [UInt8] = []
    func put(_ value: Int, _ count: Int, msbFirst: Bool) {
      for i in 0..<count { bits.append(UInt8(value >> (msbFirst ? count - 1 - i : i) & 1)) }
    }
    put(1, 1, msbFirst: false)
    put(1, 2, msbFirst: false)
    put(0x30, 8, msbFirst: true)
    let copies = 40_000
    for _ in 0..<copies {
      put(0xc5, 8, msbFirst: true)
      put(0, 5, msbFirst: true)
    }
    put(0, 7, msbFirst: true)
    var bomb: [UInt8] = [0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 0, 255]
    for start in stride(from: 0, to: bits.count, by: 8) {
      bomb.append(
        bits[start..<min(start + 8, bits.count)].enumerated().reduce(0) { $0 | $1.element << UInt8($1.offset) })
    }
    let total = 1 + copies * 258
    let error = #expect(throws: ImageError.self) { try Self.verify(bomb, byteCountMax: total - 1) }
    #expect(error?.code == .tooLarge)
    // With the full limit it is only malformed, because the checksum is missing.
    #expect(throws: ImageError.self) { try Self.verify(bomb, byteCountMax: total) }
  }
}
