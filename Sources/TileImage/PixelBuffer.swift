/// A rectangle of pixels, row-major, four bytes a pixel: red, green, blue, alpha, straight (not premultiplied), no padding between rows.
///
/// A pixel whose alpha is 0 has red, green and blue 0 as well, so that equal-looking tiles are equal bytes.
/// A buffer has one owner at a time: it is handed from stage to stage, never shared while being written. That is what the unchecked `Sendable` promises.
public final class PixelBuffer: @unchecked Sendable {
  public let width: Int
  public let height: Int
  /// `width * height * 4` bytes, 16-byte aligned.
  public let bytes: UnsafeMutableRawPointer

  /// Bytes from one row to the next.
  public var rowBytes: Int { width * 4 }
  public var byteCount: Int { width * height * 4 }

  /// Makes a buffer of transparent pixels.
  public init(width: Int, height: Int) {
    self.width = width
    self.height = height
    bytes = .allocate(byteCount: max(width * height * 4, 16), alignment: 16)
    bytes.initializeMemory(as: UInt8.self, repeating: 0, count: width * height * 4)
  }

  deinit { bytes.deallocate() }

  /// Makes every pixel transparent again, for reuse.
  public func clear() {
    bytes.initializeMemory(as: UInt8.self, repeating: 0, count: byteCount)
  }
}
