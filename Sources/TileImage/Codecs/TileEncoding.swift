public import TileIndex

/// What tiles are written as, and how.
public enum TileEncoding: Hashable, Sendable {
  /// Lossless: every pixel comes back as it was.
  case png(PNGOptions)
  /// Lossy and opaque.
  case jpeg(JPEGOptions)
  /// Lossless or lossy, with transparency.
  case webp(WebPOptions)

  /// The format that a bundle's metadata names.
  public var format: TileFormat {
    switch self {
    case .png: .png
    case .jpeg: .jpg
    case .webp: .webp
    }
  }
}
