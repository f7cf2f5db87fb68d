import RegionCatalog
import TileIndex

/// Finds places for all labels of a zoom at once, so that no tile matters.
///
/// 1. For each feature of a rule of type `symbol`, evaluate the style. (``SymbolStyle``)
/// 2. Order them: later rules before earlier ones; within a rule by `symbol-sort-key`.
/// 3. Those that have a place at the zoom before keep it, if it is free.
/// 4. Give each of the others the first place where it is wholly shown and meets no other label, or none.
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
    /// Where labels along lines lie, by the shares of the lines' lengths at which they were wanted; also of those that
    /// reach beyond what is shown, or lie near it.
    var places: [Key: [Double: LinePlace]] = [:]
    /// Of labels that belong on what is shown, whether they have a place; several for one with several parts.
    var outcomes: [(key: Key, hasPlace: Bool)] = []
    /// Those with texts that are too long.
    var cut: [Key] = []
  }

  /// What orders the features that want a label, of which there may be many more than labels. Their styles are
  /// evaluated again when it is their turn.
  private struct Candidate {
    let key: Key
    /// The layer's number.
    let layer: Int
    /// The rule's number in its layer.
    let rule: Int
    let sortKey: Double
    let isAlongLine: Bool
  }

  private let layers: [ZoomLayer]
  private let density: Double
  private let shaper: TextShaper
  private let frame: LabelFrame
  let matrix: TileMatrix
  private let zoom: Int
  let box: PixelBox
  /// How far a label may be moved to another place that is the same: nothing, and a turn around the world.
  private let turns: [SIMD2<Double>]
  /// Whether the map goes around the world.
  private let isAround: Bool
  /// Where labels meet others across its edges.
  var turnsAround: [SIMD2<Double>] { isAround ? turns : [.zero] }
  private var grid = CollisionGrid()
  private var last: (key: Key, style: SymbolStyle?)?
  /// Where a text lies along lines, also beyond what is shown.
  var repeated: [String: [SIMD2<Double>]] = [:]
  /// Lines without a label, with the texts that they want.
  private var unlabelled: [(key: Key, text: String?)] = []

  /// - Parameters:
  ///   - matrix: that of the zoom.
  ///   - turn: the width of a world that goes around, in pixels; 0 for any other.
  ///   - earlier: the labels of the zoom before.
  /// - Throws: ``DrawingError`` for unknown icons and fonts.
  static func place(
    _ layers: [ZoomLayer], zoom: Int, matrix: TileMatrix, density: Double, frame: LabelFrame, turn: Double = 0,
    shaper: TextShaper, earlier: Placement?
  ) throws(DrawingError) -> Placement {
    var placer = LabelPlacer(layers, density, shaper: shaper, frame: frame, turn: turn, zoom: zoom, matrix: matrix)
    var candidates = try placer.candidates()
    // Sorting is stable: features stay in order.
    candidates.sort { a, b in
      if a.key.rule != b.key.rule { return a.key.rule > b.key.rule }
      if a.sortKey != b.sortKey { return a.sortKey < b.sortKey }
      return (a.key.feature, a.key.part) < (b.key.feature, b.key.part)
    }
    var found: [(key: Key, label: Label)] = []
    var placement = Placement()
    func isOld(_ candidate: Candidate) -> Bool {
      candidate.isAlongLine ? earlier?.places[candidate.key] != nil : earlier?.anchors[candidate.key] != nil
    }
    for candidate in candidates where isOld(candidate) {
      let labels = try placer.place(candidate, earlier, keepingOnly: true, &placement)
      found += labels.map { (candidate.key, $0) }
    }
    for candidate in candidates where candidate.isAlongLine || !isOld(candidate) {
      let labels = try placer.place(candidate, nil, keepingOnly: false, &placement)
      found += labels.map { (candidate.key, $0) }
    }
    // Lines of one name, such as the parts of a road, need one label.
    placement.outcomes += placer.unlabelled.map { key, text in
      (key, text.map { placer.repeated[$0] != nil } ?? false)
    }
    found.sort { ($0.key.feature, $0.key.part) < ($1.key.feature, $1.key.part) }
    for (key, label) in found { placement.labels[key.rule, default: []].append(label) }
    return placement
  }

  private init(
    _ layers: [ZoomLayer], _ density: Double, shaper: TextShaper, frame: LabelFrame, turn: Double, zoom: Int,
    matrix: TileMatrix
  ) {
    (self.layers, self.density) = (layers, density)
    (self.shaper, self.frame, self.zoom, self.matrix) = (shaper, frame, zoom, matrix)
    box = frame.box(zoom)
    turns = turn > 0 ? [.zero, SIMD2(turn, 0), SIMD2(-turn, 0)] : [.zero]
    // Sources may end a part of a pixel before the antimeridian.
    isAround = turn > 0 && box.high.x - box.low.x > turn - 1
  }

  /// How far a shape is moved to meet what is shown; nil for one that does not.
  private func offset(of shape: LineShape) -> SIMD2<Double>? {
    turns.first { box.meets(shape.low + $0, shape.high + $0) }
  }

  private func candidates() throws(DrawingError) -> [Candidate] {
    var candidates: [Candidate] = []
    var number = 0
    for (layerNumber, layer) in layers.enumerated() {
      for (ruleNumber, rule) in layer.rules.enumerated() {
        defer { number += 1 }
        guard rule.kind == .symbol else { continue }
        for (index, feature) in layer.features.enumerated() where rule.applies(to: feature, zoom: Double(zoom)) {
          try DrawingError.checkCancellation()
          guard let style = try style(rule, feature, layer) else { continue }
          for (part, rings) in layer.parts(index).enumerated() {
            guard offset(of: rings[0]) != nil else { continue }
            candidates.append(
              Candidate(
                key: Key(rule: number, feature: index, part: part), layer: layerNumber, rule: ruleNumber,
                sortKey: style.sortKey, isAlongLine: style.placement != .point))
          }
        }
      }
    }
    return candidates
  }

  private func style(
    _ rule: StyleRule, _ feature: MapFeature, _ layer: ZoomLayer
  ) throws(DrawingError) -> SymbolStyle? {
    try SymbolStyle(rule, feature, zoom: Double(zoom), density: density, icons: layer.icons)
  }

  /// The style of a candidate, which parts of one feature share.
  private mutating func style(of candidate: Candidate) throws(DrawingError) -> SymbolStyle? {
    let key = Key(rule: candidate.key.rule, feature: candidate.key.feature, part: 0)
    if let last, last.key == key { return last.style }
    let layer = layers[candidate.layer]
    let found = try style(layer.rules[candidate.rule], layer.features[candidate.key.feature], layer)
    last = (key, found)
    return found
  }

  /// - Parameter keepingOnly: along lines, places only labels that the zoom before has.
  private mutating func place(
    _ candidate: Candidate, _ earlier: Placement?, keepingOnly: Bool, _ placement: inout Placement
  ) throws(DrawingError) -> [Label] {
    try DrawingError.checkCancellation()
    let layer = layers[candidate.layer]
    let feature = layer.features[candidate.key.feature]
    guard var style = try style(of: candidate) else { return [] }
    let rings = layer.parts(candidate.key.feature)[candidate.key.part]
    if let anchor = earlier?.anchors[candidate.key], style.text?.anchors.contains(anchor) == true {
      style.text?.anchors.insert(anchor, at: 0)
    }
    let text = try style.text.map { style throws(DrawingError) in try shaper.shape(style.request) }
    if style.text?.isCut == true { placement.cut.append(candidate.key) }
    let offset = offset(of: rings[0]) ?? .zero
    guard !candidate.isAlongLine else {
      guard let line = LinePath(rings[0].points.map { $0 + offset }) else { return [] }
      var places = placement.places[candidate.key] ?? [:]
      let labels = placeAlong(
        line, style, text, earlier?.places[candidate.key] ?? [:], keepingOnly: keepingOnly, &places)
      if !places.isEmpty { placement.places[candidate.key] = places }
      if !labels.isEmpty {
        placement.outcomes.append((candidate.key, true))
      } else if !keepingOnly, line.ways(in: box).contains(where: { isShown(line.point(at: $0.middle)) }) {
        unlabelled.append((candidate.key, style.text?.request.text))
      }
      return labels
    }
    guard let middle = middle(rings, isArea: feature.kind == .polygon) else { return [] }
    let point = middle + (turns.first { box.contains(middle + $0) } ?? offset)
    let found = label(style, text, at: point)
    if found != nil || isShown(point) { placement.outcomes.append((candidate.key, found?.isWhole ?? false)) }
    guard let found else { return [] }
    take(found.label)
    placement.anchors[candidate.key] = found.anchor
    return [found.label]
  }

  mutating func take(_ label: Label) { for box in label.boxes { grid.add(box) } }

  func isShown(_ label: Label) -> Bool {
    guard let extent = label.extent else { return false }
    guard isAround else { return box.contains(extent) && frame.shows(zoom, extent) }
    return extent.low.y >= box.low.y && extent.high.y <= box.high.y
      && extent.high.x - extent.low.x < box.high.x - box.low.x && frame.shows(zoom, extent)
  }

  private func isShown(_ point: SIMD2<Double>) -> Bool {
    box.contains(point) && frame.shows(zoom, PixelBox(low: point, high: point))
  }

  func isFree(_ label: Label) -> Bool {
    !label.boxes.contains { box in
      turnsAround.contains { grid.meets(box.moved(by: $0)) }
    }
  }

  // MARK: - At points

  private func middle(_ rings: [LineShape], isArea: Bool) -> SIMD2<Double>? {
    let points = rings[0].points
    if points.count == 1 { return points[0] }
    if isArea { return LabelPoint.inside(rings) }
    return LinePath(points).map { $0.point(at: $0.length / 2) }
  }

  /// - Parameter anywhere: whether it may lie beyond what is shown.
  /// - Returns: the label, and whether it has its text.
  func label(
    _ style: SymbolStyle, _ text: ShapedText?, at point: SIMD2<Double>, across: SIMD2<Double> = SIMD2(1, 0),
    anywhere: Bool = false
  ) -> (label: Label, anchor: SymbolStyle.Anchor, isWhole: Bool)? {
    func fits(_ label: Label, allowsOverlap: Bool) -> Bool {
      (anywhere || isShown(label)) && (allowsOverlap || isFree(label))
    }
    let icon = style.image.map { (style: $0, label: Label.icon($0, at: point, across: across)) }
    let iconFits = icon.map { fits($0.label, allowsOverlap: $0.style.allowsOverlap) } ?? true
    if !iconFits, style.text == nil || icon?.style.isOptional == false { return nil }
    guard let text, let textStyle = style.text else { return icon.map { ($0.label, .center, true) } }
    for anchor in textStyle.anchors {
      var label = Label.text(text, textStyle, anchor: anchor, at: point)
      guard fits(label, allowsOverlap: textStyle.allowsOverlap) else { continue }
      if iconFits, let icon { label.add(icon.label) }
      return (label, anchor, true)
    }
    return textStyle.isOptional && iconFits ? icon.map { ($0.label, textStyle.anchors[0], false) } : nil
  }
}

extension ClosedRange<Double> {
  fileprivate var middle: Double { (lowerBound + upperBound) / 2 }
}

/// A point for an area's label.
private enum LabelPoint {
  private static let lineCount = 16

  /// The middle of the widest part of a polygon, as wide lines across it find it; nil if it is too small for them.
  static func inside(_ rings: [LineShape]) -> SIMD2<Double>? {
    let (low, high) = (rings[0].low.y, rings[0].high.y)
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
        let (left, right) = (crossings[i], crossings[i + 1])
        // The middle rows look best.
        let score = (right - left) * (1 - (share - 0.5).magnitude)
        guard right > left, best.map({ $0.score < score }) ?? true else { continue }
        best = (SIMD2((left + right) / 2, y), score)
      }
    }
    return best?.point
  }
}
