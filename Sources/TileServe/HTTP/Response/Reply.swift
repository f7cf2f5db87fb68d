import NIOCore

/// A whole response, ready to be written.
struct Reply: Sendable {
  var status: Int
  /// The head, and the body unless it is apart.
  var bytes: ByteBuffer
  /// A body that is apart: memory that others share.
  var body: ByteBuffer?
  /// Bytes of the body, for logs.
  var bodyCount: Int
  /// True when the connection ends with it.
  var closes: Bool
  var route: RouteName
}

/// Which kind of thing was asked for: the label of the metrics.
enum RouteName: Int, CaseIterable, Sendable {
  case tile, tilejson, viewer, tilesets, index, health, ready, metrics, asset, wmts, tms, places, other

  /// Counts from 0.
  var index: Int { rawValue }
}
