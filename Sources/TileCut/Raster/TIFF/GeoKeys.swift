import CPROJ
import CTIFFShim

/// The keys of a GeoTIFF (OGC 19-008r4, section 7), read by libgeotiff.
final class GeoKeys {
  private let pointer: OpaquePointer
  // `pointer` uses it, so it must live as long.
  let context: PROJContext
  /// Contradictions that ``crs(path:)`` has found in the keys.
  private(set) var remarks: [String] = []

  /// - Returns: nil if the handle's directory has no keys.
  init?(_ handle: TIFFHandle) throws {
    context = try PROJContext()
    guard let pointer = ctiff_geo_open(handle.pointer, UnsafeMutableRawPointer(context.pointer)) else { return nil }
    self.pointer = pointer
  }

  deinit { ctiff_geo_close(pointer) }

  enum Key: Int32 {
    case modelType = 1024
    case rasterType = 1025
    case citation = 1026
    case geographicCRS = 2048
    case geographicCitation = 2049
    case semiMajorAxis = 2057
    case inverseFlattening = 2059
    case toWGS84 = 2062
    case projectedCRS = 3072
    case projectedCitation = 3073
    case linearUnits = 3076
  }

  func short(_ key: Key) -> Int? {
    var value: UInt16 = 0
    return ctiff_geo_short(pointer, key.rawValue, &value) != 0 ? Int(value) : nil
  }

  func doubles(_ key: Key) -> [Double] { doubles(number: key.rawValue) }

  /// The doubles of a key that has no name here; empty if it is absent.
  func doubles(number key: Int32) -> [Double] {
    var values = [Double](repeating: 0, count: 16)
    let count = ctiff_geo_doubles(pointer, key, &values, Int32(values.count))
    return Array(values.prefix(Int(count)))
  }

  /// The value of an ASCII key without the `|` that ends it in the file.
  func text(_ key: Key) -> String? {
    var characters = [CChar](repeating: 0, count: 16384)
    guard ctiff_geo_text(pointer, key.rawValue, &characters, characters.count) != 0 else { return nil }
    let text = TIFFHandle.string(characters)
    return String(text.prefix { $0 != "\0" }.reversed().drop { $0 == "|" || $0.isWhitespace }.reversed())
  }

  /// libgeotiff's interpretation of the keys, or nil.
  lazy var definition: ctiff_geo_definition? = {
    var definition = ctiff_geo_definition()
    return ctiff_geo_define(pointer, &definition) != 0 ? definition : nil
  }()

  /// The definition as a PROJ string, or nil.
  func projString() -> String? {
    guard let definition, let text = ctiff_geo_proj_string(pointer) else { return nil }
    defer { ctiff_geo_free_text(text) }
    let words = String(cString: text).split(separator: " ")
    // libgeotiff writes the scale with six decimals, which puts the British National Grid 20 cm off.
    return words.map { word in
      let isScale = word.hasPrefix("+k=") && definition.projection_scale > 0
      return isScale ? "+k=\(definition.projection_scale)" : String(word)
    }.joined(separator: " ")
  }

  /// False for codes that mean "undefined" or "user-defined".
  static func isCode(_ code: Int?) -> Bool {
    guard let code else { return false }
    return code > 0 && code < 32767
  }

  /// The CRS that the keys describe, or nil if they describe none.
  ///
  /// 1. An ESRI PE string in a citation key is a complete definition.
  /// 2. An EPSG code is a complete definition. Keys that repeat its parameters are ignored, as the specification asks,
  ///    except for a different unit; where they contradict it, ``remarks`` say so.
  /// 3. A user-defined projected CRS is composed of a base CRS (``base(_:)``), the projection that libgeotiff derives,
  ///    and the unit. The base CRS is kept because datum shifts depend on it.
  ///
  /// - Throws: ``CutError`` `.noGeoreference` naming `path` if PROJ does not accept the description.
  func crs(path: String) throws -> CoordinateReferenceSystem? {
    guard let definition = try text(path: path) else { return nil }
    return try CoordinateReferenceSystem(definition: definition, path: path)
  }

