/// How PNG tiles are written.
public struct PNGOptions: Hashable, Sendable {
  /// libdeflate's level, 1 (fastest) to 12 (smallest), or nil to choose per tile: a middle one for photographs, where higher ones cost
  /// much time for little, and a high one for flat cartography, where they are cheap.
  public var compressionLevel: Int?

  public init(compressionLevel: Int? = nil) {
    self.compressionLevel = compressionLevel
  }

  /// For tiles whose rows are filtered.
  static let photographicLevel = 5
  /// For palettes, and for rows that compress best without a filter.
  static let flatLevel = 8
}
