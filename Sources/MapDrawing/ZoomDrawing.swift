import RegionCatalog
import TileIndex

/// What the rules of all layers draw at one zoom, in drawing order.
struct ZoomDrawing: Sendable {
  /// How a feature is drawn; lengths in pixels of tiles.
  enum Style: Sendable {
    case line(Pen)
    case area(Ink?, outline: Pen?)
    case circle(radius: Double, Ink, stroke: Pen?)
    case label(Label)
  }

  struct Item: Sendable {
    /// Rings of a polygon, lines, or points as lines of one point.
    let shapes: [LineShape]
    let style: Style
    let low: SIMD2<Double>
    let high: SIMD2<Double>
    /// How far it reaches beyond its points, in pixels.
    let reach: Double
  }

  let items: [Item]
  /// The memory that it takes, in bytes.
  let byteCount: Int
  /// The numbers of the items that come near each block of tiles, ascending.
  private let blocks: [SIMD2<Int>: [Int]]
  /// Those of items that come near very many.
  private let wide: [Int]

  /// Tiles along a block's edge.
  private static let blockEdge = 4
  private static let blocksMax = 4096

  /// - Parameters:
  ///   - labels: by the rule's number among all rules.
  ///   - density: pixels of a tile for each of the screen, in which styles measure.
  ///   - isShown: whether a tile may show an item.
  /// - Throws: ``DrawingError`` only if the work is to stop.
  init(
    _ layers: [ZoomLayer], labels: [Int: [Label]], matrixSet: TileMatrixSet, zoom: Int, density: Double,
    where isShown: (Item) -> Bool
  ) throws(DrawingError) {
    var items: [Item] = []
    try Self.forEachItem(layers, labels: labels, zoom: zoom, density: density) { if isShown($0) { items.append($0) } }
    let grid = BlockGrid(matrixSet, zoom)
    // A copy that is as large as it needs to be.
    self.items = items.withUnsafeBufferPointer { Array($0) }
    (blocks, wide) = Self.blocks(items, grid)
    byteCount = items.reduce(0) { $0 + $1.byteCount(in: grid) }
  }

  /// The memory that a drawing takes, in bytes. Nothing of it is kept.
  static func byteCount(
    _ layers: [ZoomLayer], labels: [Int: [Label]], matrixSet: TileMatrixSet, zoom: Int, density: Double,
    where isShown: (Item) -> Bool
  ) throws(DrawingError) -> Int {
    let grid = BlockGrid(matrixSet, zoom)
    var count = 0
    try forEachItem(layers, labels: labels, zoom: zoom, density: density) { item in
      if isShown(item) { count += item.byteCount(in: grid) }
    }
    return count
  }

  private static func forEachItem(
    _ layers: [ZoomLayer], labels: [Int: [Label]], zoom: Int, density: Double, _ body: (Item) -> Void
  ) throws(DrawingError) {
    var number = 0
    for layer in layers {
      for rule in layer.rules {
        defer { number += 1 }
        for item in (labels[number] ?? []).lazy.compactMap(Item.init) { body(item) }
        for (index, feature) in layer.features.enumerated() where rule.applies(to: feature, zoom: Double(zoom)) {
          try DrawingError.checkCancellation()
          guard rule.draws(feature.kind), let style = Style(rule, feature, zoom: Double(zoom), density: density) else {
            continue
          }
          for item in layer.parts(index).lazy.compactMap({ Item($0, style) }) { body(item) }
        }
      }
    }
  }

