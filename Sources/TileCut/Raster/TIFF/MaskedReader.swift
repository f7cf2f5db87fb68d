import Support
import TileImage

/// Pixels whose transparency another raster decides.
private struct MaskedReader: WindowReader {
  let pixels: any WindowReader
  /// Has the same size; the result is transparent where the mask is.
  let mask: any WindowReader

  func mayBeVisible(_ window: PixelRect) -> Bool { pixels.mayBeVisible(window) && mask.mayBeVisible(window) }

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

extension WindowReader {
  /// The same pixels, transparent where the mask of their image is.
  func masked(by mask: TIFFPart?, cache: BlockCache, scratchDirectory: String) throws -> any WindowReader {
    guard let mask else { return self }
    return MaskedReader(pixels: self, mask: try mask.maskReader(cache: cache, scratchDirectory: scratchDirectory))
  }
}

extension TIFFPart {
  /// The mask in the `.msk` file beside an image that is no TIFF; nil if there is none of its size.
  ///
  /// - Throws: ``CutError`` `.badSource` if it is damaged.
  static func mask(beside file: SourceFile, width: Int, height: Int, warnings: WarningList) throws -> TIFFPart? {
    guard file.isPlain else { return nil }
    return try TIFFDirectories(masksBeside: file.path, width: width, height: height, warnings: warnings).mask()
  }

  /// The pixels of a mask: white where it shows something, else transparent.
  func maskReader(cache: BlockCache, scratchDirectory: String) throws -> any WindowReader {
    try TIFFReader.reader(
      file: file, layout: layout, pixels: TIFFPixelDecoder(maskOf: layout), isSparse: isSparse, cache: cache,
      scratchDirectory: scratchDirectory)
  }
}

/// Which pixels of an image the mask beside it shows, for samples of its values.
struct ShownPixels {
  private let reader: (any WindowReader)?
  private let width: Int
  private let height: Int

  /// - Throws: ``CutError`` `.badSource` for a damaged mask.
  init(of file: SourceFile, width: Int, height: Int) throws {
    (self.width, self.height) = (width, height)
    reader = try TIFFPart.mask(beside: file, width: width, height: height, warnings: WarningList())?
      .maskReader(cache: BlockCache(bytesMax: 8 << 20), scratchDirectory: FileSystem.temporaryFolder)
  }

  /// Words that are zero where a pixel of the window is hidden, row by row; nil where there is no mask.
  ///
  /// - Parameter reduction: how often the image of the window was halved. Of pixels that became one the first counts.
  func words(_ window: PixelRect, reduction: Int = 0) throws -> [UInt32]? {
    guard let reader else { return nil }
    var words = [UInt32](repeating: .max, count: window.width * window.height)
    let left = window.x << reduction
    var line = [UInt32](repeating: 0, count: min(window.width << reduction, width - left))
    for y in 0..<window.height {
      let row = PixelRect(x: left, y: min((window.y + y) << reduction, height - 1), width: line.count, height: 1)
      try line.withUnsafeMutableBytes { _ = try reader.read(row, into: $0.baseAddress!, rowBytes: $0.count) }
      for x in 0..<window.width { words[y * window.width + x] = line[min(x << reduction, line.count - 1)] }
    }
    return words
  }
}
