import TileImage
import TileIndex

/// Puts a bundle's tiles side by side.
struct TileDrawing {
  let path: String
  let matrixSet: TileMatrixSet
  private let bundle: any BundleReader
  /// The zooms with tiles, ascending.
  private let zooms: [Int]
  /// Pixels of a stored tile per pixel of the grid: 2 for tiles of 512 pixels on a grid of 256.
  private let density: Double

  /// - Throws: ``BundleError`` if the bundle has no tiles or its tiles are not images.
  init(_ bundle: any BundleReader) throws {
    path = bundle.path
    matrixSet = bundle.matrixSet
    self.bundle = bundle
    try bundle.prepareLookups()
    zooms = try bundle.zooms()
    guard let first = zooms.first, let range = try bundle.range(zoom: first) else {
      throw BundleError(.malformed, path: path, "has no tiles to show", remedy: "check what made it")
    }
    var width: Int?
    for tile in range.prefix(4096) {
      guard let bytes = try bundle.tile(tile) else { continue }
      width = try Self.decoding(tile, path) { try bytes.withUnsafeBytes { try ImageDecoder.need(of: $0).width } }
      break
    }
    density = Double(width ?? matrixSet[first].tileWidth) / Double(matrixSet[first].tileWidth)
  }

  /// The size of a stored pixel in CRS units.
  func cellSize(zoom: Int) -> Double { matrixSet[zoom].cellSize / density }

  /// The zoom to draw from: the coarsest one that is at least as fine as the picture, or the finest one.
  func level(for cellSize: Double, asked: Int?) -> Int {
    if let asked, asked <= zooms.last! { return max(asked, zooms.first!) }
    // With a tolerance for rounding errors.
    return zooms.first { self.cellSize(zoom: $0) <= cellSize * 1.0001 } ?? zooms.last!
  }

  /// Draws the part of the map that a view shows, from the tiles of a zoom.
  func canvas(over view: PictureView, zoom: Int) throws -> PixelBuffer {
    let cell = cellSize(zoom: zoom)
    let ratio = view.cellSize / cell
    // In the zoom's pixels. Whole numbers if no resampling is needed, so that tiles are copied unchanged.
    let matrix = matrixSet[zoom]
    let size = SIMD2(Double(view.width), Double(view.height)) * ratio
    let middle = SIMD2(view.centre.x - matrix.origin.x, matrix.origin.y - view.centre.y) / cell
    var start = middle - size / 2
    let isNative = abs(ratio - 1) < 1e-4
    if isNative { start.round(.toNearestOrAwayFromZero) }
    let end = isNative ? start + SIMD2(Double(view.width), Double(view.height)) : start + size
    let window = PixelRect(
      x: Int(start.x.rounded(.down)), y: Int(start.y.rounded(.down)),
      width: Int(end.x.rounded(.up)) - Int(start.x.rounded(.down)),
      height: Int(end.y.rounded(.up)) - Int(start.y.rounded(.down)))
    guard window.width * window.height <= Self.pixelsMax else {
      throw CutError(
        .invalidOption, path: path, "the coarsest zoom, \(zoom), has \(window.width) x \(window.height) pixels there",
        remedy: "choose a smaller box")
    }
    let canvas = PixelBuffer(width: window.width, height: window.height)
    try draw(window, zoom: zoom, on: canvas)
    guard !isNative else { return canvas }
    let scaled = PixelBuffer(width: view.width, height: view.height)
    PictureScaler.draw(
      canvas, from: start - SIMD2(Double(window.x), Double(window.y)), step: ratio, into: scaled)
    return scaled
  }

  /// 400 MB. Only bundles without coarse zooms need so many pixels for a small picture.
  private static let pixelsMax = 100_000_000

  private func draw(_ window: PixelRect, zoom: Int, on canvas: PixelBuffer) throws {
    let matrix = matrixSet[zoom]
    let edge = (x: pixels(matrix.tileWidth), y: pixels(matrix.tileHeight))
    guard edge.x * edge.y <= ImageDecoder.pixelCountMax else {
      // The header of one tile decides it, whatever its pixels are.
      throw BundleError(
        .malformed, path: path, "its tiles have \(edge.x) x \(edge.y) pixels by the header of the first",
        remedy: "verify it to find such tiles", repair: .verify)
    }
    let rows =
      max(window.y.floorDivided(by: edge.y), 0)...max((window.y + window.height - 1).floorDivided(by: edge.y), 0)
    let columns = window.x.floorDivided(by: edge.x)...(window.x + window.width - 1).floorDivided(by: edge.x)
    for row in rows where row < matrix.matrixHeight {
      for column in columns {
        // In a global grid, the first column follows the last one.
        let wrapped = matrixSet.isGlobal ? column.floorRemainder(by: matrix.matrixWidth) : column
        guard wrapped >= 0, wrapped < matrix.matrixWidth else { continue }
        guard let tile = try tile(TileID(unchecked: zoom, wrapped, row), edge) else { continue }
        canvas.copy(tile, x: column * edge.x - window.x, y: row * edge.y - window.y)
      }
    }
  }

