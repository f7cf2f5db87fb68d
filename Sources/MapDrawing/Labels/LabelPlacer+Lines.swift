import RegionCatalog
import TileIndex

/// Labels along lines.
///
/// 1. They are wanted at half of a line, at the halves of its halves, and so on, so that those of a zoom are among
///    those of the next.
/// 2. A label that the zoom before has stays where it is, if that place is free.
/// 3. Each of the others lies where the line bends least, near where it is wanted.
///
/// The frame has no say in this, so that maps of other bounds have the same labels at the same places. Those that lie
/// beyond it are not shown and hinder no others; so only where labels meet may bounds matter.
extension LabelPlacer {
  /// Where a label lies on a line at a zoom.
  struct LinePlace {
    /// In units of the grid's CRS.
    let point: SIMD2<Double>
    /// The way to it, as a share of the line's length, which differs a little from zoom to zoom.
    let share: Double
  }

  /// How far a label may lie from where it is wanted, as a share of the room that it has.
  private static let reach = 0.4
  /// Labels are placed up to so many times their distance beyond the frame. What is shown depends, by way of others and
  /// of the zooms before, on those up to 3.3 times the distance away, and these on where they are wanted.
  private static let margin = 6.0
  /// How far along the line a kept label is sought, as a share of its length. Simplification changes ways less.
  private static let drift = 0.02

  /// - Parameters:
  ///   - earlier: places of the zoom before, by the shares of the line's length at which the labels were wanted.
  ///   - keepingOnly: whether those are placed, or all others.
  ///   - places: receives those that are found; nothing is placed where one is.
  mutating func placeAlong(
    _ line: LinePath, _ style: SymbolStyle, _ text: ShapedText?, _ earlier: [Double: LinePlace], keepingOnly: Bool,
    _ places: inout [Double: LinePlace]
  ) -> [Label] {
    guard line.length > text?.width ?? 0 else { return [] }
    let near = box.expanded(by: Self.margin * style.spacing)
    var parts = 1
    if style.placement == .line {
      // The power of two that comes nearest to the wanted distance.
      while Double(parts) * style.spacing * 2.0.squareRoot() < line.length { parts *= 2 }
    }
    let room = line.length / Double(parts)
    var labels: [Label] = []
    func add(_ wanted: Double, _ label: Label, at way: Double) {
      let middle = line.point(at: way)
      places[wanted] = LinePlace(point: matrix.point(atPixel: middle), share: way / line.length)
      if let name = style.text?.request.text { repeated[name, default: []].append(middle) }
      guard isShown(label) else { return }
      take(label)
      labels.append(label)
    }
    guard !keepingOnly else {
      for (wanted, place) in earlier.sorted(by: { $0.key < $1.key }) {
        let middle = matrix.pixelCoordinates(of: place.point)
        guard near.contains(middle) else { continue }
        // Not anywhere: a line may come by there again.
        let (about, slack) = (place.share * line.length, max(2 * room, Self.drift * line.length))
        let way = line.way(nearest: middle, within: max(0, about - slack)...min(line.length, about + slack))
        if let found = label(line, at: way, style, text) { add(wanted, found.label, at: way) }
      }
      return labels
    }
    for wanted in wanted(on: line, parts: parts, near) where places[wanted] == nil {
      if let found = best(line, around: wanted * line.length, room: room, style, text) {
        add(wanted, found.label, at: found.way)
      }
    }
    return labels
  }

  /// Where labels are wanted, as shares of the length, as far as they can lie in a box.
  private func wanted(on line: LinePath, parts: Int, _ near: PixelBox) -> [Double] {
    guard parts > 1 else { return [0.5] }
    let room = line.length / Double(parts)
    var numbers: [Int] = []
    for way in line.ways(in: near) {
      let first = max(Int((way.lowerBound / room - Self.reach).rounded(.up)), (numbers.last ?? 0) + 1)
      let last = min(Int((way.upperBound / room + Self.reach).rounded(.down)), parts - 1)
      if first <= last { numbers += first...last }
    }
    // First every second one: these are too far apart to depend on each other, so none depends on one far away.
    let order = numbers.filter { $0.isMultiple(of: 2) } + numbers.filter { !$0.isMultiple(of: 2) }
    return order.map { Double($0) / Double(parts) }
  }

  /// The place where the line bends least, among some around the wanted one.
  private func best(
    _ line: LinePath, around wanted: Double, room: Double, _ style: SymbolStyle, _ text: ShapedText?
  ) -> (label: Label, way: Double)? {
    let triesMax = 6
    let step = room * Self.reach / Double(triesMax)
    var found: (label: Label, cost: Double, way: Double)?
    for number in -triesMax...triesMax {
      let way = wanted + Double(number) * step
      guard way >= 0, way <= line.length else { continue }
      if let name = style.text?.request.text,
        isRepeated(name, at: line.point(at: way), within: style.spacing / 2)
      {
        continue
      }
      let cost = Double(number * number) * 0.002
      guard let label = label(line, at: way, style, text, costMax: (found?.cost ?? .infinity) - cost) else { continue }
      found = (label.label, cost + label.bend, way)
    }
    return found.map { ($0.label, $0.way) }
  }

  /// A label on a line, and how much the line bends below it; nil if it meets another one, or if the line bends too
  /// much, or no less than `costMax`.
  private func label(
    _ line: LinePath, at way: Double, _ style: SymbolStyle, _ text: ShapedText?, costMax: Double = .infinity
  ) -> (label: Label, bend: Double)? {
    let middle = line.point(at: way)
    guard let text, let textStyle = style.text, !textStyle.isUpright else {
      guard costMax > 0 else { return nil }
      let across = line.direction(at: way, over: 10)
      return label(style, text, at: middle, across: across, anywhere: true).map { ($0.label, 0) }
    }
    guard let along = line.label(text, textStyle, at: way), along.bend < costMax,
      textStyle.allowsOverlap || isFree(along.label)
    else { return nil }
    var whole = along.label
    if let image = style.image {
      let icon = Label.icon(image, at: middle, across: line.direction(at: way, over: 10))
      if image.allowsOverlap || isFree(icon) {
        whole.add(icon)
      } else if !image.isOptional {
        return nil
      }
    }
    return (whole, along.bend)
  }

  private func isRepeated(_ text: String, at point: SIMD2<Double>, within distance: Double) -> Bool {
    repeated[text]?.contains { other in turnsAround.contains { (other + $0 - point).length < distance } } ?? false
  }
}
