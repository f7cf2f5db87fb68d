import TileImage

/// Closes the gaps between the sources of a tile that meet without overlapping.
///
/// A target pixel on the seam of two sources may belong to neither, or to each in part, since each is resampled alone.
/// A pixel lies on a seam if two sources show more of it when each goes on for one of its own pixels, and they lie on
/// different sides of it. There the continued sources are drawn below what is there already. A map's outer edge stays,
/// also where several sources end at it: they lie on the same side.
struct SeamFill {
  private let pixelCount: Int
  /// Each source's alpha as it was drawn.
  private var alphas: [(layer: Int, values: [UInt8])] = []
  private var continued: [(layer: Int, buffer: PixelBuffer, alphas: [UInt8])] = []
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
    continued.append((layer, buffer, noted.values))
  }

  /// Draws the continued sources below a tile, in the pixels on a seam.
  ///
  /// - Parameters:
  ///   - rect: the tile, in target pixels.
  ///   - outward: for a layer and target points, the vectors from the inside of the layer's source to them; zero for
  ///     points inside.
  func fill(
    _ tile: PixelBuffer, _ rect: PixelRect, outward: (Int, [SIMD2<Double>]) throws -> [SIMD2<Double>]
  ) rethrows {
    func alpha(_ buffer: PixelBuffer, _ pixel: Int) -> UInt8 {
      buffer.bytes.load(fromByteOffset: pixel * 4 + 3, as: UInt8.self)
    }
    let open = gains.indices.filter { gains[$0] > 1 && alpha(tile, $0) < 255 }
    guard !open.isEmpty else { return }
    let centres = open.map {
      SIMD2(Double(rect.x + $0 % rect.width) + 0.5, Double(rect.y + $0 / rect.width) + 0.5)
    }
    let sides = try continued.map { try outward($0.layer, centres) }
    for (number, pixel) in open.enumerated() {
      let vectors = continued.indices.filter { alpha(continued[$0].buffer, pixel) > continued[$0].alphas[pixel] }
        .map { sides[$0][number] }
      guard Self.areOnDifferentSides(vectors) else { continue }
      let top = tile.bytes + pixel * 4
      for below in continued.reversed() where top.load(fromByteOffset: 3, as: UInt8.self) < 255 {
        let under = below.buffer.bytes + pixel * 4
        Overlay.draw(top, over: under, count: 1)
        top.copyMemory(from: under, byteCount: 4)
      }
    }
  }

  /// Within a source, at the edge of its nodata, the side is not known.
  private static func areOnDifferentSides(_ vectors: [SIMD2<Double>]) -> Bool {
    vectors.indices.contains { i in
      vectors[..<i].contains { other in
        let product = other * vectors[i]
        return other == .zero || vectors[i] == .zero || product.x + product.y < 0
      }
    }
  }
}
