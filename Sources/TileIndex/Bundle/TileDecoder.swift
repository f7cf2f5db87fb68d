/// Makes what a map view draws from a tile's bytes.
///
/// `ImageDecoder` of `TileImage` is one, and `SystemImageDecoder` of `OfflineMap`, which decodes with ImageIO where
/// there is one, so that an app builds no library of codecs. An app may have its own.
public protocol TileDecoder<Picture>: Sendable {
  /// What the view draws.
  associatedtype Picture: Sendable

  /// Called by several threads at once.
  ///
  /// - Returns: the picture, and the bytes that keeping it takes.
  func decode(_ bytes: [UInt8]) throws -> (Picture, byteCount: Int)
}
