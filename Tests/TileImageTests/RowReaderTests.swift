import Foundation
import TestSupport
import Testing
import TileIndex

@testable import TileImage

@Suite(.ownThread) struct RowReaderTests {
  /// Writes a file for the duration of a call.
  private static func withFile(_ bytes: [UInt8], _ body: (String) throws -> Void) throws {
    let url = FileManager.default.temporaryDirectory.appendingPathComponent("row-reader-\(UUID().uuidString)")
    try Data(bytes).write(to: url)
    defer { try? FileManager.default.removeItem(at: url) }
    try body(url.path)
  }

  private static func read(_ reader: JPEGRowReader) throws -> PixelBuffer {
    let pixels = PixelBuffer(width: reader.width, height: reader.height)
    for row in 0..<reader.height { try reader.readRow(into: pixels.bytes + row * pixels.rowBytes) }
    return pixels
  }

  @Test(arguments: Pictures.allCases)
  func pngRowsMatchTheImage(_ kind: Pictures) throws {
    let picture = kind.make(width: 61, height: 37, seed: 6)
    try Self.withFile(TileEncoder(.png(PNGOptions())).encode(picture)) { path in
      let reader = try PNGRowReader(path: path)
      #expect(reader.width == 61 && reader.height == 37 && !reader.isInterlaced && reader.warnings.isEmpty)
      #expect(reader.hasAlpha == (picture.opacity != .opaque))
      try reader.start(.rgba8)
      let pixels = PixelBuffer(width: 61, height: 37)
      for row in 0..<37 { try reader.readRow(into: pixels.bytes + row * pixels.rowBytes) }
      #expect(pixels.difference(from: picture) == nil)
    }
  }

  @Test func pngErrorsAreThrownAtTheirRow() throws {
    let bytes = try TileEncoder(.png(PNGOptions())).encode(Pictures.noise.make(width: 90, height: 200, seed: 1))
    try Self.withFile([UInt8](bytes[..<(bytes.count / 2)])) { path in
      let reader = try PNGRowReader(path: path)
      try reader.start(.rgba8)
      var row = [UInt8](repeating: 0, count: reader.rowBytes)
      var read = 0
      let error = #expect(throws: ImageError.self) {
        for _ in 0..<200 {
          try row.withUnsafeMutableBytes { try reader.readRow(into: $0.baseAddress!) }
          read += 1
        }
      }
      #expect(error?.code == .malformed)
      #expect((80...100).contains(read))
      // After a failure every further call fails too.
      #expect(throws: ImageError.self) { try row.withUnsafeMutableBytes { try reader.readRow(into: $0.baseAddress!) } }
    }
  }

  @Test func missingFileGivesTheSystemsMessage() {
    let png = #expect(throws: ImageError.self) { try PNGRowReader(path: "/nonexistent/a.png") }
    let jpeg = #expect(throws: ImageError.self) { try JPEGRowReader(path: "/nonexistent/a.jpg") }
    #expect(png?.message == "PNG: No such file or directory")
    #expect(jpeg?.message == "JPEG: No such file or directory")
  }

  @Test func hugeHeaderAllocatesNoMemory() throws {
    // A PNG whose header claims 2,147,483,647 x 2,147,483,647 pixels of 64 bits.
    var file: [UInt8] = [0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a, 0, 0, 0, 13]
    let ihdr: [UInt8] = Array("IHDR".utf8) + [0x7f, 0xff, 0xff, 0xff, 0x7f, 0xff, 0xff, 0xff, 16, 6, 0, 0, 0]
    let crc = Deflater.crc32(ihdr, count: ihdr.count)
    file += ihdr + (0..<4).map { UInt8(truncatingIfNeeded: crc >> (24 - 8 * $0)) }
    let idat = Array("IDAT".utf8)
    let idatCRC = Deflater.crc32(idat, count: 4)
    file += [0, 0, 0, 0] + idat + (0..<4).map { UInt8(truncatingIfNeeded: idatCRC >> (24 - 8 * $0)) }
    try Self.withFile(file) { path in
      let reader = try PNGRowReader(path: path)
      #expect(reader.width == 0x7fff_ffff && reader.height == 0x7fff_ffff)
      #expect(reader.workingBytes > 1 << 33)
    }
    let error = #expect(throws: ImageError.self) { try decode(file) }
    #expect(error?.code == .tooLarge)
  }

  @Test func jpegRowsMatchTheImage() throws {
    let picture = Pictures.photographic.make(width: 75, height: 41, seed: 3)
    let bytes = try TileEncoder(.jpeg(JPEGOptions())).encode(picture)
    for sample in [bytes, Samples.greyJPEG, Samples.cmykJPEG, Samples.progressiveJPEG, Samples.tallProgressiveJPEG] {
      try Self.withFile(sample) { path in
        let reader = try JPEGRowReader(path: path)
        try reader.start()
        #expect(try Self.read(reader).difference(from: decode(sample)) == nil)
        #expect(reader.warnings.isEmpty)
      }
    }
  }

  @Test func jpegHeadersGiveTheWorkingMemory() throws {
    try Self.withFile(Samples.tallProgressiveJPEG) { path in
      let reader = try JPEGRowReader(path: path)
      #expect(reader.isProgressive && reader.holdsWholeImage && reader.channels == 1)
      // 32 blocks of 64 coefficients of 2 bytes, and some rows.
      #expect((32 * 128...32 * 128 + 8 * 200).contains(reader.workingBytes))
    }
    try Self.withFile(TileEncoder(.jpeg(JPEGOptions())).encode(PixelBuffer(width: 100, height: 5000))) { path in
      let reader = try JPEGRowReader(path: path)
      #expect(!reader.isProgressive && !reader.holdsWholeImage && reader.channels == 3)
      #expect(reader.workingBytes < 100 * 1000)
    }
  }

  @Test func progressiveJPEGBeyondTheMemoryIsRejected() throws {
    try Self.withFile(Samples.tallProgressiveJPEG) { path in
      let reader = try JPEGRowReader(path: path)
      let error = #expect(throws: ImageError.self) { try reader.start(memoryMax: 1000) }
      #expect(error?.code == .tooLarge)
      #expect(error?.message == "JPEG: decoding needs more memory than allowed")
      try JPEGRowReader(path: path).start(memoryMax: 1 << 20)
    }
  }

  @Test func lostPixelsAreErrorsAndHarmlessWarningsAreReported() throws {
    let bytes = try TileEncoder(.jpeg(JPEGOptions())).encode(Pictures.photographic.make(width: 75, height: 41, seed: 3))
    try Self.withFile([UInt8](bytes[..<(bytes.count - 200)])) { path in
      let reader = try JPEGRowReader(path: path)
      try reader.start()
      let error = #expect(throws: ImageError.self) { try Self.read(reader) }
      #expect(error?.code == .malformed)
      #expect(error?.message == "JPEG: Premature end of JPEG file")
    }
    // Between the last code and the end marker, and longer than the decoder's buffer.
    let padded = bytes.dropLast(2) + [UInt8](repeating: 5, count: 60) + bytes.suffix(2)
    try Self.withFile([UInt8](padded)) { path in
      let reader = try JPEGRowReader(path: path)
      try reader.start()
      #expect(try Self.read(reader).difference(from: decode(bytes)) == nil)
      #expect(reader.warnings.count == 1)
      #expect(reader.warnings.first?.contains("extraneous bytes") == true)
    }
  }
}
