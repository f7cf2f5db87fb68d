import COpenJPEG

/// What a JPEG 2000 file holds, checked before anything is allocated, and how its samples become pixels.
struct JP2Image: Sendable {
  let file: SourceFile
  let width: Int
  let height: Int
  /// The image's corner on the reference grid, to which windows refer.
  let origin: (x: Int, y: Int)
  let tile: (width: Int, height: Int)
  let isTiled: Bool
  /// How often the resolution can be halved.
  let reductionMax: Int
  let form: PixelForm
  let alphaKind: AlphaKind
  /// Bits of a colour's sample.
  let depth: Int
  private let isSigned: Bool
  private let isYCC: Bool
  private let alphaMax: Double
  private let channels: RowChannels
  private let converter: SampleRowConverter?

  /// - Throws: ``CutError`` `.badSource` for damaged files, other colour spaces, and samples that need a scale;
  ///   `.invalidOption` for bands that it does not have.
  init(_ file: SourceFile, options: RasterOpenOptions) throws {
    self.file = file
    func refused(_ message: String) -> CutError {
      CutError(
        .badSource, path: file.path, message, remedy: "convert it to a GeoTIFF, for instance with gdal_translate")
    }
    let codec = try JP2Codec(file)
    let header = codec.image.pointee
    guard let tiling = codec.tiling, header.x1 > header.x0, header.y1 > header.y0, header.x1 <= UInt32(Int32.max),
      header.y1 <= UInt32(Int32.max), tiling.width > 0, tiling.height > 0
    else { throw JP2Codec.failure(file.path, "its header is damaged") }
    (width, height) = (Int(header.x1 - header.x0), Int(header.y1 - header.y0))
    origin = (Int(header.x0), Int(header.y0))
    tile = (tiling.width, tiling.height)
    isTiled = tiling.count > 1
    // Halved sizes are exact only from the origin of the reference grid on.
    reductionMax = origin == (0, 0) ? tiling.reductionMax : 0

    let boxes = JP2Boxes.channels(file)
    if boxes.hasPalette {
      // The palette's colours become components when a window is decoded.
      try codec.decode(
        left: Int(header.x0), top: Int(header.y0), right: Int(header.x0) + 1, bottom: Int(header.y0) + 1)
    }
    let components = Array(codec.components)
    let alpha = boxes.alpha.flatMap { components.indices.contains($0) ? $0 : nil }
    let colours = components.indices.filter { $0 != alpha }
    guard let first = colours.first.map({ components[$0] }), components.count <= 16 else {
      throw refused("has no colours, or too many components")
    }
    let used = colours.count >= 3 ? Array(colours.prefix(3)) : [colours[0]]
    guard (1...31).contains(first.prec),
      used.allSatisfy({ components[$0].prec == first.prec && components[$0].sgnd == first.sgnd })
    else { throw refused("has components of different depths") }
    guard components.allSatisfy({ (1...255).contains($0.dx) && (1...255).contains($0.dy) }) else {
      throw refused("has components of impossible sizes")
    }
    guard header.color_space != OPJ_CLRSPC_CMYK, header.color_space != OPJ_CLRSPC_EYCC else {
      throw refused("has colours that are neither grey nor RGB nor YCbCr")
    }
    isYCC = header.color_space == OPJ_CLRSPC_SYCC && used.count == 3
    (depth, isSigned) = (Int(first.prec), first.sgnd != 0)
    alphaMax = alpha.map { Double(sign: .plus, exponent: Int(min(components[$0].prec, 31)), significand: 1) - 1 } ?? 1
    channels = RowChannels(count: components.count, colours: used, alpha: alpha)
    let isPlain = depth <= 8 && !isSigned
    // A palette of the file's own is applied by the decoder, and nothing is left of its indices.
    var options = options
    if boxes.hasPalette, options.colourTables != nil, !options.readsHeights {
      (options.colourTables, options.bands) = (nil, nil)
    }
    let scale = (isPlain && options.keeps8Bit) || options.colourTable != nil ? nil : options.scale
    guard isPlain || scale != nil || options.colourTable != nil else {
      throw CutError.scaleWanted(
        path: file.path, kind: "\(depth)-bit\(isSigned ? " signed" : "")",
        sample: try? JP2Image.valueSample(file, options: options))
    }
    let stretch = depth < 8 && options.colourTable == nil ? SampleScale(unchecked: 0, Double(1 << depth) - 1) : nil
    converter = try SampleRowConverter(
      options: options, scale: scale ?? stretch, channels: channels, opaque: alphaMax, path: file.path)
    alphaKind = converter?.alphaKind ?? (alpha != nil ? .soft : .opaque)
    form = alpha != nil || converter != nil ? .rgba : used.count == 3 ? .rgb : .indexed(.grey)
  }

  /// Whether the colours need a scale.
  static func needsScale(_ file: SourceFile, options: RasterOpenOptions) throws -> Bool {
    let image = try JP2Image(file, options: options.withAnyScale)
    return image.depth > 8 || image.isSigned
  }