  private func pixels(_ gridPixels: Int) -> Int { Int((Double(gridPixels) * density).rounded()) }

  /// A tile's pixels, or the part of the nearest coarser tile that covers it.
  private func tile(_ tile: TileID, _ edge: (x: Int, y: Int)) throws -> PixelBuffer? {
    var source: TileID? = tile
    var column = Enlarge.Cell.whole
    var row = Enlarge.Cell.whole
    while let found = source, found.zoom >= zooms[0] {
      if let bytes = try bundle.tile(found) {
        let pixels = try Self.decoding(found, path) { try bytes.withUnsafeBytes { try ImageDecoder.decode($0) } }
        if column.count == 1, pixels.width == edge.x, pixels.height == edge.y { return pixels }
        if column.count > 1, try isVoid(below: found, pixels, column, row) { return nil }
        let target = PixelBuffer(width: edge.x, height: edge.y)
        Enlarge.draw(pixels, column: column, row: row, into: target)
        return target
      }
      guard let parent = matrixSet.parent(of: found) else { return nil }
      let ratio = matrixSet.ratio(below: parent.zoom)
      column = Enlarge.Cell(index: column.index + found.column % ratio * column.count, count: column.count * ratio)
      row = Enlarge.Cell(index: row.index + found.row % ratio * row.count, count: row.count * ratio)
      source = parent
    }
    return nil
  }

  /// True when the part of a tile that was to be enlarged is ground without data, whose tile was left out for that
  /// reason. Interpolation would smear the colours at its edge over it.
  ///
  /// Such a part is transparent. In tiles without transparency it is white or black beyond the noise of the nearest
  /// JPEG blocks, and a tile beside it does exist.
  private func isVoid(
    below tile: TileID, _ pixels: PixelBuffer, _ column: Enlarge.Cell, _ row: Enlarge.Cell
  ) throws -> Bool {
    let ratio = matrixSet.ratio(below: tile.zoom)
    // The child of the tile that is missing.
    let child = (x: column.index * ratio / column.count, y: row.index * ratio / row.count)
    let part = PixelRect(
      x: child.x * pixels.width / ratio, y: child.y * pixels.height / ratio, width: pixels.width / ratio,
      height: pixels.height / ratio)
    if pixels.opacity != .opaque { return pixels.isUniform(part) { $0 >> 24 == 0 } }
    let margin = min(16, min(part.width, part.height) / 4)
    let inner = PixelRect(
      x: part.x + margin, y: part.y + margin, width: part.width - 2 * margin, height: part.height - 2 * margin)
    guard
      pixels.isUniform(inner, where: { $0 & 0xfc_fcfc == 0xfc_fcfc })
        || pixels.isUniform(inner, where: { $0 & 0xfc_fcfc == 0 })
    else { return false }
    return try matrixSet.children(of: tile)?.contains { try bundle.withTile($0) { _ in true } ?? false } ?? false
  }

  /// Adds the bundle and the tile to the codecs' errors.
  static func decoding<T>(_ tile: TileID, _ path: String, _ body: () throws -> T) throws -> T {
    do {
      return try body()
    } catch let error as ImageError {
      throw BundleError(
        .malformed, path: path, "tile \(tile) cannot be drawn: \(error)",
        remedy: "only PNG, JPEG and WebP tiles can; tilecut verify finds every damaged one")
    }
  }
}

extension Int {
  fileprivate func floorDivided(by divisor: Int) -> Int { (self - floorRemainder(by: divisor)) / divisor }
  fileprivate func floorRemainder(by divisor: Int) -> Int { (self % divisor + divisor) % divisor }
}

/// The part of the map that a picture shows.
struct PictureView {
  /// Its centre, in CRS units.
  var centre: SIMD2<Double>
  /// CRS units per pixel.
  var cellSize: Double
  /// In pixels.
  var width: Int
  /// In pixels.
  var height: Int
}

extension PixelBuffer {
  /// True when all pixels of a part meet a condition, as words with alpha in the highest byte.
  fileprivate func isUniform(_ part: PixelRect, where condition: (UInt32) -> Bool) -> Bool {
    for y in part.y..<(part.y + part.height) {
      for x in part.x..<(part.x + part.width) {
        guard condition(bytes.loadUnaligned(fromByteOffset: y * rowBytes + x * 4, as: UInt32.self)) else {
          return false
        }
      }
    }
    return true
  }
}
