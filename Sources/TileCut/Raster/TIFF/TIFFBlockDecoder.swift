import CTIFFShim

/// Decodes blocks of one TIFF directory. A block is one tile, or several strips.
final class TIFFBlockDecoder: BlockDecoder {
  private let file: TIFFFile
  private let layout: TIFFLayout
  private let pixels: TIFFPixelDecoder
  private let isThroughRGBA: Bool
  private let isSparse: Bool
  /// Strips in a block, 1 for tiles.
  private let stripsPerBlock: Int
  private let used: (width: Int, height: Int)
  let grid: BlockGrid

  /// The approximate size of a block made of strips. With blocks of one row, finding a block would take longer than
  /// copying from it.
  private static let blockBytesWanted = 128 << 10

  /// - Parameter isSparse: blocks may be missing in the file; strips are then not combined, so that a missing one is a
  ///   transparent block.
  init(file: TIFFFile, layout: TIFFLayout, pixels: TIFFPixelDecoder, isSparse: Bool) {
    self.file = file
    self.layout = layout
    self.pixels = pixels
    self.isSparse = isSparse
    isThroughRGBA = pixels.isThroughRGBA
    let stripBytes = layout.blockWidth * layout.blockHeight * pixels.form.bytesPerPixel
    stripsPerBlock =
      layout.isTiled || isThroughRGBA || isSparse
      ? 1 : max(1, min(layout.rows, Self.blockBytesWanted / max(1, stripBytes)))
    used = pixels.usedBlock
    grid = BlockGrid(
      width: layout.width, height: layout.height, blockWidth: used.width, blockHeight: used.height * stripsPerBlock,
      form: pixels.form)
  }

  func decode(column: Int, row: Int, into target: UnsafeMutableRawPointer) throws -> BlockContent {
    try file.withHandle { handle in
      var isVisible = false
      let first = row * stripsPerBlock
      for storedRow in first..<min(first + stripsPerBlock, layout.rows) {
        let part = target + (storedRow - first) * layout.blockHeight * layout.blockWidth * grid.form.bytesPerPixel
        let partIsVisible =
          isThroughRGBA
          ? try decodeThroughRGBA(column: column, row: storedRow, into: part, handle: handle)
          : try decodeStored(column: column, row: storedRow, into: part, handle: handle)
        isVisible = isVisible || partIsVisible
      }
      return isVisible ? .pixels : .transparent
    }
  }

  func isMissing(column: Int, row: Int) -> Bool {
    guard isSparse else { return false }
    let found = try? file.withHandle { handle in
      pixels.planes.contains { plane in
        var offset: UInt64 = 0
        var bytes: UInt64 = 0
        let number = layout.blockNumber(column: column, row: row, plane: plane)
        // A block whose place cannot be read is damaged: decoding says so.
        return ctiff_block_range(handle.pointer, number, &offset, &bytes) == 0 || (offset != 0 && bytes != 0)
      }
    }
    return found == false
  }

  /// Rows of a stored block that lie inside the raster.
  private func rowCount(_ row: Int) -> Int { min(layout.blockHeight, layout.height - row * layout.blockHeight) }

  /// Returns false if the whole block is transparent.
  private func decodeStored(
    column: Int, row: Int, into target: UnsafeMutableRawPointer, handle: TIFFHandle
  ) throws -> Bool {
    let rows = rowCount(row)
    let formBytes = layout.blockWidth * rows * grid.form.bytesPerPixel
    if pixels.isStoredAsForm, used.width == layout.blockWidth {
      return try readPlane(
        pixels.planes[0], column: column, row: row, into: target, capacity: formBytes, handle: handle)
    }
    let planes = pixels.planes
    let planeBytes = layout.storedRowBytes * used.height
    let workBytes = pixels.workBytes(width: layout.blockWidth)
    let scratch = handle.scratch(byteCount: planes.count * planeBytes + workBytes)
    var isWritten = false
    for (i, plane) in planes.enumerated() {
      let memory = scratch + i * planeBytes
      if try readPlane(plane, column: column, row: row, into: memory, capacity: planeBytes, handle: handle) {
        isWritten = true
      } else {
        memory.initializeMemory(as: UInt8.self, repeating: 0, count: planeBytes)
      }
    }
    guard isWritten else { return false }
    var isVisible = false
    let targetRowBytes = used.width * grid.form.bytesPerPixel
    for y in 0..<rows {
      guard !pixels.isStoredAsForm else {
        (target + y * targetRowBytes).copyMemory(from: scratch + y * layout.storedRowBytes, byteCount: targetRowBytes)
        isVisible = true
        continue
      }
      let rowPointers = planes.indices.map { UnsafeRawPointer(scratch + $0 * planeBytes + y * layout.storedRowBytes) }
      let rowIsVisible = pixels.convert(
        rowPointers, count: used.width, into: target + y * targetRowBytes,
        work: scratch + planes.count * planeBytes)
      isVisible = isVisible || rowIsVisible
    }
    return isVisible
  }

