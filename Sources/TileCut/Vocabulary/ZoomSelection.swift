/// Which zoom levels a bundle gets.
public enum ZoomSelection: Hashable, Sendable, Codable {
  /// From 0 to the level whose pixels are nearest in size to the source's (by rounded binary logarithm).
  case native
  /// These and no others. Levels deeper than the source's own are enlarged.
  case levels(ClosedRange<Int>)

  /// Reads `N` or `MIN-MAX`; nil when the text is neither.
  public init?(_ text: String) {
    let parts = text.split(separator: "-", omittingEmptySubsequences: false).map { Int($0) }
    switch parts.count {
    case 1:
      guard let zoom = parts[0], zoom >= 0 else { return nil }
      self = .levels(zoom...zoom)
    case 2:
      guard let low = parts[0], let high = parts[1], low >= 0, low <= high else { return nil }
      self = .levels(low...high)
    default: return nil
    }
  }
}
