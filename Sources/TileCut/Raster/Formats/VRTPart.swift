/// A part of a raster at its place in a VRT.
struct VRTPart: Sendable {
  let source: any RasterSource
  let from: VRTDocument.Rect
  let to: VRTDocument.Rect

  init(source: any RasterSource, from: VRTDocument.Rect, to: VRTDocument.Rect) {
    (self.source, self.from, self.to) = (source, from, to)
  }

  /// A whole raster at its place in an overview.
  init(_ part: MosaicOverviews.Part) {
    let rect = part.rect
    source = part.source
    from = VRTDocument.Rect(width: Double(rect.width), height: Double(rect.height))
    to = VRTDocument.Rect(
      x: Double(rect.x), y: Double(rect.y), width: Double(rect.width), height: Double(rect.height))
  }

  /// The part if it is a whole raster whose pixels are those of the VRT.
  var mosaicPart: MosaicOverviews.Part? {
    let whole = VRTDocument.Rect(width: Double(source.width), height: Double(source.height))
    guard from == whole, to.width == from.width, to.height == from.height, let x = Int(exactly: to.x),
      let y = Int(exactly: to.y)
    else { return nil }
    return MosaicOverviews.Part(
      source: source, rect: PixelRect(x: x, y: y, width: source.width, height: source.height))
  }

  /// Whether the part fills a VRT of this size.
  func covers(width: Int, height: Int) -> Bool {
    let inside =
      from.x >= 0 && from.y >= 0 && from.x + from.width <= Double(source.width)
      && from.y + from.height <= Double(source.height)
    return inside && to.x <= 0 && to.y <= 0 && to.x + to.width >= Double(width) && to.y + to.height >= Double(height)
  }

  /// Draws the part's visible pixels over a window of the VRT.
  func draw(_ window: PixelRect, into target: UnsafeMutableRawPointer, rowBytes: Int) throws {
    let (scaleX, scaleY) = (from.width / to.width, from.height / to.height)
    /// The source's column or row under a pixel's centre.
    func place(_ pixel: Int, _ to: Double, _ from: Double, _ scale: Double) -> Int {
      Int(((Double(pixel) + 0.5 - to) * scale + from).rounded(.down))
    }
    func columns(_ range: Range<Int>) -> [Int] { range.map { place($0, to.x, from.x, scaleX) } }
    func pixels(_ start: Double, _ size: Double, _ low: Int, _ count: Int) -> Range<Int> {
      // Pixels whose centres lie in the rectangle.
      let first = max(Int((start - 0.5).rounded(.up)), low)
      let end = min(Int((start + size - 0.5).rounded(.up)), low + count)
      return first..<max(first, end)
    }
    let across = pixels(to.x, to.width, window.x, window.width)
    let down = pixels(to.y, to.height, window.y, window.height)
    guard !across.isEmpty, !down.isEmpty else { return }
    let xs = columns(across)
    let usable = xs.indices.filter { xs[$0] >= 0 && xs[$0] < source.width }
    guard let first = usable.first, let last = usable.last else { return }
    let isWhole = scaleX == 1 && scaleY == 1
    let (left, right) = (min(xs[first], xs[last]), max(xs[first], xs[last]))
    let rowWords = right - left + 1
    // Equal scales are read in bands, others row by row: a source row may be far from the next one.
    let bandHeight = isWhole ? down.count : 1
    var y = down.lowerBound
    try withUnsafeTemporaryAllocation(of: UInt32.self, capacity: rowWords * bandHeight) { memory in
      while y < down.upperBound {
        let top = place(y, to.y, from.y, scaleY)
        var skipped = 0
        if top < 0 { skipped = isWhole ? min(-top, down.upperBound - y) : 1 }
        let rows = min(bandHeight - skipped, source.height - (top + skipped), down.upperBound - y - skipped)
        if rows > 0, top + skipped >= 0 {
          let part = PixelRect(x: left, y: top + skipped, width: rowWords, height: rows)
          let isOpaque = try source.read(part, into: memory.baseAddress!, rowBytes: rowWords * 4)
          for row in 0..<rows {
            let line = memory.baseAddress! + row * rowWords
            let words = (target + (y + skipped + row - window.y) * rowBytes).assumingMemoryBound(to: UInt32.self)
            let out = words + (across.lowerBound - window.x)
            if isOpaque, isWhole {
              UnsafeMutableRawPointer(out + first).copyMemory(from: line, byteCount: rowWords * 4)
            } else {
              for i in first...last {
                let word = line[xs[i] - left]
                if word != 0 { out[i] = word }
              }
            }
          }
        }
        y += isWhole ? down.count : 1
      }
    }
  }
}
