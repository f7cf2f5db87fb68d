import TileImage

/// A window of a source for the resampler: the decoded bytes, and premultiplied floats made from them.
///
/// One per worker, reused for each tile; it grows to the largest window.
package final class SourceWindow {
  /// The window's position in the source.
  package private(set) var rect = PixelRect(x: 0, y: 0, width: 0, height: 0)
  /// True if every pixel is opaque.
  package private(set) var isOpaque = false
  /// True if every pixel is transparent.
  package private(set) var isTransparent = false
  /// Row-major straight RGBA8, `rect.width * rect.height` pixels.
  package private(set) var bytes: UnsafeMutableRawPointer
  /// Row-major premultiplied red, green, blue (0...255) and alpha (0...1); valid after ``premultiply()``.
  package private(set) var pixels: UnsafeMutablePointer<SIMD4<Float>>
  private var byteCapacity = 0
  private var pixelCapacity = 0

  package init() {
    bytes = .allocate(byteCount: 16, alignment: 16)
    pixels = .allocate(capacity: 1)
  }

  deinit {
    bytes.deallocate()
    pixels.deallocate()
  }

  /// Reads a window; its bytes are undefined if it is transparent.
  package func read(_ rect: PixelRect, of source: any RasterSource) throws {
    self.rect = rect
    guard source.mayBeVisible(rect) else {
      (isOpaque, isTransparent) = (false, true)
      return
    }
    let count = rect.width * rect.height
    if count > byteCapacity {
      bytes.deallocate()
      bytes = .allocate(byteCount: count * 4, alignment: 16)
      byteCapacity = count
    }
    isOpaque = try source.read(rect, into: bytes, rowBytes: rect.width * 4)
    isTransparent = !isOpaque && PixelBuffer.opacity(of: bytes, count: count) == .transparent
  }

  package func premultiply() {
    let count = rect.width * rect.height
    if count > pixelCapacity {
      pixels.deallocate()
      pixels = .allocate(capacity: count)
      pixelCapacity = count
    }
    let source = UnsafeRawPointer(bytes)
    let target = pixels
    if isOpaque {
      for i in 0..<count {
        let rgba = source.loadUnaligned(fromByteOffset: i &* 4, as: SIMD4<UInt8>.self)
        var p = SIMD4<Float>(rgba)
        p.w = 1
        target[i] = p
      }
    } else {
      for i in 0..<count {
        let rgba = source.loadUnaligned(fromByteOffset: i &* 4, as: SIMD4<UInt8>.self)
        var p = SIMD4<Float>(rgba)
        let alpha = p.w * (1 / 255)
        p *= alpha
        p.w = alpha
        target[i] = p
      }
    }
  }

  /// Whether any pixel of a rectangle of the window is transparent; valid after ``premultiply()``.
  package func hasHole(x: Int, y: Int, width: Int, height: Int) -> Bool {
    for row in y..<(y + height) {
      let line = pixels + (row * rect.width + x)
      for i in 0..<width where line[i].w == 0 { return true }
    }
    return false
  }
}

/// Working memory of a worker's warpers, reused for each tile; it grows to the largest size needed.
package final class WarpScratch {
  let window = SourceWindow()
  private(set) var row: UnsafeMutablePointer<SIMD4<Float>> = .allocate(capacity: 1)
  private(set) var weights: UnsafeMutablePointer<Float> = .allocate(capacity: 1)
  private(set) var coordinates: UnsafeMutablePointer<Double> = .allocate(capacity: 1)
  private var capacities = (row: 1, weights: 1, coordinates: 1)
  private var context: PROJContext?

  package init() {}

  /// PROJ's context for the transformations of this worker: one for all, because each has a connection to the database.
  func projContext() throws -> PROJContext {
    if let context { return context }
    let made = try PROJContext()
    context = made
    return made
  }

  func reserve(row count: Int) {
    guard count > capacities.row else { return }
    row.deallocate()
    row = .allocate(capacity: count)
    capacities.row = count
  }

  func reserve(weights count: Int) {
    guard count > capacities.weights else { return }
    weights.deallocate()
    weights = .allocate(capacity: count)
    capacities.weights = count
  }

  func reserve(coordinates count: Int) {
    guard count > capacities.coordinates else { return }
    coordinates.deallocate()
    coordinates = .allocate(capacity: count)
    capacities.coordinates = count
  }

  deinit {
    row.deallocate()
    weights.deallocate()
    coordinates.deallocate()
  }
}
