import RegionCatalog

/// A text or an icon at its place, or both; in pixels of a zoom, counted from the grid's top left corner.
struct Label: Sendable {
  struct Glyphs: Sendable {
    let outlines: [PlacedOutline]
    let ink: Ink
    let halo: Pen?
  }

  struct Picture: Sendable {
    let picture: IconPicture
    let place: SIMD2<Double>
    let across: SIMD2<Double>
    let opacity: Double
  }

  var glyphs: [Glyphs] = []
  var pictures: [Picture] = []
  /// What keeps other labels away.
  var boxes: [PixelBox] = []
  /// The box around all pixels.
  var extent: PixelBox?

  mutating func add(_ outlines: [PlacedOutline], _ ink: Ink, halo: Pen?) {
    guard let box = PixelBox(around: outlines.compactMap(\.box).flatMap { [$0.low, $0.high] }) else { return }
    glyphs.append(Glyphs(outlines: outlines, ink: ink, halo: halo))
    cover(box.expanded(by: (halo?.width ?? 0) / 2 + 1))
  }

  mutating func cover(_ box: PixelBox) { extent = extent?.union(box) ?? box }

  mutating func add(_ other: Label) {
    glyphs += other.glyphs
    pictures += other.pictures
    boxes += other.boxes
    if let box = other.extent { cover(box) }
  }
}

extension Label {
  /// A text beside a point.
  static func text(
    _ text: ShapedText, _ style: SymbolStyle.Text, anchor: SymbolStyle.Anchor, at point: SIMD2<Double>
  ) -> Label {
    let size = SIMD2(text.width, Double(text.lines.count) * style.lineHeight)
    var offset = style.offset
    if style.radialOffset != 0 {
      // Away from the point, in the corners on a circle.
      let away = SIMD2(0.5, 0.5) - anchor.share
      let length = away.length
      if length > 0 { offset += away / length * style.radialOffset }
    }
    let corner = point + offset - anchor.share * size
    let justify = style.justify ?? anchor.share.x
    var label = Label()
    var outlines: [PlacedOutline] = []
    for (number, line) in text.lines.enumerated() {
      // Letters lie in the middle of a line when the baseline is a third of an em below it. Whole pixels make equal
      // texts look alike.
      let start = SIMD2(
        corner.x + (size.x - line.width) * justify,
        corner.y + (Double(number) + 0.5) * style.lineHeight + 0.35 * style.request.size
      ).rounded(.toNearestOrEven)
      outlines += line.clusters.filter { !$0.isBlank }.map {
        PlacedOutline(outline: $0.outline, place: start + SIMD2($0.x, 0))
      }
    }
    label.add(outlines, style.ink, halo: style.halo)
    label.boxes = label.extent.map { [$0.expanded(by: style.padding)] } ?? []
    return label
  }

  /// - Parameter across: the line's direction, for icons that follow one.
  static func icon(_ style: SymbolStyle.Image, at point: SIMD2<Double>, across: SIMD2<Double> = SIMD2(1, 0)) -> Label {
    let reach = style.icon.reach * style.scale
    let direction = style.followsLine ? across : SIMD2(1, 0)
    let offset = style.offset + (SIMD2(0.5, 0.5) - style.anchor.share) * 2 * reach
    var middle = point + direction * offset.x + SIMD2(-direction.y, direction.x) * offset.y
    if !style.followsLine {
      // Pictures are sharp when their corners lie between pixels, shapes are alike when their middles do.
      var half = SIMD2<Double>.zero
      if case .picture = style.icon { half = reach }
      middle = (middle - half).rounded(.toNearestOrEven) + half
    }
    var label = Label()
    switch style.icon {
    case .shape(let outline, let badge):
      let places = [badge, outline].compactMap { $0 }.map {
        PlacedOutline(outline: $0, place: middle, across: direction * style.scale)
      }
      label.add([places[0]], style.ink, halo: style.halo)
      if places.count > 1 {
        let white = Ink(colour: .white, opacity: style.ink.opacity)
        label.add(
          [PlacedOutline(outline: outline, place: middle, across: direction * style.scale * 0.9)], white, halo: nil)
      }
    case .picture(let picture):
      label.pictures = [
        Picture(picture: picture, place: middle, across: direction * style.scale, opacity: style.ink.opacity)
      ]
      let radius = style.followsLine ? SIMD2(repeating: reach.length) : reach
      label.cover(PixelBox(low: middle - radius - 1, high: middle + radius + 1))
    }
    label.boxes = label.extent.map { [$0.expanded(by: style.padding)] } ?? []
    return label
  }
}

/// The boxes of the labels that have their place, by squares of pixels.
struct CollisionGrid {
  private var boxes: [PixelBox] = []
  private var squares: [SIMD2<Int>: [Int]] = [:]

  private static let edge = 128.0

  /// Whether a box overlaps one that is here.
  func meets(_ box: PixelBox) -> Bool {
    var found = false
    Self.forEachSquare(box) { square in
      found = found || squares[square]?.contains { boxes[$0].overlaps(box) } ?? false
    }
    return found
  }

  mutating func add(_ box: PixelBox) {
    let number = boxes.count
    boxes.append(box)
    Self.forEachSquare(box) { squares[$0, default: []].append(number) }
  }

  private static func forEachSquare(_ box: PixelBox, _ body: (SIMD2<Int>) -> Void) {
    let (first, last) = ((box.low / edge).rounded(.down), (box.high / edge).rounded(.down))
    for y in Int(first.y)...Int(last.y) {
      for x in Int(first.x)...Int(last.x) { body(SIMD2(x, y)) }
    }
  }
}
