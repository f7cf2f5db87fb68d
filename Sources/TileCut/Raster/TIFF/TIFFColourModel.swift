import CTIFFShim

#if canImport(Glibc)
  import Glibc
#elseif canImport(Musl)
  import Musl
#else
  import Darwin
#endif

/// What the samples of a TIFF mean: which bands are colours, which is alpha, which values are nodata.
struct TIFFColourModel: Sendable {
  enum Colour: Sendable {
    /// The first band, black to white.
    case grey
    /// The first three bands.
    case rgb
    /// The first band, an index into this colour map of RGBA words.
    case palette([UInt32])
    /// The output of libtiff's RGBA interface (YCbCr, CMYK, CIELab, LogLuv).
    case libtiffRGBA
  }

  let colour: Colour
  /// The index of the alpha band, if there is one.
  let alphaBand: Int?
  /// Colours are premultiplied by alpha.
  let isAssociated: Bool
  /// Zero is white.
  let isInverted: Bool
  /// One for each colour band (one for grey and palette), or nil.
  let nodata: [NodataValue]?
  /// The mapping of samples to 0...255, or nil if 8-bit samples are used unchanged.
  let scale: SampleScale?

  /// The model of a mask.
  init(maskOf layout: TIFFLayout) {
    (colour, alphaBand, isAssociated, isInverted) = (.grey, nil, false, false)
    (nodata, scale) = (nil, nil)
  }

  var colourBands: Int { if case .grey = colour { 1 } else if case .palette = colour { 1 } else { 3 } }

  /// Interprets the samples, like GDAL where the file is ambiguous. `warn` is called for bands that are not used.
  ///
  /// - Parameters:
  ///   - nodata: the user's, one value or one for each colour band; nil means the file's GDAL_NODATA value.
  ///   - scale: the user's.
  /// - Throws: ``CutError`` `.badSource` for unsupported photometric interpretations, `.invalidOption` for options that
  ///   do not fit the bands.
  init(
    _ layout: TIFFLayout, handle: TIFFHandle, path: String, nodata userNodata: [Double]?, scale: SampleScale?,
    warn: (String) -> Void
  ) throws {
    let extra = Self.extraBands(layout)
    let alphaIndex = extra.firstIndex { $0 != .unspecified }
    let colourSamples = layout.samples - extra.count
    alphaBand = alphaIndex.map { $0 + colourSamples }
    isAssociated = alphaIndex.map { extra[$0] == .associatedAlpha } ?? false
    let plainBands = layout.samples - (alphaIndex == nil ? 0 : 1)

    switch layout.photometric {
    case .rgb where layout.samples >= 3, .ycbcr where layout.isRGBFromJPEG && layout.samples == 3:
      colour = .rgb
      if plainBands > 3 {
        warn("only the first three of \(plainBands) bands are used, as red, green and blue")
      }
    case .palette:
      colour = .palette(try Self.palette(handle, bits: layout.bits, path: path))
      if plainBands > 1 { warn("only the first of \(plainBands) bands is used, through the palette") }
    case .minIsBlack where plainBands == 3 && layout.bits == 8, .minIsWhite where plainBands == 3 && layout.bits == 8:
      colour = .rgb
      warn("its three bands are not said to be colours; they are taken for red, green and blue")
    case .minIsBlack, .minIsWhite, .mask:
      colour = .grey
      if plainBands > 1 { warn("only the first of \(plainBands) bands is used, as grey") }
    default:
      colour = .libtiffRGBA
      try Self.requireRGBAInterface(handle, layout: layout, path: path)
    }
    if case .grey = colour { isInverted = layout.photometric == .minIsWhite } else { isInverted = false }

    let is8Bit = layout.format == .unsigned && layout.bits <= 8
    switch colour {
    case .palette, .libtiffRGBA: self.scale = nil
    default: self.scale = scale ?? (is8Bit ? nil : SampleScale(unchecked: 0, 0))
    }
    let bands = if case .rgb = colour { 3 } else if case .libtiffRGBA = colour { 3 } else { 1 }
    nodata = try Self.nodata(userNodata, handle: handle, layout: layout, bands: bands)
  }

  /// Whether samples of more than 8 bits lack a scale.
  var lacksScale: Bool { scale.map { $0.low == $0.high } ?? false }