  /// Returns false if the block is missing in the file.
  private func readPlane(
    _ plane: Int, column: Int, row: Int, into memory: UnsafeMutableRawPointer, capacity: Int, handle: TIFFHandle
  ) throws -> Bool {
    let number = layout.blockNumber(column: column, row: row, plane: plane)
    let wanted = min(capacity, layout.storedRowBytes * (layout.isTiled ? layout.blockHeight : rowCount(row)))
    let count = handle.decode(number, into: memory, byteCount: wanted)
    guard count == 0 || count == wanted else { throw failure(column: column, row: row, handle: handle) }
    return count != 0
  }

  /// Decodes with libtiff's RGBA interface. Returns false if the whole block is transparent.
  private func decodeThroughRGBA(
    column: Int, row: Int, into target: UnsafeMutableRawPointer, handle: TIFFHandle
  ) throws -> Bool {
    var offset: UInt64 = 0
    var bytes: UInt64 = 0
    let number = layout.blockNumber(column: column, row: row, plane: 0)
    _ = ctiff_block_range(handle.pointer, number, &offset, &bytes)
    let rows = rowCount(row)
    guard offset != 0, bytes != 0 else { return false }
    let width = layout.blockWidth
    let scratch = handle.scratch(byteCount: width * layout.blockHeight * 4)
    let words = scratch.assumingMemoryBound(to: UInt32.self)
    guard
      ctiff_read_rgba_block(
        handle.pointer, UInt32(column * width), UInt32(row * layout.blockHeight), words) == 1,
      ctiff_error(handle.pointer)[0] == 0
    else { throw failure(column: column, row: row, handle: handle) }
    // libtiff puts the bottom row first: of the whole tile, or of the rows that a strip has.
    let last = (layout.isTiled ? layout.blockHeight : rows) - 1
    let pixels = target.assumingMemoryBound(to: UInt32.self)
    var isVisible = false
    for y in 0..<rows {
      let source = words + (last - y) * width
      let line = pixels + y * width
      for x in 0..<width { line[x] = straight(source[x]) }
      isVisible = isVisible || (0..<width).contains { line[$0] != 0 }
    }
    return isVisible
  }

  /// Divides colours by alpha, since libtiff multiplies them, and applies nodata.
  private func straight(_ word: UInt32) -> UInt32 {
    let alpha = word >> 24
    if alpha == 0 { return 0 }
    var result = word
    if alpha != 255 {
      var colours: UInt32 = 0
      for shift in [UInt32(0), 8, 16] {
        colours |= min(255, ((word >> shift & 255) * 255 + alpha / 2) / alpha) << shift
      }
      result = colours | alpha << 24
    }
    if let nodata = pixels.model.nodata {
      let isNodata = nodata.enumerated().allSatisfy { $1.matches(Double(result >> UInt32(8 * $0) & 255)) }
      if isNodata { return 0 }
    }
    return result
  }

  private func failure(column: Int, row: Int, handle: TIFFHandle) -> CutError {
    CutError(
      .badSource, path: file.path,
      "\(layout.blockName(column: column, row: row)) cannot be decoded: \(handle.takeError())",
      remedy: layout.decodingRemedy)
  }
}

extension TIFFPixelDecoder {
  /// A tile of more bytes is decoded as far as the raster's last row, and kept as far as its last column.
  private static let wholeBlockBytesMax = 16 << 20

  /// The part of a block that is decoded. libtiff's RGBA interface decodes all of it.
  var usedBlock: (width: Int, height: Int) {
    guard layout.isTiled, !isThroughRGBA, layout.storedBlockBytes > Self.wholeBlockBytesMax else {
      return (layout.blockWidth, layout.blockHeight)
    }
    return (min(layout.blockWidth, layout.width), min(layout.blockHeight, layout.height))
  }
}
