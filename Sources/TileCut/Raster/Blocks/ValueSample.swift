/// Values that stand for all values of one or more rasters: what `--scale auto` and suggestions are computed from.
///
/// Which pixels are taken depends on their number alone, so that equal rasters give equal samples.
struct ValueSample {
  private(set) var values: [Double] = []
  /// The smallest and the largest of all values, where statistics of the raster say so.
  var statedRange: ClosedRange<Double>?

  /// The most values of one raster.
  static let countMax = 1 << 17

  /// Takes the finite values of a pixel.
  mutating func add(_ pixel: some Sequence<Double>) {
    for value in pixel where value.isFinite { values.append(value) }
  }

  /// Adds another raster's values.
  mutating func add(_ other: ValueSample) {
    let isFirst = values.isEmpty && statedRange == nil
    values += other.values
    let (one, another) = (statedRange ?? (isFirst ? other.statedRange : nil), other.statedRange)
    statedRange = one.flatMap { one in
      another.map { min(one.lowerBound, $0.lowerBound)...max(one.upperBound, $0.upperBound) }
    }
  }

  /// Whether to take the pixel of a number when one of `step` is taken. Spread without a pattern, because every n-th
  /// pixel may lie in the same columns.
  static func takes(_ number: Int, step: Int) -> Bool {
    if step <= 1 { return true }
    let mixed = (UInt64(truncatingIfNeeded: number) &+ 1) &* 0x9e37_79b9_7f4a_7c15
    return Int(truncatingIfNeeded: mixed >> 40) % step == 0
  }

  /// The lowest and the highest value, also of those that are stated; nil if they are equal or there are none.
  var range: (low: Double, high: Double)? {
    // Statistics may be older than the values.
    let all =
      (values.min().map { [$0, values.max()!] } ?? []) + (statedRange.map { [$0.lowerBound, $0.upperBound] } ?? [])
    guard let low = all.min(), let high = all.max(), low < high else { return nil }
    return (low, high)
  }

  /// The lowest and the highest value without a share at either end; nil if they are equal or there are none.
  private func range(leavingOut share: Double) -> (low: Double, high: Double)? {
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
    guard !values.isEmpty else {
      throw CutError(
        .badSource, path: path, "a sample of it has no value that can be read, so that no scale can be chosen",
        remedy: "say which values become black and white with --scale MIN,MAX")
    }
    guard let (low, high) = range(leavingOut: 0.02) ?? range else {
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
  /// - Parameters:
  ///   - kind: such as `16-bit`.
  ///   - bits: of unsigned samples, whose whole range is suggested if no value can be read.
  static func scaleWanted(path: String, kind: String, sample: ValueSample?, bits: Int? = nil) -> CutError {
    func text(_ value: Double) -> String {
      abs(value) < 1e15 && value == value.rounded() ? "\(Int(value))" : "\(Float(value))"
    }
    let what = sample?.statedRange == nil ? "a sample of its values" : "its values"
    let known = sample?.range.map { "--scale \(text($0.low)),\(text($0.high)), the range of \(what)" }
    let whole = bits.map { "--scale 0,\((1 << $0) - 1), the range of \($0) bits" }
    let example = known ?? whole
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
