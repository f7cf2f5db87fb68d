import RegionCatalog

/// What a rule of type `symbol` says of one feature at one zoom; lengths in pixels of tiles.
struct SymbolStyle {
  enum Placement: String {
    case point, line
    case lineCenter = "line-center"
  }

  /// The part of a label that lies at its point.
  enum Anchor: String {
    case center, left, right, top, bottom
    case topLeft = "top-left"
    case topRight = "top-right"
    case bottomLeft = "bottom-left"
    case bottomRight = "bottom-right"

    /// Where that part lies in the label, from 0 to 1.
    var share: SIMD2<Double> {
      switch self {
      case .center: SIMD2(0.5, 0.5)
      case .left: SIMD2(0, 0.5)
      case .right: SIMD2(1, 0.5)
      case .top: SIMD2(0.5, 0)
      case .bottom: SIMD2(0.5, 1)
      case .topLeft: SIMD2(0, 0)
      case .topRight: SIMD2(1, 0)
      case .bottomLeft: SIMD2(0, 1)
      case .bottomRight: SIMD2(1, 1)
      }
    }
  }

  struct Text {
    var request: TextShaper.Request
    /// Whether the request has only the text's beginning.
    var isCut: Bool
    var lineHeight: Double
    /// Where lines of a text are aligned: 0 left, 1 right; nil as the anchor has it.
    var justify: Double?
    /// In order of preference.
    var anchors: [Anchor]
    var offset: SIMD2<Double>
    var radialOffset: Double
    var maxAngle: Double
    var padding: Double
    var isUpright: Bool
    var allowsOverlap: Bool
    var isOptional: Bool
    var ink: Ink
    var halo: Pen?
  }

  struct Image {
    var icon: Icon
    /// Pixels of tiles for one of the icon.
    var scale: Double
    var anchor: Anchor
    var offset: SIMD2<Double>
    var padding: Double
    var followsLine: Bool
    var allowsOverlap: Bool
    var isOptional: Bool
    var ink: Ink
    var halo: Pen?
  }

  var placement: Placement
  var spacing: Double
  var sortKey: Double
  var text: Text?
  var image: Image?

  /// - Returns: nil if nothing would be seen.
  /// - Throws: ``DrawingError`` for an unknown icon.
  init?(
    _ rule: StyleRule, _ feature: MapFeature, zoom: Double, density: Double, icons: IconSet
  ) throws(DrawingError) {
    let values = Values(rule: rule, feature: feature, zoom: zoom)
    placement = values.word("symbol-placement").flatMap(Placement.init) ?? .point
    if feature.kind == .point { placement = .point }
    spacing = max(values.number("symbol-spacing", 250), 1) * density
    sortKey = values.number("symbol-sort-key", 0)
    text = Self.text(values, density, isOnLine: placement != .point)
    image = try Self.image(values, density, isOnLine: placement != .point, icons)
    if text == nil, image == nil { return nil }
  }

  private struct Values {
    let rule: StyleRule
    let feature: MapFeature
    let zoom: Double

    func number(_ name: String, _ usual: Double) -> Double { rule.number(name, usual, zoom: zoom, feature) }
    func word(_ name: String) -> String? { rule.word(name, zoom: zoom, feature) }
    func flag(_ name: String) -> Bool { rule.flag(name, zoom: zoom, feature) }
    func text(_ name: String) -> String? { rule.text(name, zoom: zoom, feature) }
    func names(_ name: String) -> [String] { rule.names(name, zoom: zoom, feature) }
    func pair(_ name: String) -> SIMD2<Double> {
      let numbers = rule.numbers(name, zoom: zoom, feature)
      return numbers.count == 2 ? SIMD2(numbers[0], numbers[1]) : .zero
    }
    func ink(_ colour: String, opacity: String, usual: String) -> Ink {
      Ink(
        colour: rule.colour(colour, zoom: zoom, feature) ?? MapColour(usual)!,
        opacity: max(0, min(1, number(opacity, 1))))
    }
    func halo(_ group: String, density: Double) -> Pen? {
      let width = number("\(group)-halo-width", 0) * density
      let ink = ink("\(group)-halo-color", opacity: "\(group)-opacity", usual: "transparent")
      guard width > 0, ink.isVisible else { return nil }
      // Half of it lies below the letters.
      return Pen(ink: ink, width: 2 * width, cap: .round, join: .round)
    }
  }