  /// The samples after the colours of the photometric interpretation. Those that the file does not declare count as
  /// unspecified.
  private static func extraBands(_ layout: TIFFLayout) -> [TIFFLayout.ExtraSample] {
    let colours = layout.photometric == .rgb || layout.photometric == .ycbcr ? 3 : 1
    let unsaid = layout.samples - layout.extraSamples.count - colours
    let extra = unsaid > 0 ? [TIFFLayout.ExtraSample](repeating: .unspecified, count: unsaid) : []
    return (extra + layout.extraSamples).suffix(max(0, layout.samples - colours))
  }

  private static func palette(_ handle: TIFFHandle, bits: Int, path: String) throws -> [UInt32] {
    guard bits <= 16, let palette = TIFFPalette(handle, bits: bits) else {
      throw CutError(
        .badSource, path: path, "is said to have a palette, but has none",
        remedy: "the file is damaged; copy or make it again")
    }
    return palette.words
  }

  private static func requireRGBAInterface(_ handle: TIFFHandle, layout: TIFFLayout, path: String) throws {
    if let reason = handle.rgbaRefusal() {
      throw CutError(
        .badSource, path: path,
        "its colours cannot be shown (photometric interpretation \(layout.photometric.code)): \(reason)",
        remedy: "convert it to an RGB image first")
    }
  }

  private static func nodata(_ user: [Double]?, handle: TIFFHandle, layout: TIFFLayout, bands: Int) throws
    -> [NodataValue]?
  {
    if let user {
      guard user.count == 1 || user.count >= bands else {
        throw CutError(
          .invalidOption, "\(user.count) nodata values do not fit \(bands) colour bands",
          remedy: "give one value, or one for each band")
      }
      return (0..<bands).map { NodataValue(user[user.count == 1 ? 0 : $0], format: layout.format, bits: layout.bits) }
    }
    guard let text = handle.text(tag: 42113), let value = NodataValue.parse(text) else { return nil }
    return [NodataValue](repeating: NodataValue(value, format: layout.format, bits: layout.bits), count: bands)
  }
}

/// A TIFF colour map, reduced to 8 bits.
struct TIFFPalette {
  /// Opaque RGBA words, one for each index.
  let words: [UInt32]

  /// - Returns: nil if the directory has none.
  init?(_ handle: TIFFHandle, bits: Int) {
    var red: UnsafePointer<UInt16>?
    var green: UnsafePointer<UInt16>?
    var blue: UnsafePointer<UInt16>?
    guard ctiff_colormap(handle.pointer, &red, &green, &blue) != 0, let red, let green, let blue else { return nil }
    let count = 1 << bits
    // The specification demands 16 bits with a maximum of 65535; some writers store 8-bit values, or shift them by
    // eight bits.
    let all = (0..<count).lazy.flatMap { [red[$0], green[$0], blue[$0]] }
    let divisor: UInt16 = all.allSatisfy { $0 < 256 } ? 1 : all.allSatisfy { $0 % 256 == 0 } ? 256 : 257
    words = (0..<count).map { i in
      PixelTable.word(
        red: UInt8(red[i] / divisor), green: UInt8(green[i] / divisor), blue: UInt8(blue[i] / divisor))
    }
  }
}

/// The nodata value of one band as a range, because a float written as text may not be read back exactly.
struct NodataValue: Sendable {
  let low: Double
  let high: Double
  /// The value is NaN, which is always nodata.
  let isNaN: Bool

  init(_ value: Double, format: TIFFLayout.SampleFormat, bits: Int) {
    isNaN = value.isNaN
    if format == .float && bits <= 32 && value.isFinite && abs(value) <= Double(Float.greatestFiniteMagnitude) * 1.0001
    {
      // Two units in the last place, as in GDAL.
      let nearest = Float(
        max(-Double(Float.greatestFiniteMagnitude), min(Double(Float.greatestFiniteMagnitude), value)))
      let slack = Double(nearest.ulp) * 2
      (low, high) = (Double(nearest) - slack, Double(nearest) + slack)
    } else {
      (low, high) = (value, value)
    }
  }

  func matches(_ value: Double) -> Bool { value.isNaN || (value >= low && value <= high) }

  /// The value of a GDAL_NODATA tag (`"255"`, `"-3.4e+38"`, `"nan"`), or nil.
  static func parse(_ text: String) -> Double? {
    let word = text.split { $0 == " " || $0 == "\0" || $0 == "\n" || $0 == "\t" }.first.map(String.init) ?? ""
    guard !word.isEmpty else { return nil }
    var end: UnsafeMutablePointer<CChar>?
    return word.withCString { start in
      let value = strtod(start, &end)
      return end.map { $0 > UnsafeMutablePointer(mutating: start) } == true ? value : nil
    }
  }
}
