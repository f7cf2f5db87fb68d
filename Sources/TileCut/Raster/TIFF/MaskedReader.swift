/// Pixels with another raster's say on which of them are there.
struct MaskedReader: WindowReader {
  let pixels: any WindowReader
  /// Of the same size; where it is transparent, so is the result.
  let mask: any WindowReader

  /// What a mask's values look like: zero is no data, anything else is.
  static let table = PixelTable([0] + [UInt32](repeating: .max, count: 255))

  func read(_ window: PixelRect, into target: UnsafeMutableRawPointer, rowBytes: Int) throws -> Bool {
    let isOpaque = try pixels.read(window, into: target, rowBytes: rowBytes)
    return try withUnsafeTemporaryAllocation(byteCount: window.width * 4, alignment: 16) { line in
      let memory = line.baseAddress!
      var maskIsOpaque = true
      for y in 0..<window.height {
        let row = PixelRect(x: window.x, y: window.y + y, width: window.width, height: 1)
        if try mask.read(row, into: memory, rowBytes: window.width * 4) { continue }
        maskIsOpaque = false
        let flags = memory.assumingMemoryBound(to: UInt32.self)
        let words = (target + y * rowBytes).assumingMemoryBound(to: UInt32.self)
        for x in 0..<window.width { words[x] &= flags[x] }
      }
      return isOpaque && maskIsOpaque
    }
  }
}
