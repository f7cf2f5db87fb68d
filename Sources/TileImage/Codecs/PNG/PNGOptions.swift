/// How PNG tiles are written.
public struct PNGOptions: Hashable, Sendable {
  /// libdeflate's level, 1 (fastest) to 12 (smallest), or nil to choose per tile: a middle one for photographs, where higher ones cost
  /// much time for little, and high ones for flat cartography, where they are cheap.
  public var compressionLevel: Int?

  public init(compressionLevel: Int? = nil) {
    self.compressionLevel = compressionLevel
  }

  // Measured per 256-pixel tile (libdeflate 1.14, one core of a small x86-64 server), in ms and bytes:
  //
  //   level                          1        4        5        6        7        8        9
  //   satellite imagery, filtered    0.87     1.30     1.55     1.90     3.0      6.0      8.3
  //                                  51,183   49,115   48,412   47,970   47,553   47,158   47,036
  //   drawn map, mostly palettes     0.27     0.26     0.27     0.30     0.38     0.71     1.0
  //                                  4,403    4,268    4,145    4,049    3,994    3,826    3,759
  //   its overview, mostly RGB       0.56     0.61     0.63     0.67     0.85     1.5      2.1
  //                                  12,472   11,795   11,544   11,419   11,214   10,833   10,745

  /// For tiles whose rows are filtered. Customers download every byte, publishers wait once: the last level before 1% of the bytes costs a fifth more time.
  static let filteredLevel = 5
  /// For RGB and the like that compresses best without a filter; the last level before time doubles.
  static let unfilteredLevel = 7
  /// For palettes, whose bytes are so few that a high level is cheap.
  static let paletteLevel = 8
}
