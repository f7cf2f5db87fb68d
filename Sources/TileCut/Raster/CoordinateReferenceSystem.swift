import CPROJ
import Synchronization
import TileIndex

/// A coordinate reference system (CRS) of the Earth that PROJ knows.
///
/// Of a compound CRS the horizontal part is used, of a three-dimensional one the two horizontal axes. Coordinates are
/// always x (east or longitude), then y (north or latitude), whatever axis order the authority defines.
package struct CoordinateReferenceSystem: Hashable, Sendable {
  /// The text that PROJ creates the CRS from: WKT, a PROJ string or an authority code. All definitions of Web Mercator
  /// have the same text here, and so have all of WGS 84 longitude and latitude.
  package let definition: String
  /// The name in the authority or the file, such as `WGS 84 / UTM zone 18N`.
  package let name: String
  /// The authority's code, such as `EPSG:32618`; nil if the definition has none.
  package let code: String?
  /// Whether coordinates are longitude and latitude, usually in degrees (see ``unitFactor``).
  package let isGeographic: Bool
  /// The name of the coordinates' unit: `degree`, `metre`, `US survey foot`.
  package let unit: String
  /// The size of one unit in metres (projected) or radians (geographic).
  package let unitFactor: Double
  /// Whether coordinates equal those of EPSG:3857, whatever the CRS is called.
  package let isWebMercator: Bool
  /// Whether coordinates are WGS 84 longitude and latitude in degrees.
  package let isWGS84LongLat: Bool

  /// The distance in x after which the same meridian recurs, in CRS units: 360 degrees or the width of Web Mercator;
  /// nil for any other CRS.
  package var horizontalPeriod: Double? {
    if isGeographic { return 2 * .pi / unitFactor }
    return isWebMercator ? 2 * WebMercator.halfWorld : nil
  }

  /// WGS 84 / Pseudo-Mercator, in metres.
  package static let webMercator = CoordinateReferenceSystem(
    definition: "EPSG:3857", name: "WGS 84 / Pseudo-Mercator", code: "EPSG:3857", isGeographic: false, unit: "metre",
    unitFactor: 1, isWebMercator: true, isWGS84LongLat: false)

  /// WGS 84 longitude and latitude, in degrees.
  package static let wgs84LongLat = CoordinateReferenceSystem(
    definition: "EPSG:4326", name: "WGS 84", code: "EPSG:4326", isGeographic: true, unit: "degree",
    unitFactor: .pi / 180, isWebMercator: false, isWGS84LongLat: true)

  private init(
    definition: String, name: String, code: String?, isGeographic: Bool, unit: String, unitFactor: Double,
    isWebMercator: Bool, isWGS84LongLat: Bool
  ) {
    (self.definition, self.name, self.code) = (definition, name, code)
    (self.isGeographic, self.unit) = (isGeographic, unit)
    (self.unitFactor, self.isWebMercator, self.isWGS84LongLat) = (unitFactor, isWebMercator, isWGS84LongLat)
  }

  /// Name and code for people: `WGS 84 / UTM zone 18N (EPSG:32618)`.
  package var title: String { code.map { "\(name) (\($0))" } ?? name }

  /// Creates a CRS from an exact definition. A name is refused, even if PROJ would find a CRS that resembles it.
  ///
  /// - Parameters:
  ///   - definition: `EPSG:3857`, `OGC:CRS84`, WKT 1 or 2, ESRI WKT (the text of a .prj file), PROJJSON or a PROJ
  ///     string.
  ///   - path: the file that holds the definition; nil if the user gave it as an option.
  /// - Throws: ``CutError``, `.noGeoreference` with a `path` and `.invalidOption` without one, if PROJ does not know
  ///   the definition, or if it is not a horizontal CRS of the Earth; `.systemError` if PROJ does not work at all.
  package init(definition: String, path: String? = nil) throws {
    if let known = Self.known.withLock({ $0[definition] }) {
      self = known
      return
    }
    let facts = try ParsedDefinition(text: definition, path: path)
    self.init(
      definition: facts.definition, name: facts.name, code: facts.code, isGeographic: facts.isGeographic,
      unit: facts.unit, unitFactor: facts.unitFactor, isWebMercator: facts.isWebMercator,
      isWGS84LongLat: facts.isWGS84LongLat)
    Self.known.withLock { [self] in if $0.count < Self.knownMax { $0[definition] = self } }
  }

  /// By the text they were created from: thousands of sources share a few, and PROJ takes milliseconds for each.
  private static let known = Mutex<[String: CoordinateReferenceSystem]>([:])
  private static let knownMax = 256
}

