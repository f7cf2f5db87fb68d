import Support
public import TileIndex

/// A tile as it is handed out.
public struct Tile: Hashable, Sendable {
  public var bytes: [UInt8]
  /// What the bytes are, by the bytes themselves.
  public var format: TileFormat

  public init(bytes: [UInt8], format: TileFormat) {
    self.bytes = bytes
    self.format = format
  }

  /// True for vector tiles that are stored compressed.
  public var isGzipped: Bool { bytes.withUnsafeBytes(Gunzip.isGzip) }
}
