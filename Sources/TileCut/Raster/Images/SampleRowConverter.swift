/// Applies the user's scale and nodata values to rows of an image format's samples.
struct SampleRowConverter {
  private let colours: Int
  private let channels: Int
  private let is16Bit: Bool
  private let scale: SampleScale
  private let nodata: [Double]?
  /// 16-bit samples stand for samples of fewer bits, stretched to the full range; what one unit of those is here.
  private let unit: Double

  /// - Returns: nil when there is nothing to apply.
  /// - Parameters:
  ///   - colours: 1 or 3, the first channels; a channel behind them is alpha.
  ///   - depth: bits of the file's own samples, in which the scale and nodata values count.
  /// - Throws: ``CutError`` `.invalidOption` when there are more or fewer nodata values than colours.
  init?(options: RasterOpenOptions, colours: Int, channels: Int, is16Bit: Bool, depth: Int) throws {
    guard options.scale != nil || options.nodata != nil else { return nil }
    (self.colours, self.channels, self.is16Bit) = (colours, channels, is16Bit)
    let high = Double((1 << (is16Bit ? 16 : 8)) - 1)
    unit = high / Double((1 << depth) - 1)
    scale = options.scale ?? SampleScale(unchecked: 0, Double((1 << depth) - 1))
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

  /// Converts `count` pixels of `channels` samples each to RGBA words.
  func convert(_ row: UnsafeRawPointer, count: Int, into words: UnsafeMutablePointer<UInt32>) {
    let wide = row.assumingMemoryBound(to: UInt16.self)
    let narrow = row.assumingMemoryBound(to: UInt8.self)
    func sample(_ i: Int) -> Double { is16Bit ? Double(wide[i]) : Double(narrow[i]) }
    for i in 0..<count {
      let first = i * channels
      var word: UInt32 = 0
      var isNodata = nodata != nil
      for colour in 0..<colours {
        let value = sample(first + colour) / unit
        if let nodata, abs(value - nodata[colour]) > 1e-6 { isNodata = false }
        let scaled = UInt32(max(0, min(255, scale.level(value) + 0.5)))
        word |= scaled << UInt32(8 * colour)
      }
      if colours == 1 { word *= 0x0001_0101 }
      let alpha = channels > colours ? UInt32((sample(first + colours) * (is16Bit ? 255 / 65535 : 1)).rounded()) : 255
      words[i] = isNodata || alpha == 0 ? 0 : word | alpha << 24
    }
  }
}
