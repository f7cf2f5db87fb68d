import CTIFFShim
import Support

/// Reads a ``ValueSample`` of a TIFF: from all of a small image, from an overview, or from blocks spread over the
/// image.
struct TIFFValueSample {
  let part: TIFFPart
  let mask: TIFFPart?
  let model: TIFFColourModel

  /// Of images with more pixels than this a part is read.
  private static let pixelsMax = 1 << 22
  /// An overview of fewer pixels does not stand for the image.
  private static let overviewPixelsMin = 1 << 18
  private static let blocksMax = 64

  /// Chooses what to read.
  init(_ image: TIFFPart, mask: TIFFPart?, directories: TIFFDirectories, model: TIFFColourModel) {
    self.model = model
    if image.layout.width * image.layout.height > Self.pixelsMax,
      let overview = directories.overview(
        factorMax: .infinity, pixelsMin: Self.overviewPixelsMin, isMasked: mask != nil,
        accepts: { $0.layout.width * $0.layout.height <= Self.pixelsMax })
    {
      (part, self.mask) = (overview.image, overview.mask)
    } else {
      (part, self.mask) = (image, mask)
    }
  }

  /// The values of the colour bands in pixels that are not transparent. Blocks that cannot be decoded are left out.
  func values() -> ValueSample {
    var sample = ValueSample()
    forEachPixel { bands in
      if model.alphaBand != nil, bands[model.colourBandCount] == 0 { return }
      if let nodata = model.nodata, (0..<nodata.count).allSatisfy({ nodata[$0].matches(bands[$0]) }) { return }
      sample.add(bands[..<model.colourBandCount])
    }
    return sample
  }

  /// Some values of the alpha band.
  func alphaValues() -> [Double] {
    guard model.alphaBand != nil else { return [] }
    var values: [Double] = []
    forEachPixel(share: 16) { values.append($0[model.colourBandCount]) }
    return values
  }

  /// Calls `body` with the samples of the model's colour bands, and its alpha band, in pixels that no mask covers.
  ///
  /// - Parameter share: of how many blocks to read one, at least.
  private func forEachPixel(share: Int = 1, _ body: (ArraySlice<Double>) -> Void) {
    let layout = part.layout
    let pixels = TIFFPixelDecoder(layout: layout, model: model)
    let planeBytes = layout.storedRowBytes * layout.blockHeight
    guard planeBytes <= TIFFLayout.blockBytesMax / 16, layout.bits <= 8 || BandRow.canScale(layout) else { return }
    let maskReader = try? mask?.maskReader(
      cache: BlockCache(bytesMax: 8 << 20), scratchDirectory: FileSystem.temporaryFolder)
    let (count, blocks) = (layout.columns * layout.rows, chosenBlocks(share: share))
    let step = blocks.count * layout.blockWidth * layout.blockHeight / ValueSample.countMax
    var number = 0
    for block in blocks {
      _ = try? part.file.withHandle { handle in
        let planes = pixels.planes
        let work = handle.scratch(byteCount: planes.count * planeBytes + pixels.workBytes(width: layout.blockWidth))
        for (i, plane) in planes.enumerated() {
          let stored = UInt32(plane * count + block)
          guard handle.decode(stored, into: work + i * planeBytes, byteCount: planeBytes) > 0 else { return }
        }
        let (left, top) = (block % layout.columns * layout.blockWidth, block / layout.columns * layout.blockHeight)
        let width = min(layout.blockWidth, layout.width - left)
        var flags = [UInt32](repeating: .max, count: width)
        for y in 0..<min(layout.blockHeight, layout.height - top) {
          if let maskReader {
            _ = try flags.withUnsafeMutableBytes {
              try maskReader.read(
                PixelRect(x: left, y: top + y, width: width, height: 1), into: $0.baseAddress!, rowBytes: width * 4)
            }
          }
          let rows = pixels.bandRows(
            planes.indices.map { UnsafeRawPointer(work + $0 * planeBytes + y * layout.storedRowBytes) },
            count: layout.blockWidth, work: work + planes.count * planeBytes)
          for x in 0..<width {
            number += 1
            guard ValueSample.takes(number, step: step), flags[x] != 0 else { continue }
            body(rows.map { $0.value(x, layout: layout) }[...])
          }
        }
      }
    }
  }

  /// Blocks in a golden-ratio sequence, which covers the image evenly whatever their number.
  private func chosenBlocks(share: Int) -> [Int] {
    let layout = part.layout
    let count = layout.columns * layout.rows
    let blockPixels = max(1, layout.blockWidth * layout.blockHeight)
    let wanted = max(Self.blocksMax / min(share, 8), Self.pixelsMax / share / blockPixels)
    if count <= wanted { return Array(0..<count) }
    var chosen = Set<Int>()
    for i in 0..<wanted {
      let turn = Double(i) * 0.618_033_988_749_895
      chosen.insert(Int((turn - turn.rounded(.down)) * Double(count)))
    }
    return chosen.sorted()
  }
}
