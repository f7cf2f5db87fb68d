import TestSupport
import Testing
import TileImage
import TileIndex

@testable import TileServe

@Suite(.ownThread) struct StoredImageTests {
  private func image(_ bytes: [UInt8], _ format: TileFormat) -> StoredImage {
    StoredImage(bytes: bytes, format: format, tile: tile(1, 0, 0), tilesetID: "x", revision: .next())
  }

  @Test func opacityIsReadFromTheHeader() throws {
    let grey = Drawings.uniform(RGBA(red: 9, green: 9, blue: 9))
    for x in 0..<64 { grey[x, 3] = RGBA(red: UInt8(x * 4), green: UInt8(x * 4), blue: UInt8(x * 4)) }
    let palette = Drawings.uniform(.black)
    palette[3, 3] = .white
    let hole = Drawings.uniform(.black)
    hole[3, 3] = .transparent
    let lossy = WebPOptions(lossless: false)
    #expect(image(try Drawings.hills(seed: 1).encoded(), .png).isOpaqueByHeader)
    #expect(image(try grey.encoded(), .png).isOpaqueByHeader)
    #expect(image(try palette.encoded(), .png).isOpaqueByHeader)
    #expect(!image(try hole.encoded(), .png).isOpaqueByHeader)
    #expect(!image(try Drawings.islands(seed: 1).encoded(), .png).isOpaqueByHeader)
    #expect(image(try Drawings.hills(seed: 1).encoded(.jpg), .jpg).isOpaqueByHeader)
    #expect(image(try TileEncoder(.webp(lossy)).encode(Drawings.hills(seed: 1)), .webp).isOpaqueByHeader)
    #expect(!image(try TileEncoder(.webp(lossy)).encode(Drawings.islands(seed: 1)), .webp).isOpaqueByHeader)
    // The lossless form may be: only its pixels tell.
    #expect(!image(try Drawings.islands(seed: 1).encoded(.webp), .webp).isOpaqueByHeader)
  }

  @Test func truncatedImagesAreNotOpaque() throws {
    let bytes = try Drawings.hills(seed: 1).encoded()
    for count in [8, 26, 33, 34, 40] { #expect(!image(Array(bytes.prefix(count)), .png).isOpaqueByHeader) }
    #expect(!image(Array("RIFF".utf8), .webp).isOpaqueByHeader)
  }

  @Test func lossyFormatsAreDetected() throws {
    let pixels = Drawings.islands(seed: 1)
    #expect(image(try pixels.encoded(.jpg), .jpg).isLossy)
    #expect(!image(try pixels.encoded(), .png).isLossy)
    #expect(!image(try pixels.encoded(.webp), .webp).isLossy)
    #expect(image(try TileEncoder(.webp(WebPOptions(lossless: false))).encode(pixels), .webp).isLossy)
  }

  @Test func absurdImageSizesAreRejected() throws {
    let source = MemorySource("x", matrixSet: Grids.quad, tilePixels: 1 << 30, zooms: 3...3, tiles: [:])
    let blank = try #require(try TileResolver().answer(source, tile: tile(3, 1, 1), policy: .blank).tile)
    #expect(try blank.decoded().size == ImageSize(width: 64, height: 64))
  }
}
