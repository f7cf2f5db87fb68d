/// The layout of an image inside a PNG file: the smallest form that holds exactly its pixels (PNG third edition,
/// 11.2.1).
///
/// Two forms of PNG are not used because GDAL's MBTiles reader decodes them wrongly: grey of 1, 2 or 4 bits (it does
/// not scale the samples to 0-255; a palette costs a few bytes more) and a colour key in tRNS (it shows such pixels as
/// black).
enum PNGForm: Equatable {
  /// Indices into a palette of 1, 2, 4 or 8 bits each.
  case palette(bits: Int)
  case grey
  case greyAlpha
  case rgb
  case rgba

  /// The IHDR chunk's colour type.
  var colourType: UInt8 {
    switch self {
    case .grey: 0
    case .rgb: 2
    case .palette: 3
    case .greyAlpha: 4
    case .rgba: 6
    }
  }

  /// Bits per pixel.
  var pixelBits: Int {
    switch self {
    case .palette(let bits): bits
    case .grey: 8
    case .greyAlpha: 16
    case .rgb: 24
    case .rgba: 32
    }
  }

  /// The IHDR chunk's bit depth.
  var bitDepth: UInt8 {
    if case .palette(let bits) = self { UInt8(bits) } else { 8 }
  }

  /// Bytes per row of `width` pixels.
  func rowBytes(width: Int) -> Int { (width * pixelBits + 7) / 8 }

  /// The form for an image with the given distinct colours, 1 to 256.
  init(colours: UnsafeBufferPointer<UInt32>) {
    let traits = PixelTraits(UnsafeRawPointer(colours.baseAddress!), count: colours.count)
    // With more than 16 greys both take one byte per pixel, but grey needs no palette, and filters work on its values.
    if traits.isGrey && traits.isOpaque && colours.count > 16 {
      self = .grey
    } else {
      self = .palette(bits: colours.count > 16 ? 8 : colours.count > 4 ? 4 : colours.count > 2 ? 2 : 1)
    }
  }

  /// The form for an image of more than 256 colours.
  init(manyColours pixels: UnsafeRawPointer, count: Int) {
    let traits = PixelTraits(pixels, count: count)
    switch (traits.isGrey, traits.isOpaque) {
    case (true, true): self = .grey
    case (true, false): self = .greyAlpha
    case (false, true): self = .rgb
    case (false, false): self = .rgba
    }
  }
}

/// Whether pixels have colour and transparency.
private struct PixelTraits {
  var isGrey: Bool
  var isOpaque: Bool

  init(_ pixels: UnsafeRawPointer, count: Int) {
    var differences: UInt32 = 0
    var every: UInt32 = .max
    for i in 0..<count {
      let pixel = pixels.loadUnaligned(fromByteOffset: i &* 4, as: UInt32.self)
      differences |= pixel ^ pixel &>> 8
      every &= pixel
    }
    isGrey = differences & 0xffff == 0
    isOpaque = every >> 24 == 255
  }
}

/// A palette in its order in the file, and the mapping from the colour table's numbers to it.
struct PNGPalette {
  /// The colours as pixel words. Those that are not opaque come first, because tRNS may end early.
  let colours: [UInt32]
  /// The number of colours that are not opaque: the entries of tRNS.
  let translucentCount: Int
  /// The index in the palette for each number of the colour table.
  let order: [UInt8]

  /// Orders a colour table's colours.
  ///
  /// Up to 16 colours keep the order of their first appearance, more are sorted by luminance. Measured on maps, the
  /// former are 1-18% smaller than sorted by luminance, and the latter (antialiased edges are ramps of luminance) 1-5%
  /// smaller than in order of appearance.
  init(_ table: ColourIndex) {
    let byLuminance = table.count > 16
    let numbers = (0..<table.count).sorted { a, b in
      let (colourA, colourB) = (table.colours[a], table.colours[b])
      let (opaqueA, opaqueB) = (colourA >> 24 == 255, colourB >> 24 == 255)
      if opaqueA != opaqueB { return opaqueB }
      if byLuminance {
        let (luminanceA, luminanceB) = (Self.luminance(colourA), Self.luminance(colourB))
        if luminanceA != luminanceB { return luminanceA < luminanceB }
      }
      return a < b
    }
    colours = numbers.map { table.colours[$0] }
    translucentCount = colours.prefix { $0 >> 24 != 255 }.count
    var order = [UInt8](repeating: 0, count: table.count)
    for (index, number) in numbers.enumerated() {
      order[number] = UInt8(index)
    }
    self.order = order
  }

  private static func luminance(_ colour: UInt32) -> UInt32 {
    (colour & 255) * 299 + (colour >> 8 & 255) * 587 + (colour >> 16 & 255) * 114
  }
}
