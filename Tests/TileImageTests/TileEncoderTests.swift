import TestSupport
import Testing
import TileImage
import TileIndex

@Suite(.ownThread) struct TileEncoderTests {
  /// A mixture is JPEG where all pixels are opaque, and exact elsewhere.
  @Test(arguments: Pictures.allCases)
  func autoIsJPEGWhereOpaque(_ kind: Pictures) throws {
    let encoder = TileEncoder(.auto(JPEGOptions(quality: 80), PNGOptions()))
    #expect(encoder.format == .png && encoder.encoding.mixing == [.jpg])
    let picture = kind.make(width: 64, height: 48, seed: 2)
    let isOpaque = (0..<48).allSatisfy { y in (0..<64).allSatisfy { picture[$0, y].alpha == 255 } }
    let other: TileEncoding = isOpaque ? .jpeg(JPEGOptions(quality: 80)) : .png(PNGOptions())
    #expect(try encoder.encode(picture) == TileEncoder(other).encode(picture))
    // Uniform tiles are remembered.
    #expect(try encoder.encode(picture) == TileEncoder(other).encode(picture))
  }
}
