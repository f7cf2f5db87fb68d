import CTIFFShim

/// The image of a TIFF file: its first directory, and the mask of it if there is one.
struct TIFFImage: Sendable {
  let path: String
  let file: TIFFFile
  let layout: TIFFLayout
  let pixels: TIFFPixelDecoder
  /// Whether some blocks are missing in the file.
  let isSparse: Bool
  let alphaKind: AlphaKind
  /// The mask's directory and layout.
  let mask: (file: TIFFFile, layout: TIFFLayout, isSparse: Bool)?
  let warnings: WarningList

  /// Reads and checks everything except the pixels.
  ///
  /// - Throws: ``CutError`` `.badSource` for files that are damaged or not supported.
  init(_ source: SourceFile, options: RasterOpenOptions) throws {
    let warnings = WarningList()
    let file = TIFFFile(source, directory: 0, warnings: warnings)
    func warn(_ text: String) { warnings.add("\(source.path): \(text)") }
    let (layout, isSparse, model) = try file.withHandle { handle in
      let layout = try TIFFLayout(handle, file: source)
      let survey = try TIFFBlockSurvey(layout, handle: handle, file: source)
      let model = try TIFFColourModel(
        layout, handle: handle, path: source.path, nodata: options.nodata, scale: options.scale, warn: warn)
      return (layout, survey.isSparse, model)
    }
    if layout.orientation != 1 { warn("its orientation tag (\(layout.orientation)) is ignored") }
    let pixels = TIFFPixelDecoder(layout: layout, model: model)
    try Self.requireDecodable(pixels, path: source.path)
    if model.lacksScale { throw Self.scaleWanted(file, layout: layout, model: model) }

    self.mask = try Self.findMask(source, image: layout, warnings: warnings)
    let canBeMissing = isSparse || mask != nil
    if model.alphaBand != nil {
      alphaKind = .soft
    } else if case .indexed(let table) = pixels.form {
      alphaKind = canBeMissing || !table.isOpaque ? .mask : .opaque
    } else {
      let canBeNaN = layout.format == .float
      alphaKind = canBeMissing || canBeNaN || model.nodata != nil ? .mask : .opaque
    }
    (path, self.file, self.layout, self.pixels) = (source.path, file, layout, pixels)
    (self.isSparse, self.warnings) = (isSparse, warnings)
  }

  /// Refuses unsupported sample formats and blocks that are too large to decode.
  private static func requireDecodable(_ pixels: TIFFPixelDecoder, path: String) throws {
    let layout = pixels.layout
    let isPlain = layout.format == .unsigned && layout.bits <= 8
    let isKnown =
      switch (pixels.model.colour, pixels.form) {
      case (.libtiffRGBA, _), (_, .indexed): true
      case (.palette, _): isPlain || (layout.bits == 16 && BandRow.canScale(layout))
      default: isPlain && (pixels.model.scale == nil || layout.bits == 8) || BandRow.canScale(layout)
      }
    guard isKnown else {
      throw CutError(
        .badSource, path: path,
        "has samples of \(layout.bits) bits\(layout.bits < 8 ? " and several bands" : ""), which cannot be scaled",
        remedy: "convert it, for instance with gdal_translate -ot UInt16")
    }
    let blockPixels = layout.blockWidth.multipliedReportingOverflow(by: layout.blockHeight)
    let isTooLarge =
      blockPixels.overflow || blockPixels.partialValue > TIFFLayout.blockBytesMax / pixels.form.bytesPerPixel
      || layout.storedBlockBytes > TIFFLayout.blockBytesMax
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

  private static func scaleWanted(_ file: TIFFFile, layout: TIFFLayout, model: TIFFColourModel) -> CutError {
    let kind =
      switch layout.format {
      case .float: "\(layout.bits)-bit float"
      case .signed: "\(layout.bits)-bit signed"
      case .unsigned: "\(layout.bits)-bit"
      }
    let range = TIFFValueRange(file, layout: layout, model: model)
    let example = range.map { "--scale \($0.low),\($0.high)" } ?? "--scale MIN,MAX"
    let found = range == nil ? "" : ", the range of a sample of its values"
    return CutError(
      .badSource, path: file.path, "has \(kind) samples, which must be scaled to 0...255",
      remedy: "say which values become black and white: \(example)\(found)")
  }

  /// The first directory that is a mask of the full image and not of an overview.
  private static func findMask(_ source: SourceFile, image: TIFFLayout, warnings: WarningList) throws
    -> (TIFFFile, TIFFLayout, Bool)?
  {
    let handle = try TIFFHandle(source)
    for directory in 1..<directoriesMax {
      // The image is usable even if a directory after it is damaged.
      guard ctiff_next_directory(handle.pointer) != 0 else { return nil }
      var facts = ctiff_layout()
      guard ctiff_read_layout(handle.pointer, &facts) != 0, facts.subfile_type & 5 == 4,
        Int(facts.width) == image.width, Int(facts.height) == image.height
      else { continue }
      let layout = try TIFFLayout(handle, file: source)
      guard layout.samples == 1, layout.bits == 1 || layout.bits == 8 else { continue }
      guard layout.blockWidth * layout.blockHeight <= TIFFLayout.blockBytesMax else { continue }
      let survey = try TIFFBlockSurvey(layout, handle: handle, file: source)
      return (TIFFFile(source, directory: directory, warnings: warnings), layout, survey.isSparse)
    }
    return nil
  }

  /// A mask follows the image or the image's overviews.
  private static let directoriesMax = 64
}

/// The lowest and highest value in a sample of the first band's blocks, from which the error message suggests a scale.
private struct TIFFValueRange {
  let low: String
  let high: String

  private static let blocksMax = 16

  /// - Returns: nil if nothing can be decoded or everything is nodata.
  init?(_ file: TIFFFile, layout: TIFFLayout, model: TIFFColourModel) {
    guard layout.storedBlockBytes <= TIFFLayout.blockBytesMax / 16, BandRow.canScale(layout) else { return nil }
    let count = layout.columns * layout.rows
    let step = max(1, count / Self.blocksMax)
    var range: ClosedRange<Double>?
    for number in stride(from: 0, to: count, by: step) {
      let (row, column) = (number / layout.columns, number % layout.columns)
      let rows = min(layout.blockHeight, layout.height - row * layout.blockHeight)
      _ = try? file.withHandle { handle in
        let bytes = layout.storedRowBytes * layout.blockHeight
        let memory = handle.scratch(byteCount: bytes)
        guard
          handle.decode(layout.blockNumber(column: column, row: row, plane: 0), into: memory, byteCount: bytes) > 0
        else { return }
        for y in 0..<rows {
          let band = BandRow(base: memory + y * layout.storedRowBytes, stride: layout.samplesPerBlockPixel)
          let columns = min(layout.blockWidth, layout.width - column * layout.blockWidth)
          for value in band.values(count: columns, layout: layout) where value.isFinite {
            if let nodata = model.nodata, nodata[0].matches(value) { continue }
            range = min(range?.lowerBound ?? value, value)...max(range?.upperBound ?? value, value)
          }
        }
      }
    }
    guard let range, range.lowerBound < range.upperBound else { return nil }
    func text(_ value: Double) -> String {
      abs(value) < 1e15 && value == value.rounded() ? "\(Int(value))" : "\(Float(value))"
    }
    (low, high) = (text(range.lowerBound), text(range.upperBound))
  }
}
