/// How a picture is laid out inside a PNG file: the smallest form that holds exactly its pixels (PNG third edition, 11.2.1).
///
/// Two forms that the format has are left out on purpose, because GDAL's MBTiles reader shows them wrongly: grey of 1, 2 or 4 bits
/// (it does not scale the samples to 0-255; a palette costs a few bytes more) and a colour key in tRNS (it shows such pixels as black).
enum PNGForm: Equatable {
  /// Indices into a palette, 1, 2, 4 or 8 bits each.
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

  /// Bits in one pixel.
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

  /// Bytes in one row of `width` pixels.
  func rowBytes(width: Int) -> Int { (width * pixelBits + 7) / 8 }

  /// The form for a picture whose distinct colours are known, at least one and at most 256.
  init(colours: UnsafeBufferPointer<UInt32>) {
    let traits = PixelTraits(UnsafeRawPointer(colours.baseAddress!), count: colours.count)
    // More than 16 greys: the same byte a pixel as with a palette, but without the palette, and filters understand the values.
    if traits.isGrey && traits.isOpaque && colours.count > 16 {
      self = .grey
    } else {
      self = .palette(bits: colours.count > 16 ? 8 : colours.count > 4 ? 4 : colours.count > 2 ? 2 : 1)
    }
  }

  /// The form for a picture of more than 256 colours.
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
