/// Which values of a raster become black and white, for samples of more than 8 bits.
public enum SampleRange: Hashable, Sendable {
  /// The 2nd to the 98th percentile of a sample of the sources' values.
  case auto
  /// The values that become 0 and 255. `low` may exceed `high`, which inverts.
  case values(low: Double, high: Double)

  /// The word for ``auto`` in options and manifests.
  package static let autoWord = "auto"
}

/// Which band of a raster says how opaque its pixels are, where the file's own statement is wrong or missing.
public enum AlphaBand: Hashable, Sendable {
  /// None: every band is a colour or is not used.
  case absent
  /// The band of this number, from 1.
  case number(Int)

  /// The word for ``absent`` in options and manifests.
  package static let absentWord = "none"

  /// `none`, or the band's number.
  package var text: String {
    switch self {
    case .absent: Self.absentWord
    case .number(let band): String(band)
    }
  }

  /// Parses `none` or a band's number; nil if the text is neither.
  package init?(_ text: String) {
    if text == Self.absentWord {
      self = .absent
    } else if let number = Int(text), number >= 1 {
      self = .number(number)
    } else {
      return nil
    }
  }
}

/// The bands that are shown, by their numbers from 1.
package enum BandChoice {
  /// Whether a list can be shown: one band as grey, or three as red, green and blue.
  package static func isValid(_ bands: [Int]) -> Bool {
    (bands.count == 1 || bands.count == 3) && bands.allSatisfy { (1...65535).contains($0) }
  }
}