  /// Blocks of tiles.
  fileprivate struct BlockGrid {
    private let size: SIMD2<Double>
    private let turn: Double

    init(_ matrixSet: TileMatrixSet, _ zoom: Int) {
      let matrix = matrixSet[zoom]
      size = SIMD2(Double(matrix.tileWidth), Double(matrix.tileHeight)) * Double(blockEdge)
      turn = matrixSet.turn(zoom: zoom)
    }

    /// The blocks that an item comes near; nil for one that comes near very many.
    func blocks(near item: Item) -> (columns: ClosedRange<Int>, rows: ClosedRange<Int>)? {
      let (low, high) = ((item.low - item.reach) / size, (item.high + item.reach) / size)
      let (first, last) = (low.rounded(.down), high.rounded(.down))
      let isOver = turn > 0 && (low.x < 0 || high.x * size.x > turn)
      guard !isOver, (last.x - first.x + 1) * (last.y - first.y + 1) <= Double(blocksMax) else { return nil }
      return (Int(first.x)...Int(last.x), Int(first.y)...Int(last.y))
    }
  }

  private static func blocks(_ items: [Item], _ grid: BlockGrid) -> ([SIMD2<Int>: [Int]], wide: [Int]) {
    var blocks: [SIMD2<Int>: [Int]] = [:]
    var wide: [Int] = []
    for (number, item) in items.enumerated() {
      guard let (columns, rows) = grid.blocks(near: item) else {
        wide.append(number)
        continue
      }
      for y in rows {
        for x in columns { blocks[SIMD2(x, y), default: []].append(number) }
      }
    }
    return (blocks, wide)
  }

  /// Passes the items that may come near a tile to a closure, in drawing order.
  func forEachItem(near tile: TileID, _ body: (Item) -> Void) {
    let block = SIMD2(tile.column / Self.blockEdge, tile.row / Self.blockEdge)
    let near = blocks[block] ?? []
    var (i, j) = (0, 0)
    while i < near.count || j < wide.count {
      if j == wide.count || (i < near.count && near[i] < wide[j]) {
        body(items[near[i]])
        i += 1
      } else {
        body(items[wide[j]])
        j += 1
      }
    }
  }
}

extension ZoomDrawing.Item {
  /// Its memory, in bytes, with its numbers in blocks.
  fileprivate func byteCount(in grid: ZoomDrawing.BlockGrid) -> Int {
    let blockCount = grid.blocks(near: self).map { $0.columns.count * $0.rows.count } ?? 1
    return MemoryLayout<Self>.stride + 16 * blockCount + byteCount
  }

  /// The memory that it refers to, in bytes. Rules that draw the same feature share its points, which count for each.
  private var byteCount: Int {
    // What an array takes beside its elements.
    let array = 48
    let points = shapes.reduce(array) {
      $0 + MemoryLayout<LineShape>.stride + array + 16 * $1.points.count + 8 * $1.lengths.count
    }
    switch style {
    case .label(let label):
      let glyphs = label.glyphs.reduce(0) { $0 + 80 + array + $1.outlines.count * MemoryLayout<PlacedOutline>.stride }
      return array + glyphs + 3 * array + label.boxes.count * 32 + label.pictures.count * 64
    case .line(let pen): return points + (pen.dashes.isEmpty ? 0 : array + 8 * pen.dashes.count)
    case .area, .circle: return points
    }
  }

  fileprivate init?(_ label: Label) {
    guard let extent = label.extent else { return nil }
    (shapes, style, low, high, reach) = ([], .label(label), extent.low, extent.high, 0)
  }

  fileprivate init?(_ shapes: [LineShape], _ style: ZoomDrawing.Style) {
    var shapes = shapes
    if case .line(let pen) = style {
      if pen.offset != 0 { shapes = shapes.enumerated().compactMap { $1.moved(aside: pen.offset, isHole: $0 > 0) } }
      if !pen.dashes.isEmpty { shapes = shapes.map { $0.measured() } }
    }
    guard let first = shapes.first else { return nil }
    (self.shapes, self.style) = (shapes, style)
    low = shapes.reduce(first.low) { pointwiseMin($0, $1.low) }
    high = shapes.reduce(first.high) { pointwiseMax($0, $1.high) }
    reach =
      switch style {
      case .line(let pen): pen.reach
      case .area(_, let outline): (outline?.reach ?? 0) + 2
      case .circle(let radius, _, let stroke): radius + (stroke?.width ?? 0) + 1
      case .label: 0
      }
  }
}

