#if canImport(Glibc)
  import Glibc
#elseif canImport(Musl)
  import Musl
#else
  import Darwin
#endif

/// A value that means "no data" in one band, as a range: a float that was written as text need not come back exactly.
struct NodataValue: Sendable {
  let low: Double
  let high: Double
  /// The value itself is not-a-number; that is no data in any case.
  let isNaN: Bool

  init(_ value: Double, format: TIFFLayout.SampleFormat, bits: Int) {
    isNaN = value.isNaN
    if format == .float && bits <= 32 && value.isFinite && abs(value) <= Double(Float.greatestFiniteMagnitude) * 1.0001
    {
      // Two units in the last place, as GDAL compares.
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