/// The properties of a CRS definition, determined once with PROJ.
///
/// 1. Replace the aliases of Web Mercator that PROJ does not know or mistakes for another CRS.
/// 2. Refuse names with suggestions (``CRSText``). Parse; refuse what PROJ does not know.
/// 3. Take the horizontal part; refuse local, vertical and geocentric systems.
/// 4. Refuse CRSs of other planets.
/// 5. Read name and unit, and recognise Web Mercator and WGS 84, which get one definition each.
private struct ParsedDefinition {
  let definition: String
  let name: String
  let code: String?
  let isGeographic: Bool
  let unit: String
  let unitFactor: Double
  let isWebMercator: Bool
  let isWGS84LongLat: Bool

  init(text: String, path: String?) throws {
    let trimmed = Self.trim(text)
    guard !trimmed.isEmpty else {
      throw Self.refusal(path, "the coordinate reference system is empty")
    }
    let definition = Self.webMercatorAliases.contains(trimmed.uppercased()) ? "EPSG:3857" : trimmed
    let context = try PROJContext()
    guard CRSText.isExact(definition) else {
      if let failure = context.failure() { throw failure }
      throw Self.refusal(
        path, "'\(Self.abridged(trimmed))' is no coordinate reference system",
        suggestions: CRSText.suggestions(for: trimmed, in: context))
    }
    guard let object = context.create(definition), proj_is_crs(object.pointer) != 0 else {
      let words = context.takeComplaint()
      if let failure = context.failure(words) { throw failure }
      throw Self.refusal(
        path,
        "PROJ does not know the coordinate reference system '\(Self.abridged(trimmed))'"
          + (words.map { " (\($0))" } ?? ""))
    }
    let crs = try Self.horizontal(object, path: path)
    try Self.requireEarth(crs, path: path)

    name = crs.name.isEmpty || crs.name == "unknown" ? Self.abridged(definition) : crs.name
    let unbound = crs.unbound
    isGeographic = unbound.type == PJ_TYPE_GEOGRAPHIC_2D_CRS || unbound.type == PJ_TYPE_GEOGRAPHIC_3D_CRS
    (unit, unitFactor) = Self.unit(of: unbound)

    if isGeographic {
      isWebMercator = false
      isWGS84LongLat = context.create("EPSG:4326").map { crs.isEquivalent(to: $0) } ?? false
    } else {
      isWGS84LongLat = false
      isWebMercator = Self.isWebMercator(crs)
    }
    if isWebMercator {
      (self.definition, code) = ("EPSG:3857", "EPSG:3857")
    } else if isWGS84LongLat {
      // For OGC:CRS84 PROJ chooses datum shifts that differ from EPSG:4326's by up to a metre; GDAL uses EPSG:4326.
      (self.definition, code) = ("EPSG:4326", "EPSG:4326")
    } else {
      // The stored definition must be that of the horizontal part.
      self.definition = object === crs ? definition : crs.wkt ?? definition
      code = unbound.code
    }
  }

  /// Codes in use for Web Mercator that PROJ's database lacks or defines differently.
  private static let webMercatorAliases: Set<String> = [
    "EPSG:900913", "EPSG:3785", "EPSG:102100", "EPSG:102113", "ESRI:102100", "ESRI:102113", "GOOGLE:900913",
    "OSGEO:41001", "WEBMERCATOR", "WEB MERCATOR",
  ]

  /// Removes the white space, line ends and byte order marks that .prj files have at both ends.
  private static func trim(_ text: String) -> String {
    func isBlank(_ c: Character) -> Bool { c.isWhitespace || c == "\u{feff}" || c == "\0" }
    return String(text.drop(while: isBlank).reversed().drop(while: isBlank).reversed())
  }

  private static func abridged(_ text: String) -> String {
    text.count <= 80 ? text : text.prefix(77) + "..."
  }

  private static func refusal(_ path: String?, _ message: String, suggestions: [String] = []) -> CutError {
    let known = suggestions.isEmpty ? "" : "did you mean \(suggestions.joined(separator: " or "))? "
    let remedy = known + "give it as an authority code such as EPSG:4326, as WKT, or as a PROJ string"
    return path == nil
      ? CutError(.invalidOption, message, remedy: remedy)
      : CutError(.noGeoreference, path: path, message, remedy: "\(remedy), with --crs")
  }

  /// The horizontal part of a compound CRS, or the CRS itself if it is horizontal.
  private static func horizontal(_ object: PROJObject, path: String?) throws -> PROJObject {
    let context = object.context
    switch object.type {
    case PJ_TYPE_COMPOUND_CRS:
      guard let part = context.own(proj_crs_get_sub_crs(context.pointer, object.pointer, 0)) else {
        throw refusal(path, "the compound coordinate reference system '\(object.name)' has no horizontal part")
      }
      return try horizontal(part, path: path)
    case PJ_TYPE_BOUND_CRS:
      _ = try horizontal(object.unbound, path: path)
      return object
    case PJ_TYPE_GEOGRAPHIC_2D_CRS, PJ_TYPE_GEOGRAPHIC_3D_CRS, PJ_TYPE_PROJECTED_CRS:
      return object
    default:
      throw refusal(
        path, "the coordinate reference system '\(object.name)' has no relation to longitude and latitude")
    }
  }

