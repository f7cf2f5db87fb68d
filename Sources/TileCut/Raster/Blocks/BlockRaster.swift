/// Reads windows of pixels; what a ``RasterSource`` calls after it has opened its file.
protocol WindowReader: Sendable {
  /// See ``RasterSource/read(_:into:rowBytes:)``.
  func read(_ window: PixelRect, into target: UnsafeMutableRawPointer, rowBytes: Int) throws -> Bool
  /// See ``RasterSource/mayBeVisible(_:)``.
  func mayBeVisible(_ window: PixelRect) -> Bool
}

extension WindowReader {
  func mayBeVisible(_ window: PixelRect) -> Bool { true }
}

/// Decodes one block of a raster at a time, on any thread.
protocol BlockDecoder: Sendable {
  /// Fills `target` with the block's `blockWidth * blockHeight` pixels in the raster's ``PixelForm``. Pixels beyond the
  /// raster's right and bottom edges may be left undefined.
  func decode(column: Int, row: Int, into target: UnsafeMutableRawPointer) throws -> BlockContent
  /// True if the file has no such block; it is then transparent.
  func isMissing(column: Int, row: Int) -> Bool
}

extension BlockDecoder {
  func isMissing(column: Int, row: Int) -> Bool { false }
}

/// The division of a raster into blocks of equal size, row by row from the top left; the last ones may extend beyond
/// the raster.
struct BlockGrid: Sendable {
  let width: Int
  let height: Int
  let blockWidth: Int
  let blockHeight: Int
  let form: PixelForm

  var columns: Int { (width + blockWidth - 1) / blockWidth }
  var rows: Int { (height + blockHeight - 1) / blockHeight }
  /// Bytes of a decoded block.
  var blockBytes: Int { blockWidth * blockHeight * form.bytesPerPixel }
  /// Bytes of the blocks that a full-width window of `rowCount` rows touches, in the worst case.
  func bandBytes(rowCount: Int) -> Int {
    columns * blockBytes * min(rows, (rowCount + 2 * blockHeight - 2) / blockHeight)
  }
}

/// A raster in blocks that are decoded on demand into a ``BlockCache``.
final class BlockRaster: WindowReader {
  private let grid: BlockGrid
  private let decoder: any BlockDecoder
  private let cache: BlockCache
  private let id = BlockCache.newRasterID()

  init(grid: BlockGrid, decoder: any BlockDecoder, cache: BlockCache) {
    self.grid = grid
    self.decoder = decoder
    self.cache = cache
  }

  deinit { cache.removeAll(raster: id) }

  func read(_ window: PixelRect, into target: UnsafeMutableRawPointer, rowBytes: Int) throws -> Bool {
    precondition(
      window.x >= 0 && window.y >= 0 && window.width > 0 && window.height > 0
        && window.x + window.width <= grid.width && window.y + window.height <= grid.height,
      "the window must lie inside the raster")
    // Blocks that another thread is decoding come last. Threads that read the same strips then decode different ones
    // instead of waiting for each other at every strip.
    var isOpaque = true
    var busy: [(column: Int, row: Int)] = []
    for row in window.y / grid.blockHeight...(window.y + window.height - 1) / grid.blockHeight {
      for column in window.x / grid.blockWidth...(window.x + window.width - 1) / grid.blockWidth {
        if let blockIsOpaque = try read(
          column: column, row: row, window: window, into: target, rowBytes: rowBytes, waits: false)
        {
          isOpaque = isOpaque && blockIsOpaque
        } else {
          busy.append((column, row))
        }
      }
    }
    for (column, row) in busy {
      let blockIsOpaque = try read(
        column: column, row: row, window: window, into: target, rowBytes: rowBytes, waits: true)
      isOpaque = isOpaque && blockIsOpaque!
    }
    return isOpaque
  }

  func mayBeVisible(_ window: PixelRect) -> Bool {
    for row in window.y / grid.blockHeight...(window.y + window.height - 1) / grid.blockHeight {
      for column in window.x / grid.blockWidth...(window.x + window.width - 1) / grid.blockWidth
      where !decoder.isMissing(column: column, row: row) {
        return true
      }
    }
    return false
  }

  /// Copies a block's part of the window. Returns whether it is opaque, or nil if another thread is decoding the block
  /// and `waits` is false.
  private func read(
    column: Int, row: Int, window: PixelRect, into target: UnsafeMutableRawPointer, rowBytes: Int, waits: Bool
  ) throws -> Bool? {
    let key = BlockCache.Key(raster: id, block: row * grid.columns + column)
    return try cache.withBlock(key, byteCount: grid.blockBytes, waits: waits) { buffer in
      try decoder.decode(column: column, row: row, into: buffer)
    } body: { pixels in
      copy(pixels, column: column, row: row, window: window, into: target, rowBytes: rowBytes)
    }
  }

  /// Copies the intersection of a block and the window. Returns true if all of it is opaque.
  private func copy(
    _ pixels: UnsafeRawPointer?, column: Int, row: Int, window: PixelRect, into target: UnsafeMutableRawPointer,
    rowBytes: Int
  ) -> Bool {
    let left = max(window.x, column * grid.blockWidth)
    let right = min(window.x + window.width, (column + 1) * grid.blockWidth)
    let top = max(window.y, row * grid.blockHeight)
    let bottom = min(window.y + window.height, (row + 1) * grid.blockHeight)
    let count = right - left
    let form = grid.form
    var isOpaque = pixels != nil
    for y in top..<bottom {
      let line = target + ((y - window.y) * rowBytes + (left - window.x) * 4)
      guard let pixels else {
        line.initializeMemory(as: UInt8.self, repeating: 0, count: count * 4)
        continue
      }
      let offset = (y - row * grid.blockHeight) * grid.blockWidth + (left - column * grid.blockWidth)
      let lineIsOpaque = form.expand(pixels + offset * form.bytesPerPixel, count: count, into: line)
      isOpaque = isOpaque && lineIsOpaque
    }
    return isOpaque
  }
}
