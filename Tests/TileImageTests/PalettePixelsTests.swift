import TestSupport
import Testing
import TileImage

@Suite(.ownThread) struct PalettePixelsTests {
  /// An image with the given number of colours, each at least once.
  private func picture(colours: Int, seed: UInt64, width: Int = 64, height: Int = 48) -> PixelBuffer {
    var random = SeededGenerator(seed: seed)
    var palette: Set<UInt32> = []
    // Opaque or fully transparent.
    while palette.count < colours { palette.insert(UInt32.random(in: 0..<(1 << 24), using: &random) | 0xff00_0000) }
    let list = palette.sorted()
    let pixels = PixelBuffer(width: width, height: height)
    for place in 0..<(width * height) {
      let colour = place < colours ? list[place] : list.randomElement(using: &random)!
      pixels.bytes.storeBytes(of: colour, toByteOffset: place * 4, as: UInt32.self)
    }
    return pixels
  }

  private func bytes(_ pixels: PixelBuffer) -> [UInt8] {
    Array(UnsafeRawBufferPointer(start: pixels.bytes, count: pixels.byteCount))
  }

  @Test(arguments: [1, 2, 17, 255, 256]) func palettesAreLossless(_ colours: Int) throws {
    let pixels = picture(colours: colours, seed: UInt64(colours))
    let palette = try #require(PalettePixels.from(pixels))
    #expect(palette.colours.count == colours && palette.byteCount == 64 * 48 + colours * 4)
    let back = palette.pixels()
    #expect(back.width == 64 && back.height == 48 && bytes(back) == bytes(pixels))
  }

  @Test func moreThan256ColoursGiveNoPalette() { #expect(PalettePixels.from(picture(colours: 257, seed: 1)) == nil) }

  @Test func paletteTakesAQuarterOfTheMemory() throws {
    let palette = try #require(PalettePixels.from(picture(colours: 256, seed: 2, width: 256, height: 256)))
    #expect(palette.byteCount == 65 << 10)
  }

  @Test func transparentPixelsAreAColour() throws {
    let palette = try #require(PalettePixels.from(PixelBuffer(width: 3, height: 2)))
    #expect(palette.colours == [0] && bytes(palette.pixels()) == [UInt8](repeating: 0, count: 24))
  }
}
