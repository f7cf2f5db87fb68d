import TileImage

/// The tile that is being drawn. All coordinates are target pixels at the working zoom.
struct Canvas {
  /// The tile: the map to the source, and with it the kernels, are those of the whole tile whatever part of it is drawn.
  let tile: PixelRect
  /// The part of the tile that may be drawn on.
  let clip: PixelRect
  /// Of the tile's size.
  let buffer: PixelBuffer

  /// The buffer's bytes from a target pixel on.
  func pointer(x: Int, y: Int) -> UnsafeMutableRawPointer {
    buffer.bytes + (y &- tile.y) &* buffer.rowBytes + (x &- tile.x) &* 4
  }
}
