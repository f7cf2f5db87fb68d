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

  /// Readers make features of their own of a collection's members (``GeoJSONGeometry/members``).
  private static func kind(_ geometry: GeoJSONGeometry) -> Kind {
    switch geometry {
    case .points: .point
    case .lines: .line
    case .polygons: .polygon
    case .collection(let parts): parts.first.map { Self.kind($0) } ?? .point
    }
  }
}

extension MapFeature {
  /// The memory that it takes, in bytes.
  package var byteCount: Int {
    let texts = properties.reduce(0) { sum, property in
      // Short texts lie in the table itself.
      guard case .string(let text) = property.value, text.utf8.count > 15 else { return sum }
      return sum + 48 + text.utf8.count
    }
    let table = properties.isEmpty ? 0 : 112 + 56 * properties.capacity
    return MemoryLayout<MapFeature>.stride + geometry.byteCount + table + texts
  }

  /// How many lines, polygons and single points it has.
  package var partCount: Int { geometry.partCount }
}

extension GeoJSONGeometry {
  fileprivate var byteCount: Int {
    // What an array takes beside its elements.
    let array = 48
    func lines(_ lines: [[SIMD2<Double>]]) -> Int { lines.reduce(array) { $0 + 8 + array + 16 * $1.count } }
    return switch self {
    case .points(let points): array + 16 * points.count
    case .lines(let all): lines(all)
    case .polygons(let polygons):
      polygons.reduce(array) { $0 + MemoryLayout<Polygon>.stride + lines($1.rings) }
    case .collection(let parts): parts.reduce(array) { $0 + MemoryLayout<GeoJSONGeometry>.stride + $1.byteCount }
    }
  }

  fileprivate var partCount: Int {
    switch self {
    case .points(let points): points.count
    case .lines(let lines): lines.count
    case .polygons(let polygons): polygons.count
    case .collection(let parts): parts.reduce(0) { $0 + $1.partCount }
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
