import RegionCatalog
package import TileIndex

/// Where labels may lie: what a map shows, so that none is cut.
package struct LabelFrame: Sendable {
  /// The box around all that is shown, in pixels of a zoom.
  package let box: @Sendable (_ zoom: Int) -> PixelBox
  /// Whether all of a box is shown.
  package let shows: @Sendable (_ zoom: Int, PixelBox) -> Bool

  package init(
    box: @escaping @Sendable (_ zoom: Int) -> PixelBox, shows: @escaping @Sendable (_ zoom: Int, PixelBox) -> Bool
  ) {
    (self.box, self.shows) = (box, shows)
  }

  /// All of a grid.
  package init(_ matrixSet: TileMatrixSet) {
    let box: @Sendable (Int) -> PixelBox = { zoom in
      let matrix = matrixSet[zoom]
      return PixelBox(
        low: .zero,
        high: SIMD2(
          Double(matrix.matrixWidth * matrix.tileWidth), Double(matrix.matrixHeight * matrix.tileHeight)))
    }
    self.init(box: box, shows: { box($0).contains($1) })
  }
}

/// Finds places for all labels of a zoom at once, so that no tile matters.
///
/// 1. For each feature of a rule of type `symbol`, evaluate the style. (``SymbolStyle``)
/// 2. Order them: those that have a place at the zoom before, so that they stay; then later rules before earlier ones;
///    within a rule by `symbol-sort-key`.
/// 3. Give each the first place where it is wholly shown and meets no other label, or none.
struct LabelPlacer {
  /// A label's feature, which is the same at all zooms.
  struct Key: Hashable {
    let rule: Int
    let feature: Int
    let part: Int
  }

  /// The labels of a zoom.
  struct Placement {
    /// By the rule's number among all rules of all layers, in the features' order.
    var labels: [Int: [Label]] = [:]
    /// Those at points that have a place, with the anchors of their texts.
    var anchors: [Key: SymbolStyle.Anchor] = [:]
  }

  private struct Candidate {
    let key: Key
    let style: SymbolStyle
    /// Points, or lines.
    let shape: LineShape
    let rings: [LineShape]
  }

  private let shaper: TextShaper
  private let frame: LabelFrame
  private let zoom: Int
  private let box: PixelBox
  private var grid = CollisionGrid()
  /// Where a text lies along lines.
  private var repeated: [String: [SIMD2<Double>]] = [:]

  /// - Parameter earlier: the labels of the zoom before.
  /// - Throws: ``DrawingError`` for unknown icons and fonts.
  static func place(
    _ layers: [ZoomLayer], zoom: Int, density: Double, frame: LabelFrame, shaper: TextShaper,
    earlier: [Key: SymbolStyle.Anchor]
  ) throws(DrawingError) -> Placement {
    var placer = LabelPlacer(shaper: shaper, frame: frame, zoom: zoom)
    var candidates = try placer.candidates(layers, density)
    // Sorting is stable: features stay in order.
    candidates.sort { a, b in
      let (old, other) = (earlier[a.key] != nil, earlier[b.key] != nil)
      if old != other { return old }
      if a.key.rule != b.key.rule { return a.key.rule > b.key.rule }
      if a.style.sortKey != b.style.sortKey { return a.style.sortKey < b.style.sortKey }
      return (a.key.feature, a.key.part) < (b.key.feature, b.key.part)
    }
    var found: [(key: Key, label: Label)] = []
    var placement = Placement()
    for candidate in candidates {
      let labels = try placer.place(candidate, earlier[candidate.key], &placement.anchors)
      found += labels.map { (candidate.key, $0) }
    }
    found.sort { ($0.key.feature, $0.key.part) < ($1.key.feature, $1.key.part) }
    for (key, label) in found { placement.labels[key.rule, default: []].append(label) }
    return placement
  }

  private init(shaper: TextShaper, frame: LabelFrame, zoom: Int) {
    (self.shaper, self.frame, self.zoom) = (shaper, frame, zoom)
    box = frame.box(zoom)
  }

  private func candidates(_ layers: [ZoomLayer], _ density: Double) throws(DrawingError) -> [Candidate] {
    var candidates: [Candidate] = []
    var number = 0
    for layer in layers {
      for rule in layer.rules {
        defer { number += 1 }
        guard rule.kind == .symbol else { continue }
        for (index, feature) in layer.features.enumerated() where rule.applies(to: feature, zoom: Double(zoom)) {
          guard
            let style = try SymbolStyle(rule, feature, zoom: Double(zoom), density: density, icons: layer.icons)
          else { continue }
          for (part, rings) in layer.parts(index).enumerated() {
            guard box.meets(rings[0].low, rings[0].high) else { continue }
            candidates.append(
              Candidate(
                key: Key(rule: number, feature: index, part: part), style: style, shape: rings[0],
                rings: feature.kind == .polygon ? rings : []))
          }
        }
      }
    }
    return candidates
  }

  private mutating func place(
    _ candidate: Candidate, _ earlier: SymbolStyle.Anchor?, _ anchors: inout [Key: SymbolStyle.Anchor]
  ) throws(DrawingError) -> [Label] {
    var style = candidate.style
    if let earlier, style.text?.anchors.contains(earlier) == true { style.text?.anchors.insert(earlier, at: 0) }
    let text = try style.text.map { style throws(DrawingError) in try shaper.shape(style.request) }
    guard style.placement == .point else { return placeAlong(candidate.shape, style, text) }
    guard let point = middle(candidate), let found = label(style, text, at: point) else { return [] }
    take(found.label)
    anchors[candidate.key] = found.anchor
    return [found.label]
  }

