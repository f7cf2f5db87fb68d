package import Support

/// One layer of a style in the sense of the MapLibre style specification: which features are drawn, at which zooms, and
/// how.
package struct StyleRule: Hashable, Sendable {
  /// The layer's type.
  package enum Kind: String, Hashable, Sendable, CaseIterable {
    /// Lines, and outlines of areas.
    case line
    /// Areas.
    case fill
    /// Points, as circles.
    case circle
    /// Points and lines, as icons and texts.
    case symbol
  }

  /// What is drawn.
  package let kind: Kind
  /// Drawn at zooms from this on.
  package let zoomMin: Double
  /// Drawn at zooms below this.
  package let zoomMax: Double
  package let filter: StyleExpression?
  /// By the specification's names; those that are not given are missing.
  package let properties: [String: StyleExpression]
  /// The rule as JSON.
  package let text: String

  package static let keys = ["id", "type", "source", "filter", "minzoom", "maxzoom", "layout", "paint", "metadata"]

  /// Whether it draws features of a kind. Areas have outlines, which rules for lines draw too.
  package func draws(_ kind: MapFeature.Kind) -> Bool {
    switch self.kind {
    case .line: kind != .point
    case .fill: kind == .polygon
    case .circle: kind == .point
    case .symbol: true
    }
  }

  /// What a property's value is.
  package enum PropertyType: Hashable, Sendable {
    case number(ClosedRange<Double>)
    case colour
    case numbers
    case word([String])
    /// Some of these, in order of preference.
    case words([String])
    case flag
    /// Any text; names in braces stand for properties.
    case text
    /// Names of fonts.
    case names
    /// A place relative to another: to the right and down.
    case offset
  }

  private static let size = PropertyType.number(0...1_000)
  private static let share = PropertyType.number(0...1)
  private static let anchors = [
    "center", "left", "right", "top", "bottom", "top-left", "top-right", "bottom-left", "bottom-right",
  ]
  private static let alignment = PropertyType.word(["auto", "map", "viewport"])

  /// The properties that are supported, by the type of layer.
  package static func layout(_ kind: Kind) -> [String: PropertyType] {
    var all: [String: PropertyType] = ["visibility": .word(["visible", "none"])]
    if kind == .line {
      all["line-cap"] = .word(["butt", "round", "square"])
      all["line-join"] = .word(["miter", "round", "bevel"])
      all["line-miter-limit"] = .number(0...100)
    }
    if kind == .symbol { all.merge(symbolLayout) { _, new in new } }
    return all
  }

  private static let symbolLayout: [String: PropertyType] = [
    "symbol-placement": .word(["point", "line", "line-center"]), "symbol-spacing": .number(1...100_000),
    "symbol-sort-key": .number(-1e12...1e12),
    "text-field": .text, "text-font": .names, "text-size": size, "text-max-width": size,
    "text-line-height": .number(0...10), "text-letter-spacing": .number(-1...10),
    "text-justify": .word(["auto", "left", "center", "right"]), "text-anchor": .word(anchors),
    "text-variable-anchor": .words(anchors), "text-radial-offset": .number(-100...100), "text-offset": .offset,
    "text-max-angle": .number(0...180), "text-rotation-alignment": alignment, "text-padding": size,
    "text-transform": .word(["none", "uppercase", "lowercase"]), "text-allow-overlap": .flag, "text-optional": .flag,
    "icon-image": .text, "icon-size": .number(0...100), "icon-anchor": .word(anchors), "icon-offset": .offset,
    "icon-rotation-alignment": alignment, "icon-padding": size, "icon-allow-overlap": .flag, "icon-optional": .flag,
  ]

  package static func paint(_ kind: Kind) -> [String: PropertyType] {
    switch kind {
    case .line:
      [
        "line-color": .colour, "line-opacity": share, "line-width": size, "line-offset": .number(-1_000...1_000),
        "line-dasharray": .numbers,
      ]
    case .fill: ["fill-color": .colour, "fill-opacity": share, "fill-outline-color": .colour]
    case .circle:
      [
        "circle-radius": size, "circle-color": .colour, "circle-opacity": share, "circle-stroke-width": size,
        "circle-stroke-color": .colour, "circle-stroke-opacity": share,
      ]
    case .symbol:
      [
        "text-color": .colour, "text-opacity": share, "text-halo-color": .colour, "text-halo-width": size,
        "icon-color": .colour, "icon-opacity": share, "icon-halo-color": .colour, "icon-halo-width": size,
      ]
    }
  }

  /// Reads a layer of a style.
  ///
  /// - Parameter fault: called for each error with its place, such as `paint.line-width`, the error and the remedy.
  /// - Returns: nil after an error.
  package init?(_ json: JSONValue, fault: (_ place: String, _ message: String, _ remedy: String) -> Void) {
    let kinds = Kind.allCases.map(\.rawValue)
    guard let members = json.members else {
      fault("", "is no layer of a style", "write {\"type\": \"line\", \"paint\": {...}}")
      return nil
    }
    guard let kind = json["type"]?.string.flatMap({ Kind(rawValue: $0) }) else {
      let word = json["type"]?.string
      fault(
        "type", word.map { "is a type of layer that is not supported: \"\($0)\"" } ?? "is missing",
        "choose \(kinds.joined(separator: ", "))")
      return nil
    }
    var isGood = true
    func report(_ place: String, _ message: String, _ remedy: String) {
      isGood = false
      fault(place, message, remedy)
    }
    for member in members where !Self.keys.contains(member.name) {
      report(member.name, "is not supported in a layer of a style", "the keys are \(Self.keys.joined(separator: ", "))")
    }
    func zoom(_ key: String) -> Double? {
      guard let value = json[key] else { return nil }
      if let number = value.finite, (0...30).contains(number) { return number }
      report(key, "is no zoom", "write a number from 0 to 30")
      return nil
    }
    var properties: [String: StyleExpression] = [:]
    func read(_ group: String, _ types: [String: PropertyType]) {
      if let value = json[group], value.members == nil {
        report(group, "is \(value.kind), not an object", "write {\"\(types.keys.sorted()[0])\": ...}")
      }
      for member in json[group]?.members ?? [] {
        let place = "\(group).\(member.name)"
        guard let type = types[member.name] else {
          let known = types.keys.sorted()
          report(
            place, "is a property that is not supported for \(kind.rawValue)",
            Spelling.nearest(to: member.name, among: known).map { "did you mean \"\($0)\"?" }
              ?? "choose among \(known.joined(separator: ", "))")
          continue
        }
        do {
          let expression = try type.expression(member.value, at: place)
          if let message = type.complaint(expression) {
            report(place, message, "see the MapLibre style specification")
          }
          properties[member.name] = expression
        } catch {
          report(error.place, error.message, "see docs/reference/region-manifest.md for what is supported")
        }
      }
    }
    read("layout", Self.layout(kind))
    read("paint", Self.paint(kind))
    var filter: StyleExpression?
    if let value = json["filter"] {
      do {
        filter = try StyleExpression(filter: value, at: "filter")
      } catch {
        report(error.place, error.message, "see docs/reference/region-manifest.md for what is supported")
      }
    }
    let (low, high) = (zoom("minzoom") ?? 0, zoom("maxzoom") ?? .infinity)
    guard isGood else { return nil }
    (self.kind, zoomMin, zoomMax, self.filter, self.properties) = (kind, low, high, filter, properties)
    text = json.text
  }

  /// The names of the properties of features on which what is drawn depends.
  package var propertyNames: Set<String> {
    properties.values.reduce(into: filter?.propertyNames ?? []) { $0.formUnion($1.propertyNames) }
  }

  /// Whether the rule draws a feature.
  package func applies(to feature: MapFeature, zoom: Double) -> Bool {
    guard zoom >= zoomMin, zoom < zoomMax else { return false }
    if properties["visibility"]?.value(zoom: zoom, feature).string == "none" { return false }
    return filter?.value(zoom: zoom, feature).isTrue ?? true
  }

  package func number(_ name: String, _ usual: Double, zoom: Double, _ feature: MapFeature) -> Double {
    properties[name]?.value(zoom: zoom, feature).number ?? usual
  }

  package func colour(_ name: String, zoom: Double, _ feature: MapFeature) -> MapColour? {
    properties[name]?.value(zoom: zoom, feature).colour
  }

  package func word(_ name: String, zoom: Double, _ feature: MapFeature) -> String? {
    properties[name]?.value(zoom: zoom, feature).string
  }

  package func flag(_ name: String, zoom: Double, _ feature: MapFeature) -> Bool {
    properties[name]?.value(zoom: zoom, feature).isTrue ?? false
  }

  /// A text as it is shown; nil if there is none.
  package func text(_ name: String, zoom: Double, _ feature: MapFeature) -> String? {
    properties[name].map { $0.value(zoom: zoom, feature).text }.flatMap { $0.isEmpty ? nil : $0 }
  }

  /// A list of names, or one name.
  package func names(_ name: String, zoom: Double, _ feature: MapFeature) -> [String] {
    switch properties[name]?.value(zoom: zoom, feature) {
    case .list(let items)?: items.compactMap(\.string)
    case .string(let text)?: [text]
    default: []
    }
  }

  package func numbers(_ name: String, zoom: Double, _ feature: MapFeature) -> [Double] {
    guard case .list(let items)? = properties[name]?.value(zoom: zoom, feature) else { return [] }
    return items.compactMap(\.number)
  }
}
