/// The image of a TIFF file: its first directory, the mask of it if there is one, and its overviews.
struct TIFFImage: Sendable {
  let path: String
  let part: TIFFPart
  let mask: TIFFPart?
  let model: TIFFColourModel
  let directories: TIFFDirectories
  let warnings: WarningList

  var file: TIFFFile { part.file }
  var layout: TIFFLayout { part.layout }
  var alphaKind: AlphaKind { Self.alphaKind(TIFFPixelDecoder(layout: layout, model: model), part: part, mask: mask) }

  /// Reads and checks everything except the pixels.
  ///
  /// - Throws: ``CutError`` `.badSource` for files that are damaged or not supported, or whose samples need a scale.
  init(_ source: SourceFile, options: RasterOpenOptions) throws {
    let warnings = WarningList()
    let file = TIFFFile(source, directory: 0, warnings: warnings)
    func warn(_ text: String) { warnings.add("\(source.path): \(text)") }
    let (layout, survey, model) = try file.withHandle { handle in
      let layout = try TIFFLayout(handle, file: source)
      let survey = try TIFFBlockSurvey(layout, handle: handle, file: source)
      let model = try TIFFColourModel(layout, handle: handle, path: source.path, options: options, warn: warn)
      return (layout, survey, model)
    }
    try Self.requireDecodable(TIFFPixelDecoder(layout: layout, model: model), path: source.path)
    (path, self.model, self.warnings) = (source.path, model, warnings)
    part = TIFFPart(file: file, layout: layout, isSparse: survey.isSparse)
    directories = TIFFDirectories(source, image: layout, warnings: warnings)
    mask = try directories.mask()
    // Where nodata, alpha or a mask say what is not shown, GDAL leaves these blocks out too.
    if survey.missingCount > 0, model.nodata == nil, model.alphaBand == nil, mask == nil {
      warn(
        "\(survey.missingCount) of \(survey.checkedCount) blocks are missing in the file, and nothing is"
          + " drawn there; GDAL reads them as 0: if they are, write them with gdal_translate -co SPARSE_OK=FALSE")
    }
    if model.lacksScale { throw scaleWanted(options) }
    if model.isAlphaUncertain { warnAboutUnlikelyAlpha(warn) }
  }

  /// A sample of the colour bands' values, with the range that statistics state.
  func valueSample(_ options: RasterOpenOptions) -> ValueSample {
    var sample = sampled.values()
    let text = try? file.withHandle { $0.text(tag: 42112) }
    sample.statedRange = options.statedRange(
      of: model.colourBands.map { $0 + 1 }, own: GDALMetadata.statistics(text).ranges)
    return sample
  }

  private var sampled: TIFFValueSample { TIFFValueSample(part, mask: mask, directories: directories, model: model) }

  /// A coarser version of the image, of which a pixel spans at most `factor` pixels; nil if there is none.
  func overview(factorMax: Double) -> (image: TIFFPart, mask: TIFFPart?)? {
    directories.overview(factorMax: factorMax, isMasked: mask != nil) { Self.canDecode($0, model) }
  }

  /// Whether a directory's pixels can be decoded.
  static func canDecode(_ part: TIFFPart, _ model: TIFFColourModel) -> Bool {
    let decoder = TIFFPixelDecoder(layout: part.layout, model: model)
    guard (try? requireDecodable(decoder, path: part.file.path)) != nil else { return false }
    return !decoder.isThroughRGBA || (try? part.file.withHandle { $0.rgbaRefusal() == nil }) == true
  }