extension ZoomDrawing.Style {
  /// Shorter dashes are a line, to the eye.
  private static let dashPeriodMin = 0.25

  /// The dashes as far as they are seen, so that what looks like a line, or like nothing, costs no more than that.
  ///
  /// - Returns: nil for a line of which nothing is seen; empty for one without gaps.
  private static func seen(_ dashes: [Double], of pen: Pen) -> [Double]? {
    let pairs = dashes.count.isMultiple(of: 2) ? dashes : dashes + dashes
    // Dashes and gaps of a hundredth of a pixel leave no trace.
    let lengths = pairs.map { $0 < LineShape.dotLength ? 0 : $0 }
    let gaps = stride(from: 1, to: lengths.count, by: 2).map { lengths[$0] }
    let hasDash = stride(from: 0, to: lengths.count, by: 2).contains { lengths[$0] > 0 }
    switch pen.cap {
    case .butt: if !hasDash { return nil }
    // Caps reach half a width into each end of a gap.
    case .square: if gaps.allSatisfy({ $0 <= pen.width }) { return [] }
    // The notches between round ones are smaller than a pixel.
    case .round: if pen.width <= 2, gaps.allSatisfy({ $0 <= pen.width }) { return [] }
    }
    // Without what is too short to be seen, the rest may be so, too.
    return gaps.allSatisfy { $0 == 0 } || lengths.reduce(0, +) <= dashPeriodMin ? [] : lengths
  }

  /// The style's values for a feature; nil if nothing would be seen. What is not given is as the specification has it.
  fileprivate init?(_ rule: StyleRule, _ feature: MapFeature, zoom: Double, density: Double) {
    func number(_ name: String, _ usual: Double) -> Double { rule.number(name, usual, zoom: zoom, feature) }
    func ink(_ name: String, opacity: String, usual: String = "#000") -> Ink {
      Ink(
        colour: rule.colour(name, zoom: zoom, feature) ?? MapColour(usual)!,
        opacity: max(0, min(1, number(opacity, 1))))
    }
    switch rule.kind {
    case .line:
      var pen = Pen(ink: ink("line-color", opacity: "line-opacity"), width: number("line-width", 1) * density)
      guard pen.ink.isVisible, pen.width > 0 else { return nil }
      pen.cap = rule.word("line-cap", zoom: zoom, feature).flatMap(Pen.Cap.init) ?? .butt
      pen.join = rule.word("line-join", zoom: zoom, feature).flatMap(Pen.Join.init) ?? .miter
      pen.miterLimit = number("line-miter-limit", 2)
      pen.offset = number("line-offset", 0) * density
      // Dashes are measured in widths of the line.
      let dashes = rule.numbers("line-dasharray", zoom: zoom, feature).map { max(0, $0) * pen.width }
      if dashes.reduce(0, +) > Self.dashPeriodMin {
        guard let seen = Self.seen(dashes, of: pen) else { return nil }
        pen.dashes = seen
      }
      self = .line(pen)
    case .fill:
      let fill = ink("fill-color", opacity: "fill-opacity")
      var outline: Pen?
      if let colour = rule.colour("fill-outline-color", zoom: zoom, feature) {
        outline = Pen(ink: Ink(colour: colour, opacity: fill.opacity), width: density)
        outline?.join = .round
      }
      guard fill.isVisible || outline?.ink.isVisible == true else { return nil }
      self = .area(fill.isVisible ? fill : nil, outline: outline)
    case .circle:
      let width = number("circle-stroke-width", 0) * density
      var stroke: Pen?
      if width > 0 {
        stroke = Pen(ink: ink("circle-stroke-color", opacity: "circle-stroke-opacity"), width: width)
      }
      let radius = number("circle-radius", 5) * density
      let fill = ink("circle-color", opacity: "circle-opacity")
      guard radius > 0, fill.isVisible || stroke?.ink.isVisible == true else { return nil }
      self = .circle(radius: radius, fill, stroke: stroke)
    case .symbol: return nil
    }
  }
}
