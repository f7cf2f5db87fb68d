import TileImage

/// The box round all visible pixels, in pixels of the working zoom.
struct VisibleExtent: Sendable, Equatable {
  var left: Int
  var top: Int
  /// One past the last.
  var right: Int
  var bottom: Int

  func union(_ other: VisibleExtent) -> VisibleExtent {
    VisibleExtent(
      left: min(left, other.left), top: min(top, other.top), right: max(right, other.right),
      bottom: max(bottom, other.bottom))
  }

  static func merged(_ extent: VisibleExtent?, with buffer: PixelBuffer, at rect: PixelRect, isOpaque: Bool)
    -> VisibleExtent?
  {
    let whole = VisibleExtent(left: rect.x, top: rect.y, right: rect.x + rect.width, bottom: rect.y + rect.height)
    if let extent, extent.union(whole) == extent { return extent }
    let visible = isOpaque ? whole : visiblePart(of: buffer, at: rect)
    guard let visible else { return extent }
    return extent?.union(visible) ?? visible
  }

  private static func visiblePart(of buffer: PixelBuffer, at rect: PixelRect) -> VisibleExtent? {
    var (left, right, top, bottom) = (Int.max, -1, -1, -1)
    for y in 0..<buffer.height {
      let row = UnsafeRawPointer(buffer.bytes) + y * buffer.rowBytes
      func isVisible(_ x: Int) -> Bool { row.load(fromByteOffset: x * 4 + 3, as: UInt8.self) != 0 }
      guard let first = (0..<buffer.width).first(where: isVisible) else { continue }
      let last = (0..<buffer.width).last(where: isVisible)!
      if top < 0 { top = y }
      bottom = y
      left = min(left, first)
      right = max(right, last)
    }
    guard top >= 0 else { return nil }
    return VisibleExtent(left: rect.x + left, top: rect.y + top, right: rect.x + right + 1, bottom: rect.y + bottom + 1)
  }
}
