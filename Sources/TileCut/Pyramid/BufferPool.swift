import TileImage
import TileIndex

/// Pixel buffers between two uses, all of one size. One per worker: the same few buffers go round, and malloc stays quiet.
final class BufferPool {
  private let width: Int
  private let height: Int
  private var spare: [PixelBuffer] = []
  /// Buffers that come from elsewhere, such as the roots of finished units, must not pile up here.
  private let spareCountMax = 8

  init(_ matrix: TileMatrix) {
    (width, height) = (matrix.tileWidth, matrix.tileHeight)
  }

  /// A transparent buffer.
  func take() -> PixelBuffer {
    guard let buffer = spare.popLast() else { return PixelBuffer(width: width, height: height) }
    buffer.clear()
    return buffer
  }

  func give(_ buffer: PixelBuffer) {
    if spare.count < spareCountMax { spare.append(buffer) }
  }
}
