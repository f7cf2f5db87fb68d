import Synchronization

/// A JPEG 2000 image (JP2 or a bare codestream), placed by its GeoJP2 box, its GML box, the files beside it or options.
///
/// An image in tiles is decoded window by window. One without tiles is decoded once in bands of rows, since each window
/// would read all of its data. The coarser versions that the wavelets give serve as overviews, unless a mask lies
/// beside the image.
package final class JP2Source: RasterSource {
  package let path: String
  package let width: Int
  package let height: Int
  package let alphaKind: AlphaKind
  package let georeference: Georeference
  package var warnings: [String] { warningList.all }
  private let image: JP2Image
  private let mask: TIFFPart?
  private let cache: BlockCache
  private let scratchDirectory: String
  private let reader: Mutex<(any WindowReader)?>
  private let warningList: WarningList

  init(_ file: SourceFile, options: RasterOpenOptions) throws {
    let options = options.withAuxiliaryNodata
    let image = try JP2Image(file, options: options)
    self.image = image
    (path, width, height) = (file.path, image.width, image.height)
    cache = options.cache ?? BlockCache(bytesMax: options.cacheBytesMax)
    scratchDirectory = options.scratchDirectory
    warningList = WarningList()
    georeference = try Self.place(file, width: image.width, height: image.height, options, warningList)
    mask = try TIFFPart.mask(beside: file, width: image.width, height: image.height, warnings: warningList)
    alphaKind = image.alphaKind == .opaque && mask != nil ? .mask : image.alphaKind
    guard image.isTiled || file.size <= cache.bytesMax else {
      throw CutError(
        .badSource, path: file.path, "is a JPEG 2000 image of one tile, whose \(file.size >> 20) MB must be in memory",
        remedy: options.remedy(cacheBytes: file.size, orElse: "convert it to a GeoTIFF"))
    }
    reader = Mutex(nil)
  }

  package func read(_ window: PixelRect, into target: UnsafeMutableRawPointer, rowBytes: Int) throws -> Bool {
    let reader = try self.reader.withLock { reader in
      if let reader { return reader }
      let made = try Self.reader(image, reduction: 0, cache: cache, scratchDirectory: scratchDirectory)
        .masked(by: mask, cache: cache, scratchDirectory: scratchDirectory)
      reader = made
      return made
    }
    return try reader.read(window, into: target, rowBytes: rowBytes)
  }

  package func overview(factorMax: Double) throws -> (any RasterSource)? {
    // Of what the mask hides, coarser pixels would show a part.
    guard mask == nil else { return nil }
    var reduction = 0
    while reduction < image.reductionMax, Double(2 << reduction) <= factorMax { reduction += 1 }
    guard reduction > 0 else { return nil }
    let (width, height) = image.reducedSize(reduction)
    let reader = try Self.reader(image, reduction: reduction, cache: cache, scratchDirectory: scratchDirectory)
    return RasterOverview(of: self, reader: reader, width: width, height: height, alphaKind: alphaKind)
  }

  private static func reader(
    _ image: JP2Image, reduction: Int, cache: BlockCache, scratchDirectory: String
  ) throws -> any WindowReader {
    guard image.isTiled else {
      return try JP2Rows(image, reduction: reduction, bytesMax: cache.bytesMax / 2)
        .readAll(cache: cache, scratchDirectory: scratchDirectory)
    }
    let decoder = JP2BlockDecoder(image, reduction: reduction)
    return BlockRaster(grid: decoder.grid, decoder: decoder, cache: cache)
  }

  private static func place(
    _ file: SourceFile, width: Int, height: Int, _ options: RasterOpenOptions, _ warnings: WarningList
  ) throws -> Georeference {
    guard let part = JP2Boxes.geoTIFF(file), let handle = try? TIFFHandle(file, part: part) else {
      let gml = try JP2Boxes.gml(file).map {
        try GMLCoverage($0, isNorthFirst: CoordinateReferenceSystem.isNorthFirst(code:))
      }
      let placement = Placement(
        path: file.path, width: width, height: height, affine: gml?.affine,
        crs: { try gml?.crs.map { try CoordinateReferenceSystem(definition: $0, path: file.path) } },
        warnings: warnings)
      return try placement.georeference(options)
    }
    let keys = try GeoKeys(handle)
    let tags = TIFFPlacement(handle, isPoint: keys?.short(.rasterType) == 2) { warnings.add("\(file.path): \($0)") }
    let placement = Placement(
      path: file.path, width: width, height: height, affine: tags.affine, controlPoints: tags.controlPoints,
      crs: { try keys?.crs(path: file.path) }, problem: tags.problem, warnings: warnings)
    let georeference = try placement.georeference(options)
    for remark in keys?.remarks ?? [] { warnings.add("\(file.path): \(remark)") }
    return georeference
  }
}

