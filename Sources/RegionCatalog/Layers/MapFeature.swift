package import Support
package import TileIndex

/// A feature of a map: a geometry in degrees and its properties.
package struct MapFeature: Sendable {
  /// The geometry's kind, as `geometry-type` names it.
  package enum Kind: String, Sendable {
    case point = "Point"
    case line = "LineString"
    case polygon = "Polygon"
  }

  package let geometry: GeoJSONGeometry
  package let kind: Kind
  package let properties: [String: StyleValue]

  package init(_ geometry: GeoJSONGeometry, properties: [String: StyleValue]) {
    self.geometry = geometry
    self.properties = properties
    kind = Self.kind(geometry)
  }

  /// Of a collection, that of its first part.
  private static func kind(_ geometry: GeoJSONGeometry) -> Kind {
    switch geometry {
    case .points: .point
    case .lines: .line
    case .polygons: .polygon
    case .collection(let parts): parts.first.map { Self.kind($0) } ?? .point
    }
  }
}

/// A value of a style or of a feature's property.
package enum StyleValue: Hashable, Sendable {
  case null
  case bool(Bool)
  case number(Double)
  case string(String)
  case colour(MapColour)
  case list([StyleValue])

  package init(_ json: JSONValue) {
    switch json {
    case .null: self = .null
    case .bool(let flag): self = .bool(flag)
    case .number(let digits): self = .number(Double(digits) ?? 0)
    case .string(let text): self = .string(text)
    case .array(let items): self = .list(items.map(StyleValue.init))
    case .object: self = .string(json.text)
    }
  }

  package var number: Double? { if case .number(let value) = self { value } else { nil } }
  package var string: String? { if case .string(let text) = self { text } else { nil } }
  package var isTrue: Bool { self == .bool(true) }

  /// A colour, or the text of one.
  package var colour: MapColour? {
    switch self {
    case .colour(let colour): colour
    case .string(let text): MapColour(text)
    default: nil
    }
  }

  /// The value as text, as `to-string` gives it.
  package var text: String {
    switch self {
    case .null: ""
    case .bool(let flag): flag ? "true" : "false"
    case .number(let value): DecimalText.text(value)
    case .string(let text): text
    case .colour(let colour): "rgba(\(colour.red),\(colour.green),\(colour.blue),\(colour.alpha))"
    case .list(let items): items.map(\.text).joined(separator: ",")
    }
  }
}
