/// What a finished bundle holds.
public struct BundleSummary: Hashable, Sendable, Codable {
  /// Tiles that readers see.
  public let tiles: Int
  /// Blobs that are stored; equal tiles share one.
  public let distinctTiles: Int
  /// Size of the file in bytes.
  public let bytes: Int
  /// The coarsest zoom with tiles.
  public let minZoom: Int
  /// The finest zoom with tiles.
  public let maxZoom: Int
}
