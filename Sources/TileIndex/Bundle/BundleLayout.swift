/// How a bundle keeps its tiles.
public enum BundleLayout: String, Sendable, Codable {
  /// One table with the blobs in it.
  case flat
  /// A view over `map` and `images`, where equal tiles share a blob.
  case mapAndImages = "map and images"
  /// A view over something else.
  case view
}
