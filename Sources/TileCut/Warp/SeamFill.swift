import TileImage

/// Closes the gaps between the sources of a tile that meet without overlapping.
///
/// A target pixel on the seam of two sources may belong to neither, or to each in part, since each is resampled alone.
/// A pixel lies on a seam if two sources or more show more of it when each goes on for one of its own pixels. There the
/// continued sources are drawn below what is there already. A map's outer edge, which only one source reaches, stays.
struct SeamFill {
  private let pixelCount: Int
  /// Each source's alpha as it was drawn.
  private var alphas: [(layer: Int, values: [UInt8])] = []
  private var continued: [PixelBuffer] = []
  /// How many sources show more of a pixel when they go on.
  private var gains: [UInt8] = []

  init(pixelCount: Int) { self.pixelCount = pixelCount }

  /// The sources that have an edge in the tile.
  var layers: [Int] { alphas.map(\.layer) }

  var mayHaveGaps: Bool { alphas.count > 1 }

  /// Notes what a source draws, unless it fills the tile.
  mutating func note(_ buffer: PixelBuffer, of layer: Int) {
    guard buffer.opacity != .opaque else { return }
    let bytes = UnsafeRawPointer(buffer.bytes)
    alphas.append((layer, (0..<pixelCount).map { bytes.load(fromByteOffset: $0 &* 4 &+ 3, as: UInt8.self) }))
  }

  /// Takes what a noted source draws when it goes on for one pixel.
  mutating func add(_ buffer: PixelBuffer, of layer: Int) {
    guard let noted = alphas.first(where: { $0.layer == layer }) else { return }
    if gains.isEmpty { gains = [UInt8](repeating: 0, count: pixelCount) }
    let bytes = UnsafeRawPointer(buffer.bytes)
    for i in 0..<pixelCount where bytes.load(fromByteOffset: i &* 4 &+ 3, as: UInt8.self) > noted.values[i] {
      if gains[i] < 2 { gains[i] += 1 }
    }
    continued.append(buffer)
  }

  /// Draws the continued sources below a tile, in the pixels on a seam.
  func fill(_ tile: PixelBuffer) {
    for i in gains.indices where gains[i] > 1 {
      let pixel = tile.bytes + i * 4
      for below in continued.reversed() where pixel.load(fromByteOffset: 3, as: UInt8.self) < 255 {
        let under = below.bytes + i * 4
        Overlay.draw(pixel, over: under, count: 1)
        pixel.copyMemory(from: under, byteCount: 4)
      }
    }
  }
}
