/// How an image must be turned to stand upright: the Orientation tag of TIFF 6.0 (section 8) and EXIF.
///
/// Flat images are turned. Georeferenced ones are not, as in GDAL: their georeference places the pixels as stored.
struct Orientation: Hashable, Sendable {
  /// 1 to 8; 1 is upright.
  private let code: Int

  static let upright = Orientation(code: 1)

  private init(code: Int) { self.code = code }

  /// - Parameter warn: called if the image would have to be turned, but is georeferenced.
  init(code: Int, options: RasterOpenOptions, path: String, warn: (String) -> Void) {
    guard (2...8).contains(code), options.isFlat, options.vrtDepth == 0 else {
      self.code = 1
      if (2...8).contains(code) {
        warn("\(path): its orientation tag (\(code)) is ignored, because its georeference places the pixels as stored")
      }
      return
    }
    self.code = code
  }

  /// Rows of the upright image are columns of the stored one.
  private var isTransposed: Bool { code >= 5 }

  /// The size of the upright image.
  func size(width: Int, height: Int) -> (width: Int, height: Int) { isTransposed ? (height, width) : (width, height) }

  /// The upright image of a stored one.
  ///
  /// - Parameters:
  ///   - width: pixels of the upright image; `height` likewise.
  func turned(_ reader: any WindowReader, width: Int, height: Int) -> any WindowReader {
    code == 1 ? reader : TurnedReader(reader: reader, orientation: self, width: width, height: height)
  }

  /// The stored pixel that an upright one shows.
  ///
  /// - Parameters:
  ///   - width: pixels of the upright image; `height` likewise.
  fileprivate func stored(x: Int, y: Int, width: Int, height: Int) -> (x: Int, y: Int) {
    switch code {
    case 2: (width - 1 - x, y)
    case 3: (width - 1 - x, height - 1 - y)
    case 4: (x, height - 1 - y)
    case 5: (y, x)
    case 6: (y, width - 1 - x)
    case 7: (height - 1 - y, width - 1 - x)
    case 8: (height - 1 - y, x)
    default: (x, y)
    }
  }
}

/// Reads the upright image of a stored one.
private struct TurnedReader: WindowReader {
  let reader: any WindowReader
  let orientation: Orientation
  let width: Int
  let height: Int

  func read(_ window: PixelRect, into target: UnsafeMutableRawPointer, rowBytes: Int) throws -> Bool {
    func stored(_ x: Int, _ y: Int) -> (x: Int, y: Int) {
      orientation.stored(x: x, y: y, width: width, height: height)
    }
    let first = stored(window.x, window.y)
    let last = stored(window.x + window.width - 1, window.y + window.height - 1)
    let part = PixelRect(
      x: min(first.x, last.x), y: min(first.y, last.y), width: abs(first.x - last.x) + 1,
      height: abs(first.y - last.y) + 1)
    // One step to the right and one down in the upright image, as bytes of the stored window.
    let (right, down) = (stored(1, 0), stored(0, 1))
    let corner = stored(0, 0)
    let across = ((right.y - corner.y) * part.width + right.x - corner.x) * 4
    let along = ((down.y - corner.y) * part.width + down.x - corner.x) * 4
    return try withUnsafeTemporaryAllocation(byteCount: part.width * part.height * 4, alignment: 16) { memory in
      let pixels = memory.baseAddress!
      let isOpaque = try reader.read(part, into: pixels, rowBytes: part.width * 4)
      let start = pixels + ((first.y - part.y) * part.width + first.x - part.x) * 4
      for y in 0..<window.height {
        let words = (target + y * rowBytes).assumingMemoryBound(to: UInt32.self)
        let line = start + y * along
        for x in 0..<window.width { words[x] = line.load(fromByteOffset: x &* across, as: UInt32.self) }
      }
      return isOpaque
    }
  }
}
