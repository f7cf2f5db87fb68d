import CTIFFShim
import LibC
import RegionCatalog

/// What the samples of a TIFF mean: which bands are colours, which is alpha, which values are nodata.
struct TIFFColourModel: Sendable {
  enum Colour: Sendable {
    /// One band, black to white.
    case grey
    /// Three bands.
    case rgb
    /// One band, an index into this colour map of RGBA words.
    case palette([UInt32])
    /// The output of libtiff's RGBA interface (YCbCr, CMYK, CIELab, LogLuv).
    case libtiffRGBA
  }

  let colour: Colour
  /// The indices of the bands that are shown: three for RGB, else one.
  let colourBands: [Int]
  /// The index of the alpha band, if there is one.
  let alphaBand: Int?
  /// The alpha band is one only by the file's ExtraSamples tag, which is often wrong for near infrared.
  let isAlphaUncertain: Bool
  /// Colours are premultiplied by alpha.
  let isAssociated: Bool
  /// Zero is white.
  let isInverted: Bool
  /// One for each colour band (one for grey and palette), or nil.
  let nodata: [NodataValue]?
  /// The mapping of samples to 0...255, or nil if 8-bit samples are used unchanged.
  let scale: SampleScale?
  /// The band's values become ``HeightCode``.
  let holdsHeights: Bool

  /// The model of a mask.
  init(maskOf layout: TIFFLayout) {
    (colour, colourBands, alphaBand, isAssociated, isInverted) = (.grey, [0], nil, false, false)
    (nodata, scale, isAlphaUncertain, holdsHeights) = (nil, nil, false, false)
  }

  var colourBandCount: Int { colourBands.count }

  /// Interprets the samples, like GDAL where the file is ambiguous. `warn` is called for bands that are not used.
  ///
  /// - Throws: ``CutError`` `.badSource` for unsupported photometric interpretations, `.invalidOption` for options that
  ///   do not fit the bands.
  init(
    _ layout: TIFFLayout, handle: TIFFHandle, path: String, options: RasterOpenOptions, warn: (String) -> Void
  ) throws {
    holdsHeights = options.readsHeights
    let options = options.withAuxiliaryColours
    let roles = TIFFBandRoles(
      layout, metadata: handle.text(tag: 42112), beside: options.auxiliary?.interpretations ?? [:])
    let alpha = try BandSelection.alpha(options, bandCount: layout.samples, path: path) ?? roles.alpha
    let bands = try BandSelection.colours(options, bandCount: layout.samples, path: path)
    // Bands that the user chooses come without the file's alpha band, which may be one of them.
    alphaBand = bands != nil && options.alpha == nil ? nil : alpha
    isAlphaUncertain = alphaBand != nil && options.alpha == nil && !roles.isAlphaCertain
    isAssociated = alphaBand.map { roles.isAssociated($0) } ?? false
    let plainBands = layout.samples - (alphaBand == nil ? 0 : 1)
    func isLeftOut(_ shown: String) -> String { "only \(shown) of \(plainBands) bands" }
    let choice = "; choose others with --bands"

    let isOneBand = bands.map { $0.count == 1 } ?? (roles.colours == nil)
    let table = isOneBand ? options.colourTables?[(bands?[0] ?? 0) + 1] : nil
    switch layout.photometric {
    case .minIsBlack where table != nil, .minIsWhite where table != nil, .palette where table != nil,
      .rgb where table != nil:
      colour = .palette(table!.words)
      colourBands = bands ?? [0]
    case .palette where (bands == nil || bands == [0]) && options.colourTables?.isEmpty != true:
      colour = .palette(try Self.palette(handle, bits: layout.bits, path: path))
      colourBands = [0]
      if plainBands > 1, bands == nil { warn("\(isLeftOut("the first")) is used, through the palette\(choice)") }
    case .rgb where layout.samples >= 3, .ycbcr where layout.isRGBFromJPEG && layout.samples == 3, .minIsBlack,
      .minIsWhite, .mask, .palette:
      if let bands {
        colour = bands.count == 3 ? .rgb : .grey
        colourBands = bands
      } else if let named = roles.colours {
        colour = .rgb
        colourBands = named
        if plainBands > 3 {
          let list =
            named == [0, 1, 2] ? "the first three" : "bands \(named.map { "\($0 + 1)" }.joined(separator: ","))"
          warn("\(isLeftOut(list)) are used, as red, green and blue\(choice)")
        }
      } else if plainBands == 3, layout.bits == 8, alphaBand == nil || alphaBand == 3 {
        colour = .rgb
        colourBands = [0, 1, 2]
        warn("its three bands are not said to be colours; they are taken for red, green and blue")
      } else {
        colour = .grey
        colourBands = [alphaBand == 0 && layout.samples > 1 ? 1 : 0]
        if plainBands > 1 { warn("\(isLeftOut("the first")) is used, as grey\(choice)") }
      }
    default:
      guard bands == nil || bands == [0, 1, 2], options.alpha == nil || options.alpha == .absent else {
        throw CutError(
          .invalidOption, path: path, "its bands are not colours by themselves, so that none can be chosen",
          remedy: "leave --bands and --alpha out, or convert it to an RGB image first")
      }
      colour = .libtiffRGBA
      colourBands = [0, 1, 2]
      try Self.requireRGBAInterface(handle, layout: layout, path: path)
    }
    if case .grey = colour { isInverted = layout.photometric == .minIsWhite } else { isInverted = false }

    let is8Bit = layout.format == .unsigned && layout.bits <= 8
    switch colour {
    case .palette, .libtiffRGBA: self.scale = nil
    default:
      self.scale = is8Bit && options.keeps8Bit ? nil : options.scale ?? (is8Bit ? nil : SampleScale(unchecked: 0, 0))
    }
    nodata = try Self.nodata(options.nodata, handle: handle, layout: layout, bands: colourBands.count)
  }

  /// Whether samples of more than 8 bits lack a scale.
  var lacksScale: Bool { scale.map { $0.low == $0.high } ?? false }

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
