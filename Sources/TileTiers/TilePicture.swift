public import TileImage

/// A decoded tile as it is kept: in a palette where it has at most 256 colours, which loses nothing and takes a quarter of the memory.
public enum TilePicture: Sendable {
  case pixels(PixelBuffer)
  case palette(PalettePixels)

  public init(_ pixels: PixelBuffer) {
    self = PalettePixels.from(pixels).map { .palette($0) } ?? .pixels(pixels)
  }

  /// What keeping it costs.
  public var byteCount: Int {
    switch self {
    case .pixels(let pixels): pixels.byteCount
    case .palette(let palette): palette.byteCount
    }
  }

  /// To be drawn, not changed: what is kept as pixels is handed out as it is, what is kept in a palette is written out.
  public var pixels: PixelBuffer {
    switch self {
    case .pixels(let pixels): pixels
    case .palette(let palette): palette.pixels()
    }
  }
}