  static func alphaKind(_ pixels: TIFFPixelDecoder, part: TIFFPart, mask: TIFFPart?) -> AlphaKind {
    let canBeMissing = part.isSparse || mask != nil
    if pixels.model.alphaBand != nil { return .soft }
    if case .palette(let colours) = pixels.model.colour {
      let kind = ColourTable.alphaKind(colours, bits: part.layout.format == .unsigned ? part.layout.bits : 64)
      return kind == .opaque && (canBeMissing || pixels.model.nodata != nil) ? .mask : kind
    }
    if case .indexed(let table) = pixels.form { return canBeMissing || !table.isOpaque ? .mask : .opaque }
    let canBeNaN = part.layout.format == .float
    return canBeMissing || canBeNaN || pixels.model.nodata != nil ? .mask : .opaque
  }

  /// Warns of an alpha band that looks like a picture: most of its values are neither transparent nor opaque, and they
  /// are many different ones.
  private func warnAboutUnlikelyAlpha(_ warn: (String) -> Void) {
    guard let band = model.alphaBand, layout.samples > 3 else { return }
    let values = sampled.alphaValues()
    let high = layout.format == .float ? 1 : Double(sign: .plus, exponent: layout.bits, significand: 1) - 1
    let between = values.filter { $0 > 0 && $0 < high }
    guard between.count * 2 > values.count, Set(between).count > 32 else { return }
    let share = between.count * 100 / max(values.count, 1)
    warn(
      "its band \(band + 1) is said to be alpha, but \(share)% of its values are neither transparent nor opaque;"
        + " if it is near infrared, give --alpha none"
    )
  }

  /// Refuses unsupported sample formats and blocks that are too large to decode.
  private static func requireDecodable(_ pixels: TIFFPixelDecoder, path: String) throws {
    let layout = pixels.layout
    let isPlain = layout.format == .unsigned && layout.bits <= 8
    let isKnown =
      switch (pixels.model.colour, pixels.form) {
      case (.libtiffRGBA, _), (_, .indexed): true
      case (.palette, _): isPlain || BandRow.canScale(layout)
      // Samples of fewer than 8 bits are stretched.
      case _ where pixels.model.holdsHeights: BandRow.canScale(layout)
      default: isPlain && (pixels.model.scale == nil || layout.bits == 8) || BandRow.canScale(layout)
      }
    guard isKnown else {
      throw CutError(
        .badSource, path: path,
        "has samples of \(layout.bits) bits\(layout.bits < 8 ? " and several bands" : ""), which cannot be scaled",
        remedy: "convert it, for instance with gdal_translate -ot UInt16")
    }
    let used = pixels.usedBlock
    let blockPixels = used.width.multipliedReportingOverflow(by: used.height)
    let storedBytes = layout.storedRowBytes.multipliedReportingOverflow(by: used.height)
    // libtiff knows the bytes of blocks whose colours are stored for several pixels.
    let isStoredTooLarge =
      min(layout.storedBlockBytes, storedBytes.overflow ? .max : storedBytes.partialValue) > TIFFLayout.blockBytesMax
    let isTooLarge =
      blockPixels.overflow || blockPixels.partialValue > TIFFLayout.blockBytesMax / pixels.form.bytesPerPixel
      || isStoredTooLarge
    // Large strips are decoded row by row, which the RGBA interface does not support.
    let isByRows =
      !layout.isTiled && !pixels.isThroughRGBA && layout.storedRowBytes <= TIFFLayout.blockBytesMax / 16
    guard !isTooLarge || isByRows else {
      throw CutError(
        .badSource, path: path,
        "has blocks of \(layout.blockWidth) x \(layout.blockHeight) pixels, too large to decode",
        remedy: "rewrite it in tiles, for instance with gdal_translate -co TILED=YES")
    }
  }

  private func scaleWanted(_ options: RasterOpenOptions) -> CutError {
    let kind =
      switch layout.format {
      case .float: "\(layout.bits)-bit float"
      case .signed: "\(layout.bits)-bit signed"
      case .unsigned: "\(layout.bits)-bit"
      }
    let bits = layout.format == .unsigned && layout.bits <= 16 ? layout.bits : nil
    return .scaleWanted(path: path, kind: kind, sample: valueSample(options), bits: bits)
  }
}
