import TileImage

/// Where the bands of a file lie in its decoded rows.
struct RowChannels {
  /// Samples of one pixel in a row.
  let count: Int
  /// The channels of the colours, one or three; they come first.
  let colours: [Int]
  /// The channel of alpha.
  let alpha: Int?

  init(count: Int, colours: Int, alpha: Int?) { self.init(count: count, colours: Array(0..<colours), alpha: alpha) }

  init(count: Int, colours: [Int], alpha: Int?) {
    (self.count, self.colours, self.alpha) = (count, colours, alpha)
  }

  /// The channels that the user chose; a file's bands are its colours and then alpha.
  ///
  /// - Throws: ``CutError`` `.invalidOption` if the file has no such band.
  func chosen(_ options: RasterOpenOptions, path: String) throws -> RowChannels {
    let bands = colours + (alpha.map { [$0] } ?? [])
    let chosen = try BandSelection.colours(options, bandCount: bands.count, path: path)
    let own = chosen == nil ? alpha : nil
    let alpha = try BandSelection.alpha(options, bandCount: bands.count, path: path).map { $0.map { bands[$0] } } ?? own
    return RowChannels(count: count, colours: chosen?.map { bands[$0] } ?? colours, alpha: alpha)
  }
}

/// Applies the user's bands, scale and nodata values to rows of interleaved samples.
struct SampleRowConverter {
  private let channels: RowChannels
  private let is16Bit: Bool
  private let scale: SampleScale
  private let nodata: [Double]?
  private let readsHeights: Bool
  /// The colours of the values of the one band that is shown.
  private let table: [UInt32]?
  private let depth: Int
  /// The converted size of one unit of the file's samples, since decoders stretch them to the full range of 8 or
  /// 16 bits.
  private let unit: Double
  /// The value of an opaque sample of alpha.
  private var opaque: Double

  /// - Returns: nil if the options leave all samples as they are.
  /// - Parameters:
  ///   - depth: bits of the file's samples, in whose units the scale and nodata values are given.
  /// - Throws: ``CutError`` `.invalidOption` if the number of nodata values does not fit that of colours, or a band
  ///   does not exist.
  init?(
    options: RasterOpenOptions, scale: SampleScale?, channels: RowChannels, is16Bit: Bool, depth: Int,
    path: String
  ) throws {
    guard
      scale != nil || options.nodata != nil || options.bands != nil || options.alpha != nil || is16Bit
        || options.colourTables?.isEmpty == false
    else { return nil }
    self.channels = try channels.chosen(options, path: path)
    table = self.channels.colours.count == 1 ? options.colourTable?.words : nil
    self.depth = depth
    readsHeights = options.readsHeights
    self.is16Bit = is16Bit
    let high = Double((1 << (is16Bit ? 16 : 8)) - 1)
    let highest = Double((1 << depth) - 1)
    unit = high / highest
    opaque = high
    self.scale = scale ?? SampleScale(unchecked: 0, highest)
    let colours = self.channels.colours.count
    guard let values = options.nodata else {
      nodata = nil
      return
    }
    guard values.count == 1 || values.count >= colours else {
      throw CutError(
        .invalidOption, "\(values.count) nodata values do not fit \(colours) colour bands",
        remedy: "give one value, or one for each band")
    }
    nodata = (0..<colours).map { values[values.count == 1 ? 0 : $0] }
  }

  /// For samples of any depth that are not stretched.
  ///
  /// - Parameter opaque: the value of an opaque sample of alpha.
  /// - Returns: nil if the options leave all samples as they are.
  init?(
    options: RasterOpenOptions, scale: SampleScale?, channels: RowChannels, opaque: Double, path: String
  ) throws {
    guard
      let converter = try SampleRowConverter(
        options: options, scale: scale, channels: channels, is16Bit: false, depth: 8, path: path)
    else { return nil }
    self = converter
    self.opaque = opaque
  }

  /// Of the converted pixels.
  var alphaKind: AlphaKind {
    if channels.alpha != nil { return .soft }
    let kind = table.map { ColourTable.alphaKind($0, bits: depth) } ?? .opaque
    return kind == .opaque && nodata != nil ? .mask : kind
  }

  /// Converts `count` pixels to RGBA words.
  func convert(_ row: UnsafeRawPointer, count: Int, into words: UnsafeMutablePointer<UInt32>) {
    let wide = row.assumingMemoryBound(to: UInt16.self)
    let narrow = row.assumingMemoryBound(to: UInt8.self)
    let step = channels.count
    if is16Bit {
      convert(count: count, into: words) { Double(wide[$0 * step + $1]) }
    } else {
      convert(count: count, into: words) { Double(narrow[$0 * step + $1]) }
    }
  }

  /// Converts `count` pixels to RGBA words.
  ///
  /// - Parameter sample: the sample of a pixel and a channel.
  @inline(__always)
  func convert(count: Int, into words: UnsafeMutablePointer<UInt32>, sample: (Int, Int) -> Double) {
    let colours = channels.colours
    for i in 0..<count {
      var word: UInt32 = 0
      var isNodata = nodata != nil
      for (place, channel) in colours.enumerated() {
        let value = sample(i, channel) / unit
        if let nodata, abs(value - nodata[place]) > 1e-6 { isNodata = false }
        if readsHeights {
          words[i] = isNodata ? 0 : HeightCode.word(value)
          continue
        }
        if let table {
          word = table.withUnsafeBufferPointer { ColourTable.word(value, in: $0) }
          continue
        }
        let scaled = UInt32(max(0, min(255, scale.level(value) + 0.5)))
        word |= scaled << UInt32(8 * place)
      }
      if readsHeights { continue }
      if table != nil {
        if channels.alpha == nil || word == 0 {
          words[i] = isNodata ? 0 : word
          continue
        }
        word &= 0xff_ffff
      }
      if colours.count == 1, table == nil { word *= 0x0001_0101 }
      let alpha = channels.alpha.map { UInt32(max(0, (sample(i, $0) * 255 / opaque).rounded())) } ?? 255
      words[i] = isNodata || alpha == 0 ? 0 : word | min(alpha, 255) << 24
    }
  }
}

extension CutError {
  /// Turns a codec's error into one that names the file.
  ///
  /// - Parameter row: the row that was being decoded, if known.
  init(_ error: ImageError, path: String, row: Int? = nil) {
    let place = row.map { "row \($0) cannot be decoded: " } ?? "cannot be decoded: "
    self.init(
      .badSource, path: path, place + error.message, remedy: "the file is damaged; copy or make it again")
  }
}
