import RegionCatalog
import TileIndex

/// Labels along lines.
extension LabelPlacer {
  /// Labels are wanted at half of a line, at the halves of its halves, and so on, so that those of a zoom are among
  /// those of the next. The frame has no say in their places, so that maps of other bounds have them there, too.
  ///
  /// - Parameters:
  ///   - earlier: places of the zoom before.
  ///   - places: receives those that are found; nothing is placed where one is.
  mutating func placeAlong(
    _ line: LinePath, _ style: SymbolStyle, _ text: ShapedText?, _ earlier: [Double: SIMD2<Double>], keepingOnly: Bool,
    _ places: inout [Double: SIMD2<Double>]
  ) -> [Label] {
    guard line.length > text?.width ?? 0 else { return [] }
    var parts = 1
    if style.placement == .line {
      // The power of two that comes nearest to the wanted distance.
      while Double(parts) * style.spacing * 2.0.squareRoot() < line.length { parts *= 2 }
    }
    let room = line.length / Double(parts)
    var labels: [Label] = []
    func add(_ share: Double, _ found: (label: Label, middle: SIMD2<Double>)?) {
      guard let found else { return }
      places[share] = matrix.point(atPixel: found.middle)
      guard isShown(found.label) else { return }
      take(found.label)
      if let name = style.text?.request.text { repeated[name, default: []].append(found.middle) }
      labels.append(found.label)
    }
    var last = 0
    for seen in line.ways(in: box) {
      // Those from which a label may be moved into sight.
      let reach = room * Self.reach
      let (low, high) = ((seen.lowerBound - reach) / room, (seen.upperBound + reach) / room)
      let first = max(parts == 1 ? 1 : Int(low.rounded(.up)), last + 1)
      for number in stride(from: first, through: parts == 1 ? 1 : min(Int(high.rounded(.down)), parts - 1), by: 1) {
        last = number
        let share = parts == 1 ? 0.5 : Double(number) / Double(parts)
        guard places[share] == nil else { continue }
        let wanted = share * line.length
        if !keepingOnly {
          add(share, best(line, around: wanted, room: room, style, text))
        } else if let place = earlier[share] {
          let near = max(0, wanted - 1.2 * room)...min(line.length, wanted + 1.2 * room)
          let way = line.way(nearest: matrix.pixelCoordinates(of: place), within: near)
          add(share, label(line, at: way, style, text).map { ($0.label, line.point(at: way)) })
        }
      }
    }
    return labels
  }

  /// How far a label may lie from where it is wanted, as a share of the room that it has.
  private static let reach = 0.4

  /// The place where the line bends least, among some around the wanted one.
  private func best(
    _ line: LinePath, around wanted: Double, room: Double, _ style: SymbolStyle, _ text: ShapedText?
  ) -> (label: Label, middle: SIMD2<Double>)? {
    let triesMax = 6
    let step = room * Self.reach / Double(triesMax)
    var found: (label: Label, cost: Double, middle: SIMD2<Double>)?
    for number in -triesMax...triesMax {
      let way = wanted + Double(number) * step
      guard way >= 0, way <= line.length else { continue }
      let middle = line.point(at: way)
      if let name = style.text?.request.text, isRepeated(name, at: middle, within: style.spacing / 2) { continue }
      let cost = Double(number * number) * 0.002
      guard let label = label(line, at: way, style, text, costMax: (found?.cost ?? .infinity) - cost) else { continue }
      found = (label.label, cost + label.bend, middle)
    }
    return found.map { ($0.label, $0.middle) }
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
    repeated[text]?.contains { ($0 - point).length < distance } ?? false
  }
}
