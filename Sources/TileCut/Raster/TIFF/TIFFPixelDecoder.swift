/// Converts a decoded TIFF block to pixels of a ``PixelForm``, row by row.
///
/// 1. Choose the most compact form: a table for one band of at most 8 bits, RGB if nothing is transparent, else RGBA.
/// 2. If the stored samples already have that form, libtiff decodes straight into the target (``isStoredAsForm``).
/// 3. Else unpack (fewer than 8 bits) or scale (more) each band to a row of bytes, then join the bands.
struct TIFFPixelDecoder: Sendable {
  let layout: TIFFLayout
  let model: TIFFColourModel
  let form: PixelForm

  init(layout: TIFFLayout, model: TIFFColourModel) {
    self.layout = layout
    self.model = model
    form = Self.form(layout: layout, model: model)
    bands = model.colourBands + (model.alphaBand.map { [$0] } ?? [])
  }

  /// The decoder of a mask of 1 or 8 bits.
  init(maskOf layout: TIFFLayout) {
    self.layout = layout
    model = TIFFColourModel(maskOf: layout)
    form = .indexed(.mask)
    bands = [0]
  }

  /// libtiff's RGBA interface decodes; there is nothing to convert.
  var isThroughRGBA: Bool { if case .libtiffRGBA = model.colour { true } else { false } }

  /// Blocks are stored in the form itself; there is nothing to convert.
  var isStoredAsForm: Bool {
    switch form {
    case .indexed: layout.bits == 8 && layout.samplesPerBlockPixel == 1
    case .rgb: layout.bits == 8 && !layout.isSeparate && layout.samples == 3 && bands == [0, 1, 2]
    case .rgba: false
    }
  }

  /// The bands in use: colours, then alpha.
  let bands: [Int]

  /// The planes to decode, in this order; one for each band in use if bands are stored separately.
  var planes: [Int] { layout.isSeparate ? bands : [0] }

  private static func form(layout: TIFFLayout, model: TIFFColourModel) -> PixelForm {
    if case .libtiffRGBA = model.colour { return .rgba }
    if model.alphaBand != nil || model.holdsHeights { return .rgba }
    switch model.colour {
    case .rgb:
      return model.nodata == nil && model.scale == nil && layout.bits <= 8 ? .rgb : .rgba
    case .grey, .palette, .libtiffRGBA:
      return layout.bits <= 8 && layout.format != .float
        ? .indexed(PixelTable(words(layout: layout, model: model))) : .rgba
    }
  }

  /// The RGBA word of each value of a band of at most 8 bits.
  private static func words(layout: TIFFLayout, model: TIFFColourModel) -> [UInt32] {
    let count = 1 << layout.bits
    return (0..<count).map { index in
      let value = layout.format == .signed && index >= count / 2 ? Double(index - count) : Double(index)
      if let nodata = model.nodata, nodata[0].matches(value) { return 0 }
      if case .palette(let colours) = model.colour {
        return colours.withUnsafeBufferPointer { ColourTable.word(value, in: $0) }
      }
      let scale = model.scale ?? SampleScale(unchecked: 0, Double(count - 1))
      let grey = UInt8(max(0, min(255, scale.level(value) + 0.5)))
      return PixelTable.grey(model.isInverted ? 255 - grey : grey)
    }
  }

  /// Converts a row of pixels.
  ///
  /// - Parameters:
  ///   - planes: the row's samples: of all bands interleaved, or of each of ``planes`` if bands are stored separately.
  ///   - work: ``workBytes(width:)`` bytes.
  /// - Returns: true if at least one pixel is not transparent.
  func convert(
    _ planes: [UnsafeRawPointer], count: Int, into target: UnsafeMutableRawPointer, work: UnsafeMutableRawPointer
  ) -> Bool {
    let rows = bandRows(planes, count: count, work: work)
    switch form {
    case .indexed:
      rows[0].gather(count: count, into: target.assumingMemoryBound(to: UInt8.self))
      return true
    case .rgb:
      Self.joinOpaque(rows, count: count, into: target)
      return true
    case .rgba:
      return joinRGBA(rows, count: count, into: target, work: work)
    }
  }

  /// The samples of ``bands`` in a row of pixels; parameters as for ``convert(_:count:into:work:)``.
  func bandRows(_ planes: [UnsafeRawPointer], count: Int, work: UnsafeMutableRawPointer) -> [BandRow] {
    if layout.bits % 8 != 0 { return unpack(planes, count: count, work: work) }
    if layout.isSeparate { return planes.map { BandRow(base: $0, stride: 1) } }
    return bands.map { BandRow(base: planes[0] + $0 * (layout.bits / 8), stride: layout.samples) }
  }

  /// Bytes of scratch memory that ``convert(_:count:into:work:)`` needs for rows of `width` pixels.
  func workBytes(width: Int) -> Int { unpackedBytes(width: width) + 6 * (width + 64) }

  /// The part of the scratch memory that holds samples of a number of bits that is no multiple of 8.
  func unpackedBytes(width: Int) -> Int {
    let samples = layout.isSeparate ? bands.count : layout.samples
    let bytes = layout.bits % 8 == 0 ? 0 : layout.bits < 8 ? 1 : 2
    return (samples * bytes * (width + 16) + 15) / 16 * 16
  }
}
