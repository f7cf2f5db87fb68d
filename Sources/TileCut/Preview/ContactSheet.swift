import TileImage
package import TileIndex

/// A picture of a whole bundle, for a check before publication: one panel for each zoom with that zoom's tiles, on a
/// chequered background that shows where the map is transparent.
package struct ContactSheet: Sendable {
  /// The largest edge of a panel, in pixels.
  package var panelEdgeMax = 512
  /// The largest width of the sheet, in pixels.
  package var widthMax = 1600
  private let margin = 20
  private let labelHeight = 18

  package init() {}

  /// Draws the sheet.
  ///
  /// - Parameter progress: called every 256 tiles with the number of tiles decoded so far.
  /// - Returns: a PNG file.
  /// - Throws: ``BundleError`` if the bundle cannot be read, has no tiles, or has a tile that cannot be decoded.
  package func png(of bundle: any BundleReader, progress: @escaping (Int) -> Void = { _ in }) throws -> [UInt8] {
    let count = TileCount(progress)
    let panels = try bundle.zooms().compactMap { try panel(of: bundle, zoom: $0, count) }
    guard !panels.isEmpty else {
      throw BundleError(.malformed, path: bundle.path, "has no tiles to show", remedy: "check what made it")
    }
    // Panels are placed from left to right; a new row begins when the width is used up.
    var places: [(x: Int, y: Int)] = []
    var (x, y, rowHeight, width) = (margin, margin, 0, 0)
    for panel in panels {
      let panelWidth = max(panel.pixels.width, PixelFont.width(of: panel.label, scale: 2))
      if x > margin, x + panelWidth + margin > widthMax { (x, y, rowHeight) = (margin, y + rowHeight + margin, 0) }
      places.append((x, y))
      x += panelWidth + margin
      width = max(width, x)
      rowHeight = max(rowHeight, labelHeight + panel.pixels.height)
    }
    let sheet = PixelBuffer(width: max(width, 1), height: y + rowHeight + margin)
    sheet.fill(RGBA(red: 250, green: 250, blue: 248))
    for (panel, place) in zip(panels, places) {
      PixelFont.draw(panel.label, on: sheet, x: place.x, y: place.y, scale: 2)
      sheet.copy(panel.pixels, x: place.x, y: place.y + labelHeight)
    }
    return try TileEncoder(.png(PNGOptions())).encode(sheet)
  }

  private struct Panel {
    let label: String
    let pixels: PixelBuffer
  }

  /// Draws the tiles of one zoom, cropped to the bundle's bounds and reduced by a power of two until they fit.
  private func panel(of bundle: any BundleReader, zoom: Int, _ count: TileCount) throws -> Panel? {
    guard let range = try bundle.range(zoom: zoom), let edge = try tileEdge(of: bundle, range) else { return nil }
    let part = visiblePart(of: bundle, range: range, edge: edge)
    // Large zooms are reduced tile by tile, so that a whole zoom is never in memory.
    var ratio = 1
    while max(part.width, part.height) > panelEdgeMax * ratio, ratio < edge, edge % (2 * ratio) == 0 { ratio *= 2 }
    let level = PixelBuffer(
      width: min((part.width + ratio - 1) / ratio, panelEdgeMax),
      height: min((part.height + ratio - 1) / ratio, panelEdgeMax))
    var tiles = 0
    try bundle.forEachTile(in: range) { tile, bytes in
      tiles += 1
      count.add()
      let pixels = try TileDrawing.decoding(tile, bundle.path) { try ImageDecoder.decode(bytes) }
      guard pixels.width == edge, pixels.height == edge else { return }
      level.copy(
        pixels.shrunk(by: ratio), x: (tile.column * edge - part.x) / ratio, y: (tile.row * edge - part.y) / ratio)
    }
    let ground = PixelBuffer(width: level.width, height: level.height)
    ground.fillChequered()
    Overlay.draw(level, over: ground)
    return Panel(
      label: "zoom \(zoom)  \(tiles) \(tiles == 1 ? "tile" : "tiles")  \(part.width) x \(part.height)", pixels: ground)
  }

  /// The edge of the zoom's tiles in pixels, from the first of them; nil if there is none.
  private func tileEdge(of bundle: any BundleReader, _ range: TileRange) throws -> Int? {
    for tile in range {
      guard let bytes = try bundle.tile(tile) else { continue }
      return try TileDrawing.decoding(tile, bundle.path) {
        try bytes.withUnsafeBytes { try ImageDecoder.size(of: $0).width }
      }
    }
    return nil
  }

  /// The pixels of a zoom inside the bundle's bounds; all tiles if it has no bounds.
  private func visiblePart(of bundle: any BundleReader, range: TileRange, edge: Int) -> PixelRect {
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
  /// Averages blocks of pixels; the ratio is a power of two that divides the size.
  fileprivate func shrunk(by ratio: Int) -> PixelBuffer {
    guard ratio > 1 else { return self }
    let half = PixelBuffer(width: width / 2, height: height / 2)
    Reduce.average(self, ratio: 2, into: half, x: 0, y: 0)
    return half.shrunk(by: ratio / 2)
  }

  /// The usual background for transparency: squares of 8 pixels in two light greys.
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

/// Glyphs of 3 x 5 pixels for the labels of contact sheets; avoids a font library.
private enum PixelFont {
  /// Five rows of three bits each from top to bottom; the highest bit is the leftmost pixel.
  private static let glyphs: [Character: [UInt8]] = [
    "0": [7, 5, 5, 5, 7], "1": [2, 6, 2, 2, 7], "2": [7, 1, 7, 4, 7], "3": [7, 1, 3, 1, 7], "4": [5, 5, 7, 1, 1],
    "5": [7, 4, 7, 1, 7], "6": [7, 4, 7, 5, 7], "7": [7, 1, 2, 2, 2], "8": [7, 5, 7, 5, 7], "9": [7, 5, 7, 1, 7],
    "z": [0, 7, 1, 4, 7], "o": [0, 7, 5, 5, 7], "m": [0, 7, 7, 5, 5], "t": [2, 7, 2, 2, 3], "i": [2, 0, 2, 2, 2],
    "l": [4, 4, 4, 4, 6], "e": [0, 7, 7, 4, 7], "s": [0, 7, 6, 3, 7], "x": [0, 5, 2, 2, 5],
  ]

  /// The width of a text in pixels.
  static func width(of text: String, scale: Int) -> Int { 4 * scale * text.count }

  /// Draws text in dark grey with its top left corner at (x, y); unsupported characters leave a gap.
  static func draw(_ text: String, on buffer: PixelBuffer, x: Int, y: Int, scale: Int) {
    var left = x
    for character in text {
      for (row, bits) in (glyphs[character] ?? []).enumerated() {
        for column in 0..<3 where bits >> (2 - column) & 1 == 1 {
          fill(buffer, x: left + column * scale, y: y + row * scale, edge: scale)
        }
      }
      left += 4 * scale
    }
  }

  private static func fill(_ buffer: PixelBuffer, x: Int, y: Int, edge: Int) {
    for row in max(y, 0)..<min(y + edge, buffer.height) {
      for column in max(x, 0)..<min(x + edge, buffer.width) {
        buffer.bytes.storeBytes(of: 0xff40_4040, toByteOffset: (row * buffer.width + column) * 4, as: UInt32.self)
      }
    }
  }
}
