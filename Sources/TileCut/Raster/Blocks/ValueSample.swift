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
        "give --scale auto, or say which values become black and white: \(example ?? "--scale MIN,MAX")"
        + " (\"scale\" in a manifest)"
    )
  }
}

/// A linear mapping of sample values to 0...255, rounded and clamped.
package struct SampleScale: Hashable, Sendable {
  /// The value that becomes 0.
  package let low: Double
  /// The value that becomes 255; inverts if below `low`.
  package let high: Double

  /// - Throws: ``CutError`` `.invalidOption` if the two are equal or not finite.
  package init(low: Double, high: Double) throws {
    guard low.isFinite, high.isFinite, low != high else {
      throw CutError(
        .invalidOption, "the scale \(low),\(high) is no range", remedy: "give two different numbers: --scale MIN,MAX")
    }
    self.init(unchecked: low, high)
  }

  init(unchecked low: Double, _ high: Double) {
    (self.low, self.high) = (low, high)
  }

  /// The grey level of a value, neither rounded nor clamped. Multiplies before dividing, so that halves stay exact.
  @inline(__always)
  func level(_ value: Double) -> Double { (value - low) * 255 / (high - low) }
}