  private mutating func take(_ label: Label) { for box in label.boxes { grid.add(box) } }

  private func fits(_ label: Label, allowsOverlap: Bool) -> Bool {
    guard let extent = label.extent, box.contains(extent), frame.shows(zoom, extent) else { return false }
    return allowsOverlap || !label.boxes.contains { grid.meets($0) }
  }

  // MARK: - At points

  private func middle(_ candidate: Candidate) -> SIMD2<Double>? {
    let points = candidate.shape.points
    if points.count == 1 { return points[0] }
    if !candidate.rings.isEmpty { return LabelPoint.inside(candidate.rings, box: box) }
    return LinePath(points).map { $0.point(at: $0.length / 2) }
  }

  private func label(
    _ style: SymbolStyle, _ text: ShapedText?, at point: SIMD2<Double>, across: SIMD2<Double> = SIMD2(1, 0)
  ) -> (label: Label, anchor: SymbolStyle.Anchor)? {
    let icon = style.image.map { (style: $0, label: Label.icon($0, at: point, across: across)) }
    let iconFits = icon.map { fits($0.label, allowsOverlap: $0.style.allowsOverlap) } ?? true
    if !iconFits, style.text == nil || icon?.style.isOptional == false { return nil }
    guard let text, let textStyle = style.text else { return icon.map { ($0.label, .center) } }
    for anchor in textStyle.anchors {
      var label = Label.text(text, textStyle, anchor: anchor, at: point)
      guard fits(label, allowsOverlap: textStyle.allowsOverlap) else { continue }
      if iconFits, let icon { label.add(icon.label) }
      return (label, anchor)
    }
    return textStyle.isOptional && iconFits ? icon.map { ($0.label, textStyle.anchors[0]) } : nil
  }

  // MARK: - Along lines

  private mutating func placeAlong(_ shape: LineShape, _ style: SymbolStyle, _ text: ShapedText?) -> [Label] {
    var labels: [Label] = []
    for path in LinePath.parts(of: shape.points, in: box) {
      let width = text.map(\.width) ?? 0
      guard path.length > width else { continue }
      let count = style.placement == .lineCenter ? 1 : max(Int(path.length / style.spacing), 1)
      let room = path.length / Double(count)
      for i in 0..<count {
        guard let label = best(path, around: room * (Double(i) + 0.5), room: room, style, text) else { continue }
        take(label)
        labels.append(label)
      }
    }
    return labels
  }

  /// The place where the line bends least, among some around the wanted one.
  private mutating func best(
    _ path: LinePath, around wanted: Double, room: Double, _ style: SymbolStyle, _ text: ShapedText?
  ) -> Label? {
    let triesMax = 6
    let step = room * 0.4 / Double(triesMax)
    var found: (label: Label, cost: Double, middle: SIMD2<Double>)?
    for number in -triesMax...triesMax {
      let way = wanted + Double(number) * step
      guard way >= 0, way <= path.length else { continue }
      let middle = path.point(at: way)
      if let name = style.text?.request.text, isRepeated(name, at: middle, within: style.spacing / 2) { continue }
      var cost = Double(number * number) * 0.002
      let candidate: Label?
      if let text, let textStyle = style.text, !textStyle.isUpright {
        guard let along = path.label(text, textStyle, at: way) else { continue }
        cost += along.bend
        if let found, found.cost <= cost { continue }
        guard fits(along.label, allowsOverlap: textStyle.allowsOverlap) else { continue }
        var whole = along.label
        if let image = style.image {
          let icon = Label.icon(image, at: middle, across: path.direction(at: way, over: 10))
          if fits(icon, allowsOverlap: image.allowsOverlap) {
            whole.add(icon)
          } else if !image.isOptional {
            continue
          }
        }
        candidate = whole
      } else {
        if let found, found.cost <= cost { continue }
        candidate = label(style, text, at: middle, across: path.direction(at: way, over: 10))?.label
      }
      if let candidate { found = (candidate, cost, middle) }
    }
    guard let found else { return nil }
    if let name = style.text?.request.text { repeated[name, default: []].append(found.middle) }
    return found.label
  }

  private func isRepeated(_ text: String, at point: SIMD2<Double>, within distance: Double) -> Bool {
    repeated[text]?.contains { ($0 - point).length < distance } ?? false
  }
}

/// A point for an area's label.
private enum LabelPoint {
  private static let lineCount = 16

  /// The middle of the widest part of a polygon, as wide lines across it find it; nil if none of it lies in the box.
  static func inside(_ rings: [LineShape], box: PixelBox) -> SIMD2<Double>? {
    let (low, high) = (max(rings[0].low.y, box.low.y), min(rings[0].high.y, box.high.y))
    guard low < high else { return nil }
    var best: (point: SIMD2<Double>, score: Double)?
    for number in 0..<lineCount {
      let share = (Double(number) + 0.5) / Double(lineCount)
      let y = low + (high - low) * share
      var crossings: [Double] = []
      for ring in rings {
        for (a, b) in zip(ring.points, ring.points.dropFirst()) where (a.y <= y) != (b.y <= y) {
          crossings.append(a.x + (b.x - a.x) * ((y - a.y) / (b.y - a.y)))
        }
      }
      crossings.sort()
      for i in stride(from: 0, to: crossings.count - 1, by: 2) {
        let (left, right) = (max(crossings[i], box.low.x), min(crossings[i + 1], box.high.x))
        // The middle rows look best.
        let score = (right - left) * (1 - (share - 0.5).magnitude)
        guard right > left, best.map({ $0.score < score }) ?? true else { continue }
        best = (SIMD2((left + right) / 2, y), score)
      }
    }
    return best?.point
  }
}
