/// Options for PNG tiles.
public struct PNGOptions: Hashable, Sendable {
  /// Time against size; see ``PNGEffort``.
  public var effort: PNGEffort
  /// libdeflate's level, 1 (fastest) to 12 (smallest), for all tiles; nil to choose by ``effort`` and by tile.
  package var compressionLevel: Int?
  /// The most colours of a tile, 2 to 256, each with its alpha; nil for tiles without loss. Every tile has a palette of
  /// its own.
  public var colours: Int?

  /// Options; `compressionLevel` from 1 to 12, `colours` from 2 to 256.
  public init(effort: PNGEffort = .balanced, compressionLevel: Int? = nil, colours: Int? = nil) {
    self.effort = effort
    self.compressionLevel = compressionLevel
    self.colours = colours
  }
}

/// How much time PNG tiles are given. Every effort is lossless.
public enum PNGEffort: String, Hashable, Sendable, Codable, CaseIterable {
  /// About two thirds of the time of ``balanced``, for 11-12% more bytes.
  case fast
  /// As small as is cheap.
  case balanced
  /// Two to five times the time of ``balanced``, for 2-7% fewer bytes.
  case small
}

extension PNGEffort {
  // docs/reference/performance.md has the bytes and times of all levels and filters.

  /// The share of bytes that repeats save, below which `small` tries Huffman codes alone too.
  static let fewRepeats = 0.04

  /// For tiles whose rows are filtered. A search for repeats is the longest part of encoding, and pays where there are
  /// some.
  ///
  /// Of small's levels, 8 takes twice as long as 7 on tiles in the middle, for 0.4-2% fewer bytes. It saves 2-3% on
  /// those that shrink most, and costs little more on those that hardly shrink.
  ///
  /// - Parameters:
  ///   - repeats: ``RepeatEstimate/share(_:height:rowBytes:)``.
  ///   - share: bytes after level 1 per byte before; asked for by `small`.
  func filteredCompression(
    repeats: Double, share: () throws(ImageError) -> Double
  ) throws(ImageError) -> PNGCompression {
    switch self {
    case .fast: repeats < 0.12 ? .huffman : .level(1)
    case .balanced:
      switch repeats {
      case ..<0.015: .huffman
      case ..<Self.fewRepeats: .level(1)
      default: .level(2)
      }
    case .small: .level((0.15..<0.55).contains(try share()) ? 7 : 8)
    }
  }

  /// For images with many colours that compress best unfiltered.
  var unfilteredLevel: Int {
    switch self {
    case .fast: 1
    case .balanced: 7
    case .small: 9
    }
  }

  /// For palettes, which have so few bytes that a high level is cheap.
  var paletteLevel: Int {
    switch self {
    case .fast: 2
    case .balanced: 8
    case .small: 9
    }
  }
}

/// How rows are compressed.
enum PNGCompression: Equatable {
  /// By ``HuffmanDeflater``.
  case huffman
  /// By libdeflate, 1 to 12.
  case level(Int)
}