  /// A sample of the colours' values from a coarser version; nil if they need no scale.
  static func valueSample(_ file: SourceFile, options: RasterOpenOptions) throws -> ValueSample? {
    let image = try JP2Image(file, options: options.withAnyScale)
    guard image.depth > 8 || image.isSigned, options.colourTable == nil else { return nil }
    let shown = try ShownPixels(of: file, width: image.width, height: image.height)
    var reduction = 0
    while reduction < image.reductionMax, (image.width >> reduction) * (image.height >> reduction) > 1 << 22 {
      reduction += 1
    }
    let window = image.reducedSize(reduction)
    // Without coarser versions the middle stands for the whole.
    let (w, h) = (min(window.width, 2048), min(window.height, 2048))
    let part = PixelRect(x: (window.width - w) / 2, y: (window.height - h) / 2, width: w, height: h)
    let chosen = try image.channels.chosen(options, path: file.path)
    var sample = ValueSample()
    sample.statedRange = options.statedRange(of: chosen.colours.map { $0 + 1 })
    let step = w * h / ValueSample.countMax
    let flags = try shown.words(part, reduction: reduction)
    try image.withDecoded(part, reduction: reduction) { value in
      for y in 0..<h {
        for x in 0..<w where ValueSample.takes(y * w + x, step: step) && flags?[y * w + x] != 0 {
          if let alpha = chosen.alpha, value(alpha, x, y) == 0 { continue }
          let values = chosen.colours.map { value($0, x, y) }
          if let nodata = options.nodata, !nodata.isEmpty,
            values.indices.allSatisfy({ values[$0] == nodata[min($0, nodata.count - 1)] })
          {
            continue
          }
          sample.add(values)
        }
      }
    }
    return sample
  }

  /// The size after halving.
  func reducedSize(_ reduction: Int) -> (width: Int, height: Int) {
    ((width + (1 << reduction) - 1) >> reduction, (height + (1 << reduction) - 1) >> reduction)
  }

  /// Decodes a window of the image at a reduced resolution into rows of ``form``, without padding.
  func decode(_ window: PixelRect, reduction: Int, into target: UnsafeMutableRawPointer, rowBytes: Int) throws {
    try withDecoded(window, reduction: reduction) { value in
      withUnsafeTemporaryAllocation(of: UInt32.self, capacity: window.width) { line in
        let words = line.baseAddress!
        for y in 0..<window.height {
          if let converter {
            converter.convert(count: window.width, into: words) { value($1, $0, y) }
          } else {
            for x in 0..<window.width { words[x] = word(x, y, value) }
          }
          form.pack(words, count: window.width, into: target + y * rowBytes)
        }
      }
    }
  }

  private func word(_ x: Int, _ y: Int, _ value: (Int, Int, Int) -> Double) -> UInt32 {
    func byte(_ number: Double) -> UInt32 { UInt32(max(0, min(255, number.rounded()))) }
    let bytes = channels.colours.map { byte(value($0, x, y)) }
    let colour = bytes.count == 1 ? bytes[0] * 0x0001_0101 : bytes[0] | bytes[1] << 8 | bytes[2] << 16
    let alpha = channels.alpha.map { byte(value($0, x, y) * 255 / alphaMax) } ?? 255
    return alpha == 0 ? 0 : colour | alpha << 24
  }

  /// Decodes a window, and calls `body` with the value of a component at x, y of the window.
  private func withDecoded(
    _ window: PixelRect, reduction: Int, _ body: (_ value: (Int, Int, Int) -> Double) throws -> Void
  ) throws {
    let codec = try JP2Codec(file, reduction: reduction)
    let (left, top) = (origin.x + window.x << reduction, origin.y + window.y << reduction)
    try codec.decode(
      left: left, top: top, right: min(origin.x + (window.x + window.width) << reduction, origin.x + width),
      bottom: min(origin.y + (window.y + window.height) << reduction, origin.y + height))
    let components = codec.components
    guard components.count >= channels.count, components.allSatisfy({ $0.w > 0 && $0.h > 0 }) else {
      throw JP2Codec.failure(file.path, "the pixels at \(left),\(top) cannot be decoded: a component is missing")
    }
    // Subsampled components begin at the first sample whose column is a multiple of their step.
    func sample(_ component: Int, _ x: Int, _ y: Int) -> Double {
      let part = components[component]
      let step = (x: Int(part.dx), y: Int(part.dy))
      let column = min(
        max((left + x << reduction) / step.x >> reduction - Int(part.x0) >> reduction, 0), Int(part.w) - 1)
      let row = min(max((top + y << reduction) / step.y >> reduction - Int(part.y0) >> reduction, 0), Int(part.h) - 1)
      return Double(part.data[row * Int(part.w) + column])
    }
    let isSubsampled = components.contains { $0.dx != 1 || $0.dy != 1 }
    func plain(_ component: Int, _ x: Int, _ y: Int) -> Double {
      let part = components[component]
      return Double(part.data[min(y, Int(part.h) - 1) * Int(part.w) + min(x, Int(part.w) - 1)])
    }
    func stored(_ component: Int, _ x: Int, _ y: Int) -> Double {
      isSubsampled ? sample(component, x, y) : plain(component, x, y)
    }
    guard isYCC else { return try body(stored) }
    // ITU-R BT.601, as in JPEG.
    let half = Double(1 << (depth - 1))
    try body { component, x, y in
      guard let place = channels.colours.firstIndex(of: component) else { return stored(component, x, y) }
      let luma = stored(channels.colours[0], x, y)
      let blue = stored(channels.colours[1], x, y) - (isSigned ? 0 : half)
      let red = stored(channels.colours[2], x, y) - (isSigned ? 0 : half)
      return place == 0
        ? luma + 1.402 * red : place == 1 ? luma - 0.344136 * blue - 0.714136 * red : luma + 1.772 * blue
    }
  }
}