  /// PROJ transforms between planets without an error, since it assumes a null datum shift.
  private static func requireEarth(_ crs: PROJObject, path: String?) throws {
    let context = crs.context
    let semiMajorMetres = crs.unbound.axes?.major ?? 0
    let body = proj_get_celestial_body_name(context.pointer, crs.pointer).map { String(cString: $0) }
    // All ellipsoids and spheres of the Earth in PROJ's database lie between 6,353,000 and 6,378,500 metres.
    let isEarthSized = (6.3e6...6.45e6).contains(semiMajorMetres)
    guard (body == nil || body == "Earth") && isEarthSized else {
      let place = body == nil || body == "Earth" ? "" : ", of \(body!)"
      let message =
        "the coordinate reference system '\(abridged(crs.name))' is not of the Earth"
        + " (semi-major axis \(Int(semiMajorMetres.rounded())) m\(place))"
      throw path == nil
        ? CutError(.invalidOption, message, remedy: "only maps of the Earth can be cut")
        : CutError(.noGeoreference, path: path, message, remedy: "only maps of the Earth can be cut")
    }
  }

  /// The unit of the first axis: its name, and its size in metres or radians.
  private static func unit(of crs: PROJObject) -> (String, Double) {
    let context = crs.context
    var factor = 1.0
    var name: UnsafePointer<CChar>?
    guard let system = context.own(proj_crs_get_coordinate_system(context.pointer, crs.pointer)),
      proj_cs_get_axis_info(context.pointer, system.pointer, 0, nil, nil, nil, &factor, &name, nil, nil) != 0,
      let name
    else { return ("unknown", 1) }
    return (String(cString: name), factor)
  }

  /// Compares positions, because the names and definitions of Web Mercator are too many to list (ESRI's auxiliary
  /// sphere, `+nadgrids=@null`, WKT 1 with a PROJ.4 extension).
  private static func isWebMercator(_ crs: PROJObject) -> Bool {
    let context = crs.context
    guard let web = context.create("EPSG:3857") else { return false }
    if crs.isEquivalent(to: web) { return true }
    guard let operation = context.own(proj_crs_get_coordoperation(context.pointer, crs.unbound.pointer)) else {
      return false
    }
    var method: UnsafePointer<CChar>?
    _ = proj_coordoperation_get_method_info(context.pointer, operation.pointer, &method, nil, nil)
    guard let method, String(cString: method).contains("Mercator"),
      let transform = context.own(
        proj_create_crs_to_crs_from_pj(context.pointer, web.pointer, crs.pointer, nil, nil)),
      let normalized = context.own(proj_normalize_for_visualization(context.pointer, transform.pointer))
    else { return false }
    let probes = [SIMD2(0.0, 0.0), SIMD2(1.2e7, 8.4e6), SIMD2(-1.9e7, -1.9e7), SIMD2(-5e5, 5.1e6)]
    return probes.allSatisfy { probe in
      let moved = proj_trans(normalized.pointer, PJ_FWD, proj_coord(probe.x, probe.y, 0, 0))
      return abs(moved.v.0 - probe.x) < 1e-3 && abs(moved.v.1 - probe.y) < 1e-3
    }
  }
}

/// Tells exact definitions of a CRS from names, for which PROJ would take any CRS whose name resembles them.
private enum CRSText {
  /// Whether a text is WKT, PROJJSON, a PROJ string, an authority's code or a URN.
  static func isExact(_ text: String) -> Bool {
    let lower = text.lowercased()
    if text.hasPrefix("{") || text.contains("[") || lower.contains("proj=") || lower.contains("init=") { return true }
    if lower.hasPrefix("urn:") || lower.hasPrefix("http://") || lower.hasPrefix("https://") { return true }
    let parts = text.split(separator: ":", omittingEmptySubsequences: false)
    guard parts.count == 2, !parts[1].isEmpty else { return false }
    // EPSG:4326, EPSG:26912+5703, IAU_2015:49900.
    let isAuthority = parts[0].allSatisfy { $0.isASCII && ($0.isLetter || $0.isNumber || $0 == "_" || $0 == "-") }
    let isCode = parts[1].allSatisfy { $0.isASCII && !$0.isWhitespace }
    return isAuthority && parts[0].first?.isLetter == true && isCode
  }

  /// Codes and names of CRSs that resemble a name, or that have a number as their code.
  static func suggestions(for name: String, in context: PROJContext) -> [String] {
    if let code = Int(name) {
      return context.registered(code, PJ_CATEGORY_CRS).map { ["EPSG:\(code) (\($0.name))"] } ?? []
    }
    let types = [PJ_TYPE_PROJECTED_CRS, PJ_TYPE_GEOGRAPHIC_2D_CRS]
    return context.objects(named: name, types: types, isApproximate: true, limit: 3).compactMap { crs in
      crs.code.map { "\($0) (\(crs.name))" }
    }
  }
}
