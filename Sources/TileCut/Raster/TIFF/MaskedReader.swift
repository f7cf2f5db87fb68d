import Support
import TileImage

/// Pixels whose transparency another raster decides.
struct MaskedReader: WindowReader {
  private let pixels: any WindowReader
  /// Has the same size; the result is transparent where the mask is.
  private let mask: any WindowReader

  init(_ pixels: any WindowReader, mask: TIFFPart, cache: BlockCache, scratchDirectory: String) throws {
    self.pixels = pixels
    self.mask = try mask.maskReader(cache: cache, scratchDirectory: scratchDirectory)
  }

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

  /// - Throws: ``CutError`` `.badSource` for a damaged mask.
  init(of file: SourceFile, width: Int, height: Int) throws {
    reader = try TIFFPart.mask(beside: file, width: width, height: height, warnings: WarningList())?
      .maskReader(cache: BlockCache(bytesMax: 8 << 20), scratchDirectory: FileSystem.temporaryFolder)
  }

  /// Whether there is no mask.
  var isEverything: Bool { reader == nil }

  /// Words that are zero where a pixel of the window is hidden, row by row.
  func words(_ window: PixelRect) throws -> [UInt32] {
    var words = [UInt32](repeating: .max, count: window.width * window.height)
    guard let reader else { return words }
    try words.withUnsafeMutableBytes {
      _ = try reader.read(window, into: $0.baseAddress!, rowBytes: window.width * 4)
    }
    return words
  }
}
