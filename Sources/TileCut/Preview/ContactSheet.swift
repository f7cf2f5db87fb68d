import TileImage
public import TileIndex

/// One picture of a whole bundle: a panel for each zoom level, with the tiles of that level put together, on a chequered ground that shows through where
/// nothing is. For a look before a map is shipped.
public struct ContactSheet: Sendable {
  /// Edge of a panel, in pixels.
  public var panelEdge = 384
  private let margin = 12
  private let labelHeight = 20

  public init() {}

  /// Draws the sheet.
  ///
  /// - Returns: the bytes of a PNG file.
  /// - Throws: ``BundleError`` when the bundle cannot be read, ``ImageError`` when a tile cannot be decoded.
  public func png(of bundle: BundleReader) throws -> [UInt8] {
    let zooms = try bundle.zooms()
    let columns = max(1, min(zooms.count, 4))
    let rows = (zooms.count + columns - 1) / columns
    let cell = (width: panelEdge + margin, height: panelEdge + labelHeight + margin)
    let sheet = PixelBuffer(width: columns * cell.width + margin, height: rows * cell.height + margin)
    sheet.fill(RGBA(red: 250, green: 250, blue: 248, alpha: 255))
    for (index, zoom) in zooms.enumerated() {
      let x = margin + index % columns * cell.width
      let y = margin + index / columns * cell.height
      let panel = try drawPanel(of: bundle, zoom: zoom, on: sheet, x: x, y: y + labelHeight)
      let label =
        "zoom \(zoom)  \(panel.tiles) \(panel.tiles == 1 ? "tile" : "tiles")  \(panel.width) x \(panel.height)"
      PixelFont.draw(label, on: sheet, x: x, y: y, scale: 2)
    }
    return try TileEncoder(.png(PNGOptions())).encode(sheet)
  }

  /// Draws the tiles of one level, cut to the bundle's bounds and shrunk by a power of two until they fit.
  ///
  /// - Returns: the number of tiles, and the level's size in pixels before shrinking.
  private func drawPanel(
    of bundle: BundleReader, zoom: Int, on sheet: PixelBuffer, x: Int, y: Int
  ) throws -> (tiles: Int, width: Int, height: Int) {
    guard let range = try bundle.range(zoom: zoom), let edge = try tileEdge(of: bundle, range) else { return (0, 0, 0) }
    let part = visiblePart(of: bundle, range: range, edge: edge)
    // A big level is shrunk tile by tile, so that the whole of it is never in memory.
    var ratio = 1
    while max(part.width, part.height) > panelEdge * ratio, ratio < edge, edge % (2 * ratio) == 0 { ratio *= 2 }
    let panel = PixelBuffer(
      width: min((part.width + ratio - 1) / ratio, panelEdge), height: min((part.height + ratio - 1) / ratio, panelEdge))
    var tiles = 0
    for tile in range {
      guard let bytes = try bundle.tile(tile) else { continue }
      tiles += 1
      let pixels = try bytes.withUnsafeBytes { try ImageDecoder.decode($0) }
      guard pixels.width == edge, pixels.height == edge else { continue }
      panel.paste(
        pixels.shrunk(by: ratio), x: (tile.column * edge - part.x) / ratio, y: (tile.row * edge - part.y) / ratio)
    }
    let ground = PixelBuffer(width: panel.width, height: panel.height)
    ground.fillChequered()
    Overlay.draw(panel, over: ground)
    sheet.paste(ground, x: x, y: y)
    return (tiles, part.width, part.height)
  }

  /// The edge of the level's tiles in pixels, from the first of them; nil when it has none.
  private func tileEdge(of bundle: BundleReader, _ range: TileRange) throws -> Int? {
    for tile in range {
      guard let bytes = try bundle.tile(tile) else { continue }
      return try bytes.withUnsafeBytes { try ImageDecoder.size(of: $0).width }
    }
    return nil
  }

  /// The pixels of a level that the bundle's bounds enclose; all tiles where it names none.
  private func visiblePart(of bundle: BundleReader, range: TileRange, edge: Int) -> PixelRect {
    let all = PixelRect(
      x: range.columns.lowerBound * edge, y: range.rows.lowerBound * edge, width: range.columns.count * edge,
      height: range.rows.count * edge)
    guard let bounds = bundle.metadata.bounds else { return all }
    let box = bundle.matrixSet.crsBounds(ofGeographicBounds: bounds)
    let matrix = bundle.matrixSet[range.zoom]
    let scale = Double(edge) / Double(matrix.tileWidth)
    let low = matrix.pixelCoordinates(of: SIMD2(box.west, box.north)) * scale
    let high = matrix.pixelCoordinates(of: SIMD2(box.east, box.south)) * scale
    let x = Int(low.x.rounded(.down))
    let y = Int(low.y.rounded(.down))
    let inside = PixelRect(x: x, y: y, width: Int(high.x.rounded(.up)) - x, height: Int(high.y.rounded(.up)) - y)
    return all.intersection(inside) ?? all
  }
}

extension PixelBuffer {
  /// The pixels averaged over blocks; the ratio is a power of two that divides the size.
  fileprivate func shrunk(by ratio: Int) -> PixelBuffer {
    guard ratio > 1 else { return self }
    let half = PixelBuffer(width: width / 2, height: height / 2)
    Reduce.average(self, ratio: 2, into: half, x: 0, y: 0)
    return half.shrunk(by: ratio / 2)
  }

  /// Copies the part of another buffer that fits at (x, y).
  fileprivate func paste(_ other: PixelBuffer, x: Int, y: Int) {
    let left = max(x, 0)
    let right = min(x + other.width, width)
    guard left < right else { return }
    for row in max(y, 0)..<max(min(y + other.height, height), max(y, 0)) {
      (bytes + row * rowBytes + left * 4).copyMemory(
        from: other.bytes + (row - y) * other.rowBytes + (left - x) * 4, byteCount: (right - left) * 4)
    }
  }

  /// The usual ground for transparency: squares of 8 pixels in two light greys.
  fileprivate func fillChequered() {
    for y in 0..<height {
      for x in 0..<width {
        let grey: UInt32 = (x / 8 + y / 8) % 2 == 0 ? 0xff : 0xe0
        bytes.storeBytes(
          of: 0xff00_0000 | grey << 16 | grey << 8 | grey, toByteOffset: (y * width + x) * 4, as: UInt32.self)
      }
    }
  }
}