  private func text(path: String) throws -> String? {
    for key in [Key.projectedCitation, .citation, .geographicCitation] {
      if let esri = text(key).flatMap(Self.esriString) { return esri }
    }
    guard let definition else { return nil }
    let pcs = short(.projectedCRS)
    let model = definition.model == 1 || definition.model == 2 || definition.model == 3 ? Int(definition.model) : nil
    if model == 3 {
      throw CutError(
        .noGeoreference, path: path, "its coordinates are geocentric, not on a map", remedy: "reproject it first")
    }
    let isProjected = model == 1 || (model == nil && pcs != nil)
    if isProjected {
      let names = [text(.projectedCitation), text(.citation)].compactMap { $0 }
      if !Self.isCode(pcs), names.contains(where: { $0.contains("Web_Mercator") || $0.contains("Pseudo-Mercator") }) {
        return "EPSG:3857"
      }
      if let pcs, Self.isCode(pcs), let crs = context.create("EPSG:\(pcs)") {
        remarks += contradictions(to: crs, definition)
        return withUnit(of: definition, crs: crs) ?? "EPSG:\(pcs)"
      }
      guard let built = builtProjected(definition) else {
        if let failure = context.failure(context.takeComplaint()) { throw failure }
        throw CutError(
          .noGeoreference, path: path,
          "its coordinate reference system (\(names.first ?? "GeoTIFF keys")) is not one that PROJ knows",
          remedy: "give it with --crs")
      }
      return built
    }
    let crs = base(definition)
    if let crs, Self.isCode(Int(definition.gcs)) { remarks += contradictions(to: crs, definition) }
    return crs.flatMap { $0.wkt }
  }

  /// The WKT after `ESRI PE String = `, without its vertical part.
  private static func esriString(_ citation: String) -> String? {
    guard let start = citation.firstRange(of: "ESRI PE String = ")?.upperBound else { return nil }
    let text = String(citation[start...])
    guard let vertical = text.firstRange(of: ",VERTCS[")?.lowerBound else { return text }
    // The vertical part may lie inside the outer bracket, so the remaining brackets are closed again.
    let kept = text[..<vertical]
    let open = kept.count { $0 == "[" } - kept.count { $0 == "]" }
    return kept + String(repeating: "]", count: max(0, open))
  }

  /// A projected CRS composed of base, projection and unit.
  private func builtProjected(_ definition: ctiff_geo_definition) -> String? {
    guard let string = projString(), let projected = context.create(string), let base = base(definition) else {
      return nil
    }
    let name = text(.projectedCitation) ?? text(.citation) ?? "unknown"
    return compose(name: name, base: base, projection: projected.unbound, unitMetres: definition.length_unit_metres)
  }

  /// The CRS of a code with the unit of the keys, or nil if the code has the same unit.
  private func withUnit(of definition: ctiff_geo_definition, crs: PROJObject) -> String? {
    guard short(.linearUnits) != nil, definition.length_unit_metres > 0,
      let own = try? CoordinateReferenceSystem(definition: crs.wkt ?? ""),
      abs(own.unitFactor / definition.length_unit_metres - 1) > 1e-7,
      let base = context.own(proj_get_source_crs(context.pointer, crs.pointer))
    else { return nil }
    return compose(name: crs.name, base: base, projection: crs, unitMetres: definition.length_unit_metres)
  }

  private func compose(name: String, base: PROJObject, projection: PROJObject, unitMetres: Double) -> String? {
    guard let conversion = context.own(proj_crs_get_coordoperation(context.pointer, projection.pointer)),
      let conversionJSON = conversion.json
    else { return nil }
    // A datum shift (BoundCRS) encloses the finished CRS instead of its base.
    let hub = base.type == PJ_TYPE_BOUND_CRS ? base : nil
    guard let baseJSON = base.unbound.json else { return nil }
    let unit = #"{"type":"LinearUnit","name":"unit","conversion_factor":\#(unitMetres > 0 ? unitMetres : 1)}"#
    let quoted = Self.quotable(name)
    let json = """
      {"type":"ProjectedCRS","name":"\(quoted)","base_crs":\(baseJSON),"conversion":\(conversionJSON),
      "coordinate_system":{"subtype":"Cartesian","axis":[
      {"name":"Easting","abbreviation":"E","direction":"east","unit":\(unit)},
      {"name":"Northing","abbreviation":"N","direction":"north","unit":\(unit)}]}}
      """
    guard let crs = context.create(json) else { return nil }
    guard let hub, let wgs84 = context.own(proj_get_target_crs(context.pointer, hub.pointer)),
      let shift = context.own(proj_crs_get_coordoperation(context.pointer, hub.pointer)),
      let (crsJSON, hubJSON, shiftJSON) = crs.json.flatMap({ c in
        wgs84.json.flatMap { w in shift.json.map { (c, w, $0) } }
      })
    else { return crs.wkt }
    return #"{"type":"BoundCRS","source_crs":\#(crsJSON),"target_crs":\#(hubJSON),"transformation":\#(shiftJSON)}"#
  }
}
