/// Values that stand for all values of one or more rasters: what `--scale auto` and suggestions are computed from.
///
/// Which pixels are taken depends on their number alone, so that equal rasters give equal samples.
struct ValueSample {
  private(set) var values: [Double] = []

  /// The most values of one raster.
  static let countMax = 1 << 17

  /// Takes the finite values of a pixel.
  mutating func add(_ pixel: some Sequence<Double>) {
    for value in pixel where value.isFinite { values.append(value) }
  }

  /// Adds another raster's values.
  mutating func add(_ other: ValueSample) { values += other.values }

  /// Whether to take the pixel of a number when one of `step` is taken. Spread without a pattern, because every n-th
  /// pixel may lie in the same columns.
  static func takes(_ number: Int, step: Int) -> Bool {
    if step <= 1 { return true }
    let mixed = (UInt64(truncatingIfNeeded: number) &+ 1) &* 0x9e37_79b9_7f4a_7c15
    return Int(truncatingIfNeeded: mixed >> 40) % step == 0
  }

  /// The lowest and the highest value, without a share at either end; nil if they are equal or there are none.
  func range(leavingOut share: Double = 0) -> (low: Double, high: Double)? {
    guard !values.isEmpty else { return nil }
    let sorted = values.sorted()
    let cut = Int(Double(sorted.count - 1) * share)
    let (low, high) = (sorted[cut], sorted[sorted.count - 1 - cut])
    return low < high ? (low, high) : nil
  }

  /// The scale from the 2nd to the 98th percentile.
  ///
  /// - Throws: ``CutError`` `.badSource` if the values do not differ.
  func automaticScale(path: String) throws -> SampleScale {
    guard let (low, high) = range(leavingOut: 0.02) ?? range() else {
      throw CutError(
        .badSource, path: path, "all of a sample of its values are equal, so that no scale can be chosen",
        remedy: "say which values become black and white with --scale MIN,MAX")
    }
    return SampleScale(unchecked: low, high)
  }
}

extension CutError {
  /// The refusal of samples of more than 8 bits without a scale, with a suggestion.
  ///
  /// - Parameter kind: such as `16-bit`.
  static func scaleWanted(path: String, kind: String, sample: ValueSample?) -> CutError {
    func text(_ value: Double) -> String {
      abs(value) < 1e15 && value == value.rounded() ? "\(Int(value))" : "\(Float(value))"
    }
    let example = sample?.range().map {
      "--scale \(text($0.low)),\(text($0.high)), the range of a sample of its values"
    }
    return CutError(
      .badSource, path: path, "has \(kind) samples, which must be scaled to 0...255",
      remedy:
        "give --scale auto, or say which values become black and white: \(example ?? "--scale MIN,MAX") (\"scale\" in a manifest)"
    )
  }
}
