import Foundation
import TestSupport
import Testing
import TileIndex

@testable import TileImage

@Suite(.ownThread) struct DecoderTests {
  private static let png = try! TileEncoder(.png(PNGOptions())).encode(
    Pictures.photographic.make(width: 40, height: 30, seed: 1))
  private static let jpeg = try! TileEncoder(.jpeg(JPEGOptions())).encode(
    Pictures.photographic.make(width: 40, height: 30, seed: 1))

  @Test func formatsAreDetectedByTheirFirstBytes() throws {
    func format(_ bytes: [UInt8]) -> TileFormat? { bytes.withUnsafeBytes { TileFormat(sniffing: $0) } }
    #expect(format(Self.png) == .png)
    #expect(format(Self.jpeg) == .jpg)
    #expect(format(Samples.translucentWebP) == .webp)
    #expect(format([0x1f, 0x8b, 8]) == .pbf)
    #expect(format([0x1f]) == nil)
    #expect(format([]) == nil)
    #expect(format(Array("RIFF....WAVE".utf8)) == nil)
  }

  @Test(arguments: [Self.png, Self.jpeg])
  func sizeComesFromTheHeader(_ bytes: [UInt8]) throws {
    let size = try bytes.withUnsafeBytes { try ImageDecoder.size(of: $0) }
    #expect(size == (40, 30))
  }

  @Test func anotherFormatThanExpectedIsMalformed() {
    let error = #expect(throws: ImageError.self) {
      try Self.png.withUnsafeBytes { try ImageDecoder.decode($0, format: .jpg) }
    }
    #expect(error?.code == .malformed)
    #expect(error?.message == "png data where jpg was expected")
  }

  @Test(arguments: [[UInt8](), [0], Array("no image at all".utf8), [0x1f, 0x8b, 8, 0, 0]])
  func otherDataAreErrors(_ bytes: [UInt8]) {
    #expect(throws: ImageError.self) { try decode(bytes) }
    #expect(throws: ImageError.self) { try bytes.withUnsafeBytes { try ImageDecoder.size(of: $0) } }
  }

  @Test(arguments: [Self.png, Self.jpeg, Samples.translucentWebP])
  func tooManyPixelsAreRejected(_ bytes: [UInt8]) throws {
    let size = try bytes.withUnsafeBytes { try ImageDecoder.size(of: $0) }
    let count = size.width * size.height
    #expect(try bytes.withUnsafeBytes { try ImageDecoder.decode($0, pixelCountMax: count) }.width == size.width)
    let error = #expect(throws: ImageError.self) {
      try bytes.withUnsafeBytes { try ImageDecoder.decode($0, pixelCountMax: count - 1) }
    }
    #expect(error?.code == .tooLarge)
  }

  /// Every truncation is an error, at any position.
  @Test(arguments: [Self.png, Self.jpeg, Samples.progressiveJPEG, Samples.cmykJPEG, Samples.translucentWebP])
  func truncatedDataAreErrors(_ bytes: [UInt8]) {
    // The last byte of a WebP chunk may be padding.
    let accepted = (0..<bytes.count - 2).filter { count in
      guard count < 100 || count % 7 == 0 || count > bytes.count - 40 else { return false }
      do {
        _ = try decode([UInt8](bytes[..<count]))
        return true
      } catch {
        // Too short to be detected, or malformed.
        return (error as? ImageError)?.code != .malformed && count >= 12
      }
    }
    #expect(accepted == [], "of \(bytes.count) bytes")
  }

  /// Damaged data give an error or other pixels, never a crash.
  @Test(arguments: [Self.png, Self.jpeg, Samples.progressiveJPEG, Samples.translucentWebP])
  func damagedDataDoNotCrash(_ bytes: [UInt8]) {
    var random = SeededGenerator(seed: 77)
    for _ in 0..<300 {
      var damaged = bytes
      for _ in 0..<Int.random(in: 1...4, using: &random) {
        damaged[Int.random(in: 0..<bytes.count, using: &random)] = UInt8.random(in: 0...255, using: &random)
      }
      do {
        // A damaged header may claim any size.
        let pixels = try damaged.withUnsafeBytes { try ImageDecoder.decode($0, pixelCountMax: 1 << 20) }
        #expect(pixels.width > 0 && pixels.height > 0)
      } catch {
        #expect(error is ImageError)
      }
    }
  }

  @Test func damagedPixelDataOfAPNGAreDetected() {
    // Between the IDAT chunk's header and its checksum, flipping any bit breaks the checksum.
    for offset in stride(from: 41, to: Self.png.count - 16, by: 11) {
      var damaged = Self.png
      damaged[offset] ^= 0x10
      #expect(throws: ImageError.self) { try decode(damaged) }
    }
  }

  @Test(
    .enabled(if: TestData.isPresent, Comment(rawValue: TestData.skipMessage)),
    arguments: [
      "broken_data_stream.png", "idat_broken.png", "truncated_image.png", "bogus.jpg", "truncated_jpeg.jpg",
    ])
  func malformedFilesAreErrors(_ name: String) throws {
    let bytes = [UInt8](try Data(contentsOf: TestData.url("maps/malformed/\(name)")))
    let error = #expect(throws: ImageError.self) { try decode(bytes) }
    #expect(error?.code == .malformed)
  }
}