/// Decodes windows of a JPEG 2000 image that are multiples of its tiles.
private struct JP2BlockDecoder: BlockDecoder {
  let image: JP2Image
  let reduction: Int
  let grid: BlockGrid

  /// The edge of a block in pixels, if tiles are smaller. Each block is a pass over the headers of all tiles before.
  private static let edgeWanted = 1024

  init(_ image: JP2Image, reduction: Int) {
    (self.image, self.reduction) = (image, reduction)
    let (width, height) = image.reducedSize(reduction)
    func edge(_ tile: Int) -> Int {
      let reduced = max(tile >> reduction, 1)
      // Whole tiles; of enormous ones a window.
      return reduced > 4096 ? Self.edgeWanted : max(Self.edgeWanted / reduced, 1) * reduced
    }
    grid = BlockGrid(
      width: width, height: height, blockWidth: min(edge(image.tile.width), width),
      blockHeight: min(edge(image.tile.height), height), form: image.form)
  }

  func decode(column: Int, row: Int, into target: UnsafeMutableRawPointer) throws -> BlockContent {
    let (x, y) = (column * grid.blockWidth, row * grid.blockHeight)
    let window = PixelRect(
      x: x, y: y, width: min(grid.blockWidth, grid.width - x), height: min(grid.blockHeight, grid.height - y))
    try image.decode(window, reduction: reduction, into: target, rowBytes: grid.blockWidth * grid.form.bytesPerPixel)
    return .pixels
  }
}

/// The rows of a JPEG 2000 image without tiles, decoded in bands.
private final class JP2Rows: RowSource {
  let path: String
  let width: Int
  let height: Int
  let form: PixelForm
  private let image: JP2Image
  private let reduction: Int
  private let bandHeight: Int
  private let band: UnsafeMutableRawPointer
  private var nextRow = 0

  /// OpenJPEG's memory for a pixel of three components: integers, and coefficients while it decodes.
  private static let bytesPerPixel = 32

  init(_ image: JP2Image, reduction: Int, bytesMax: Int) throws {
    (self.image, self.reduction, path, form) = (image, reduction, image.file.path, image.form)
    (width, height) = image.reducedSize(reduction)
    let rows = bytesMax / max(1, width * Self.bytesPerPixel)
    guard rows > 0 else {
      throw CutError(
        .badSource, path: path, "its rows of \(width) pixels are too long to decode",
        remedy: "convert it to a GeoTIFF in tiles")
    }
    bandHeight = min(height, rows)
    let bytes = width * form.bytesPerPixel * bandHeight
    band = .allocate(byteCount: bytes + PixelForm.slackBytes, alignment: 64)
  }

  deinit { band.deallocate() }

  func readRow(into row: UnsafeMutableRawPointer) throws {
    let rowBytes = width * form.bytesPerPixel
    if nextRow % bandHeight == 0 {
      let window = PixelRect(x: 0, y: nextRow, width: width, height: min(bandHeight, height - nextRow))
      try image.decode(window, reduction: reduction, into: band, rowBytes: rowBytes)
    }
    row.copyMemory(from: band + nextRow % bandHeight * rowBytes, byteCount: rowBytes)
    nextRow += 1
  }
}
