package import Support

/// Reads GeoJSON (RFC 7946) a feature at a time, and coordinates straight into arrays of 16 bytes a position, so that a
/// file may be larger than the memory.
///
/// Members may be in any order: what is said before its `type` is read twice.
package struct GeoJSONReader {
  /// A feature, or a geometry that stands for one.
  package struct Feature {
    /// Nil where it is missing or null.
    package let geometry: GeoJSONGeometry?
    /// Those that are wanted.
    package let properties: [JSONValue.Member]
  }

  private enum Step {
    case member(String)
    case element(Int)
  }

  private var json: JSONReader
  /// Where the reader is in the document.
  private var path: [Step] = []
  private let wanted: Set<String>?
  private let onlyFeatures: Bool
  /// Of the line that is read.
  private var line: [SIMD2<Double>] = []

  private static let depthMax = 8

  private init(_ json: JSONReader, wanted: Set<String>?, onlyFeatures: Bool) {
    (self.json, self.wanted, self.onlyFeatures) = (json, wanted, onlyFeatures)
  }

  /// Reads a document: a collection of features, a feature or a geometry.
  ///
  /// - Parameters:
  ///   - properties: the names of those that are wanted; nil for all.
  ///   - onlyFeatures: whether a collection may have nothing but features with a geometry, which may be null.
  ///   - body: called for each feature, in their order.
  /// - Throws: ``GeoJSONGeometry/Fault``, `JSONValue.SyntaxError`; what the source and the closure throw.
  package static func read(
    _ source: any ByteSource, properties: Set<String>?, onlyFeatures: Bool = false, _ body: (Feature) throws -> Void
  ) throws {
    try JSONReader.read(source) { json in
      var reader = GeoJSONReader(json, wanted: properties, onlyFeatures: onlyFeatures)
      defer { json = reader.json }
      try reader.object(body)
    }
  }

  /// Reads a geometry.
  ///
  /// - Parameter place: the position in the document, for errors.
  /// - Throws: as ``read(_:properties:onlyFeatures:_:)``.
  static func geometry(_ source: any ByteSource, at place: String) throws -> GeoJSONGeometry {
    try JSONReader.read(source) { json in
      var reader = GeoJSONReader(json, wanted: [], onlyFeatures: false)
      defer { json = reader.json }
      reader.path = [.member(place)]
      return try reader.geometry()
    }
  }

  private func fault(_ message: String, at member: String? = nil) -> GeoJSONGeometry.Fault {
    var place = ""
    for step in path + (member.map { [Step.member($0)] } ?? []) {
      switch step {
      case .member(let name): place += place.isEmpty ? name : ".\(name)"
      case .element(let index): place += "[\(index)]"
      }
    }
    return GeoJSONGeometry.Fault(place: place, message: message)
  }

  /// The `type` of the object that begins here; nil if it has none, or is none. It is read from its start afterwards.
  private mutating func type() throws -> String? {
    let (kind, start) = (json.kind(), json.mark)
    defer { json.go(to: start) }
    guard kind == .object else {
      // What is no JSON is an error of another kind.
      try json.skip()
      return nil
    }
    var object = try json.beginObject()
    while let name = try json.nextName(of: &object) {
      if name == "type" { return try json.value().string }
      try json.skip()
    }
    return nil
  }

  // MARK: - Features

  private mutating func object(_ body: (Feature) throws -> Void) throws {
    switch try type() {
    case "FeatureCollection": try collection(body)
    case "Feature": try feature(body)
    default:
      if onlyFeatures, !path.isEmpty { throw fault("is no Feature") }
      if path.isEmpty { path = [.member("document")] }
      try body(Feature(geometry: try geometry(), properties: []))
    }
  }

  private mutating func collection(_ body: (Feature) throws -> Void) throws {
    if onlyFeatures, !path.isEmpty { throw fault("is no Feature") }
    var hasFeatures = false
    var object = try json.beginObject()
    while let name = try json.nextName(of: &object) {
      guard name == "features" else {
        if name == "crs" { try checkCRS() } else { try json.skip() }
        continue
      }
      guard json.kind() == .array else {
        let value = try json.value()
        throw fault(value == .null ? "is missing" : "is \(value.kind), not an array", at: name)
      }
      hasFeatures = true
      path.append(.member(name))
      try elements { reader in try reader.object(body) }
      path.removeLast()
    }
    guard hasFeatures else { throw fault("is missing", at: "features") }
  }

  /// Systems of degrees within a metre or two of WGS 84, which the world's present national ones are: EPSG's codes, and
  /// OGC's names in small letters. Before RFC 7946 a file named one.
  private static let degrees: Set<Substring> = [
    "4326", "4979", "4269", "4258", "4283", "7844", "4167", "6318", "4674", "4490", "4617", "6668", "4612", "4171",
    "4619", "4148", "4152", "4140", "4189", "4190", "4686", "4737", "6311", "crs84", "crs84h", "crs83", "wgs84",
    "wgs 84",
  ]

  /// Refuses coordinates in another system than degrees of WGS 84, which look as if they were such.
  private mutating func checkCRS() throws {
    guard let name = try json.value()["properties"]?["name"]?.string,
      let code = name.lowercased().split(whereSeparator: { $0 == ":" || $0 == "/" }).last, !Self.degrees.contains(code)
    else { return }
    throw fault("is \(name); write degrees of WGS 84 (ogr2ogr -t_srs EPSG:4326)", at: "crs")
  }

  private mutating func feature(_ body: (Feature) throws -> Void) throws {
    var found: GeoJSONGeometry?
    var hasGeometry = false
    var properties: [JSONValue.Member] = []
    var object = try json.beginObject()
    while let name = try json.nextName(of: &object) {
      switch name {
      case "geometry":
        hasGeometry = true
        path.append(.member(name))
        let start = json.mark
        var isNull = false
        if json.kind() == .word { isNull = try json.value() == .null }
        if !isNull {
          json.go(to: start)
          found = try geometry()
        }
        path.removeLast()
      case "properties" where json.kind() == .object:
        var members = try json.beginObject()
        while let name = try json.nextName(of: &members) {
          guard wanted?.contains(name) ?? true else {
            try json.skip()
            continue
          }
          properties.append(JSONValue.Member(name, try json.value()))
        }
      default: try json.skip()
      }
    }
    if onlyFeatures, !hasGeometry { throw fault("is missing", at: "geometry") }
    try body(Feature(geometry: found, properties: properties))
  }

  /// Reads the elements of an array, with their numbers in the path.
  private mutating func elements(_ read: (inout GeoJSONReader) throws -> Void) throws {
    var array = try json.beginArray()
    let depth = path.count
    path.append(.element(0))
    var index = 0
    while try json.nextElement(of: &array) {
      path[depth] = .element(index)
      try read(&self)
      index += 1
    }
    path.removeLast()
  }

  // MARK: - Geometries

  private static let types = [
    "Point", "MultiPoint", "LineString", "MultiLineString", "Polygon", "MultiPolygon", "GeometryCollection",
  ]

  private mutating func geometry(depth: Int = 0) throws -> GeoJSONGeometry {
    guard let type = try type() else { throw fault("is missing", at: "type") }
    guard depth < Self.depthMax else { throw fault("lies too deep in other collections") }
    guard Self.types.contains(type) else { throw fault("\"\(type)\" is no GeoJSON geometry", at: "type") }
    let member = type == "GeometryCollection" ? "geometries" : "coordinates"
    var found: GeoJSONGeometry?
    var object = try json.beginObject()
    while let name = try json.nextName(of: &object) {
      guard name == member else {
        try json.skip()
        continue
      }
      path.append(.member(name))
      found = try shape(type, depth: depth)
      path.removeLast()
    }
    guard let found else { throw fault("is missing", at: member) }
    return found
  }

  /// Reads the coordinates of a geometry, or the parts of a collection.
  private mutating func shape(_ type: String, depth: Int) throws -> GeoJSONGeometry {
    switch type {
    case "Point": return .points([try position()])
    case "MultiPoint": return .points(try positions())
    case "LineString": return .lines([try lineString()])
    case "MultiLineString": return .lines(try list { reader in try reader.lineString() })
    case "Polygon": return .polygons([try polygon()])
    case "MultiPolygon": return .polygons(try list { reader in try reader.polygon() })
    default:
      guard json.kind() == .array else { throw fault("is no list") }
      var parts: [GeoJSONGeometry] = []
      try elements { reader in parts.append(try reader.geometry(depth: depth + 1)) }
      return .collection(parts)
    }
  }

  private mutating func polygon() throws -> Polygon { Polygon(rings: try list { reader in try reader.ring() }) }

  private mutating func ring() throws -> [SIMD2<Double>] {
    let ring = try positions()
    guard ring.count >= 4, ring.first == ring.last else {
      throw fault("is no ring: four positions or more, the last equal to the first")
    }
    return ring
  }

  private mutating func lineString() throws -> [SIMD2<Double>] {
    let line = try positions()
    guard line.count >= 2 else { throw fault("is a line of one position") }
    return line
  }

  /// The fault of a value of another kind. What is no JSON is an error of another kind.
  private mutating func wrongKind(_ message: String) throws -> GeoJSONGeometry.Fault {
    try json.skip()
    return fault(message)
  }

  private mutating func list<Item>(_ read: (inout GeoJSONReader) throws -> Item) throws -> [Item] {
    guard json.kind() == .array else { throw try wrongKind(Self.noList) }
    var items: [Item] = []
    try elements { reader in items.append(try read(&reader)) }
    guard !items.isEmpty else { throw fault(Self.noList) }
    return items
  }

  private static let noList = "is missing, empty or no list"

  private mutating func positions() throws -> [SIMD2<Double>] {
    guard json.kind() == .array else { throw try wrongKind(Self.noList) }
    line.removeAll(keepingCapacity: true)
    try elements { reader in
      let position = try reader.position()
      reader.line.append(position)
    }
    guard !line.isEmpty else { throw fault(Self.noList) }
    // A copy that is as large as it needs to be.
    return line.withUnsafeBufferPointer { Array($0) }
  }

  private mutating func position() throws -> SIMD2<Double> {
    guard json.kind() == .array else { throw try wrongKind(Self.noPosition) }
    var array = try json.beginArray()
    var position = SIMD2<Double>.zero
    for axis in 0..<2 {
      guard try json.nextElement(of: &array) else { throw fault(Self.noPosition) }
      guard json.kind() == .number else { throw try wrongKind(Self.noPosition) }
      position[axis] = try json.number()
    }
    while try json.nextElement(of: &array) { try json.skip() }
    // Some producers continue beyond the antimeridian instead of splitting.
    guard abs(position.x) <= 540, abs(position.y) <= 90 else {
      let numbers = "[\(DecimalText.text(position.x)), \(DecimalText.text(position.y))]"
      throw fault("\(numbers) lies nowhere on Earth; degrees are wanted, the longitude first")
    }
    return position
  }

  private static let noPosition = "is no position [longitude, latitude]"
}