  /// The longest text of a label, in bytes of UTF-8. Pango takes seconds for a megabyte, and no map has room for it.
  static let textBytesMax = 1024

  /// What is shown of a text that is too long; nil for any other.
  static func beginning(of text: String) -> String? {
    guard text.utf8.count > textBytesMax else { return nil }
    var end = text.utf8.index(text.startIndex, offsetBy: textBytesMax)
    while end.samePosition(in: text.unicodeScalars) == nil { end = text.utf8.index(before: end) }
    return String(text.unicodeScalars[..<end]) + "…"
  }

  private static func text(_ values: Values, _ density: Double, isOnLine: Bool) -> Text? {
    guard var text = values.text("text-field") else { return nil }
    let beginning = beginning(of: text)
    text = beginning ?? text
    switch values.word("text-transform") {
    case "uppercase": text = text.uppercased()
    case "lowercase": text = text.lowercased()
    default: break
    }
    let size = values.number("text-size", 16) * density
    let ink = values.ink("text-color", opacity: "text-opacity", usual: "#000")
    let halo = values.halo("text", density: density)
    guard size > 0, ink.isVisible || halo != nil else { return nil }
    let isUpright = !isOnLine || values.word("text-rotation-alignment") == "viewport"
    let width = values.number("text-max-width", 10)
    var fonts = values.names("text-font")
    if fonts.isEmpty { fonts = TextShaper.usualFonts }
    let anchors = values.names("text-variable-anchor").compactMap(Anchor.init)
    let justify: [String: Double] = ["left": 0, "center": 0.5, "right": 1]
    return Text(
      request: TextShaper.Request(
        text: text, fonts: fonts, size: size, widthMax: isUpright && width > 0 ? width * size : nil,
        letterSpacing: values.number("text-letter-spacing", 0) * size),
      isCut: beginning != nil, lineHeight: values.number("text-line-height", 1.2) * size,
      justify: values.word("text-justify").map { justify[$0] } ?? (anchors.isEmpty ? 0.5 : nil),
      anchors: anchors.isEmpty ? [values.word("text-anchor").flatMap(Anchor.init) ?? .center] : anchors,
      offset: values.pair("text-offset") * size, radialOffset: values.number("text-radial-offset", 0) * size,
      maxAngle: values.number("text-max-angle", 45), padding: values.number("text-padding", 2) * density,
      isUpright: isUpright, allowsOverlap: values.flag("text-allow-overlap"), isOptional: values.flag("text-optional"),
      ink: ink, halo: halo)
  }

  private static func image(
    _ values: Values, _ density: Double, isOnLine: Bool, _ icons: IconSet
  ) throws(DrawingError) -> Image? {
    guard let name = values.text("icon-image") else { return nil }
    let scale = values.number("icon-size", 1) * density
    let ink = values.ink("icon-color", opacity: "icon-opacity", usual: "#000")
    guard scale > 0, ink.opacity > 0 else { return nil }
    guard let icon = try icons.icon(name, scale: scale) else {
      throw DrawingError(
        message: "no icon has the name \"\(name)\"",
        remedy: "name a file as it in the layer's images, or choose among \(icons.names.joined(separator: ", "))",
        isOfStyle: true)
    }
    let alignment = values.word("icon-rotation-alignment") ?? "auto"
    return Image(
      icon: icon, scale: scale, anchor: values.word("icon-anchor").flatMap(Anchor.init) ?? .center,
      offset: values.pair("icon-offset") * scale, padding: values.number("icon-padding", 2) * density,
      followsLine: isOnLine && alignment != "viewport", allowsOverlap: values.flag("icon-allow-overlap"),
      isOptional: values.flag("icon-optional"), ink: ink, halo: values.halo("icon", density: density))
  }
}
