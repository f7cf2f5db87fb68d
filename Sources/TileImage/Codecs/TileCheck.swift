public import TileIndex

extension ImageDecoder {
  /// Decodes a tile completely, to see whether it is whole: what a ``BundleVerifier`` wants.
  ///
  /// - Returns: the image's size in pixels; nil for vector tiles, of which only the compression is checked.
  /// - Throws: ``ImageError`` in the codec's words.
  public static func check(_ bytes: UnsafeRawBufferPointer, format: TileFormat) throws -> (width: Int, height: Int)? {
    guard format != .pbf else {
      _ = try GzipCheck.verify(bytes)
      return nil
    }
    let pixels = try decode(bytes, format: format)
    return (pixels.width, pixels.height)
  }
}
