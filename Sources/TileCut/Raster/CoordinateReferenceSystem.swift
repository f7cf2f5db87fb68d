import CPROJ
import TileIndex

/// A coordinate reference system of the Earth that PROJ knows.
///
/// Compound systems stand for their horizontal part, three-dimensional ones for their two horizontal axes.
/// Coordinates are always x (east or longitude), then y (north or latitude), whatever order the authority defines.
package struct CoordinateReferenceSystem: Hashable, Sendable {
  /// What PROJ makes it from: WKT, a PROJ string or an authority's code; the same for all that is Web Mercator or WGS 84 degrees.
  package let definition: String
  /// Its name in the authority's or the file's words, `WGS 84 / UTM zone 18N`.
  package let name: String
  /// Coordinates are longitude and latitude, in degrees on nearly every system (see ``unitFactor``).
  package let isGeographic: Bool
  /// The name of the coordinates' unit: `degree`, `metre`, `US survey foot`.
  package let unit: String
  /// What one unit is in metres (projected) or radians (geographic).
  package let unitFactor: Double
  /// The same coordinates as EPSG:3857, whatever it is called.
  package let isWebMercator: Bool
  /// The same coordinates as WGS 84 longitude and latitude in degrees.
  package let isWGS84LongLat: Bool

  /// How far apart in x the same meridian comes back, in CRS units: a whole turn for longitudes and for Web Mercator, nil for everything else.
  package var horizontalPeriod: Double? {
    if isGeographic { return 2 * .pi / unitFactor }
    return isWebMercator ? 2 * WebMercator.halfWorld : nil
  }

  /// WGS 84 / Pseudo-Mercator, metres.
  package static let webMercator = CoordinateReferenceSystem(
    definition: "EPSG:3857", name: "WGS 84 / Pseudo-Mercator", isGeographic: false, unit: "metre", unitFactor: 1,
    isWebMercator: true, isWGS84LongLat: false)

  /// WGS 84, longitude and latitude in degrees.
  package static let wgs84LongLat = CoordinateReferenceSystem(
    definition: "EPSG:4326", name: "WGS 84", isGeographic: true, unit: "degree", unitFactor: .pi / 180,
    isWebMercator: false, isWGS84LongLat: true)

  private init(
    definition: String, name: String, isGeographic: Bool, unit: String, unitFactor: Double, isWebMercator: Bool,
    isWGS84LongLat: Bool
  ) {
    (self.definition, self.name, self.isGeographic, self.unit) = (definition, name, isGeographic, unit)
    (self.unitFactor, self.isWebMercator, self.isWGS84LongLat) = (unitFactor, isWebMercator, isWGS84LongLat)
  }

  /// Makes a CRS from anything PROJ understands.
  ///
  /// - Parameters:
  ///   - definition: `EPSG:3857`, `OGC:CRS84`, WKT 1 or 2, ESRI WKT (a .prj file's text), PROJJSON, or a PROJ string.
  ///   - path: the file the definition came from, when it is not the caller's own word.
  /// - Throws: ``CutError`` `.noGeoreference` naming `path`, or `.invalidOption` without one, when PROJ does not know the
  ///   definition, when it is not a horizontal CRS, or when it is of another planet.
  package init(definition: String, path: String? = nil) throws {
    let facts = try ParsedDefinition(text: definition, path: path)
    self.init(
      definition: facts.definition, name: facts.name, isGeographic: facts.isGeographic, unit: facts.unit,
      unitFactor: facts.unitFactor, isWebMercator: facts.isWebMercator, isWGS84LongLat: facts.isWGS84LongLat)
  }
}

/// What ``CoordinateReferenceSystem`` says about a definition, found out once with PROJ.
///
/// 1. Replace the aliases of Web Mercator that PROJ does not know or takes for something else.
/// 2. Parse; refuse what PROJ does not know.
/// 3. Take the horizontal part; refuse local, vertical and geocentric systems.
/// 4. Refuse other planets.
/// 5. Read the name and unit, and compare with Web Mercator and WGS 84, of which there is then one definition each.
private struct ParsedDefinition {
  let definition: String
  let name: String
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
    let context = PROJContext()
    guard let object = context.create(definition), proj_is_crs(object.pointer) != 0 else {
      let words = context.takeComplaint().map { " (\($0))" } ?? ""
      throw Self.refusal(path, "PROJ does not know the coordinate reference system '\(Self.abridged(trimmed))'\(words)")
    }
    let crs = try Self.horizontal(object, path: path)
    try Self.requireEarth(crs, path: path)

    name = crs.name.isEmpty || crs.name == "unknown" ? Self.abridged(definition) : crs.name
    let unbound = Self.unbound(crs)
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
      self.definition = "EPSG:3857"
    } else if isWGS84LongLat {
      // PROJ finds other, worse datum shifts for OGC:CRS84 than for EPSG:4326, up to a metre apart; GDAL asks for the latter.
      self.definition = "EPSG:4326"
    } else {
      // What PROJ is given again must be the horizontal part alone.
      self.definition = object === crs ? definition : crs.wkt ?? definition
    }
  }

  /// Codes that have meant Web Mercator and are not, or not as such, in PROJ's database.
  private static let webMercatorAliases: Set<String> = [
    "EPSG:900913", "EPSG:3785", "EPSG:102100", "EPSG:102113", "ESRI:102100", "ESRI:102113", "GOOGLE:900913",
    "OSGEO:41001", "WEBMERCATOR", "WEB MERCATOR",
  ]

  /// Removes white space, line ends and a byte order mark at both ends, as .prj files have them.
  private static func trim(_ text: String) -> String {
    func isBlank(_ c: Character) -> Bool { c.isWhitespace || c == "\u{feff}" || c == "\0" }
    return String(text.drop(while: isBlank).reversed().drop(while: isBlank).reversed())
  }

  private static func abridged(_ text: String) -> String {
    text.count <= 80 ? text : text.prefix(77) + "..."
  }

  private static func refusal(_ path: String?, _ message: String) -> CutError {
    let remedy = "give it as an authority code such as EPSG:4326, as WKT, or as a PROJ string"
    return path == nil
      ? CutError(.invalidOption, message, remedy: remedy)
      : CutError(.noGeoreference, path: path, message, remedy: "\(remedy), with --crs")
  }

  /// The horizontal part of a compound CRS, or the CRS itself if it is a horizontal one.
  private static func horizontal(_ object: PROJObject, path: String?) throws -> PROJObject {
    let context = object.context
    switch object.type {
    case PJ_TYPE_COMPOUND_CRS:
      guard let part = context.own(proj_crs_get_sub_crs(context.pointer, object.pointer, 0)) else {
        throw refusal(path, "the compound coordinate reference system '\(object.name)' has no horizontal part")
      }
      return try horizontal(part, path: path)
    case PJ_TYPE_BOUND_CRS:
      _ = try horizontal(unbound(object), path: path)
      return object
    case PJ_TYPE_GEOGRAPHIC_2D_CRS, PJ_TYPE_GEOGRAPHIC_3D_CRS, PJ_TYPE_PROJECTED_CRS:
      return object
    default:
      throw refusal(
        path, "the coordinate reference system '\(object.name)' has no relation to longitude and latitude")
    }
  }

  /// The CRS inside a bound one (a CRS that carries its own datum shift).
  private static func unbound(_ crs: PROJObject) -> PROJObject {
    guard crs.type == PJ_TYPE_BOUND_CRS else { return crs }
    return crs.context.own(proj_get_source_crs(crs.context.pointer, crs.pointer)) ?? crs
  }

  /// PROJ would happily place Mars on the map: the datum shift between two planets is "none".
  private static func requireEarth(_ crs: PROJObject, path: String?) throws {
    let context = crs.context
    var semiMajorMetres = 0.0
    if let ellipsoid = context.own(proj_get_ellipsoid(context.pointer, unbound(crs).pointer)) {
      _ = proj_ellipsoid_get_parameters(context.pointer, ellipsoid.pointer, &semiMajorMetres, nil, nil, nil)
    }
    let body = proj_get_celestial_body_name(context.pointer, crs.pointer).map { String(cString: $0) }
    // The ellipsoids and spheres of the Earth in PROJ's database lie between 6,353,000 and 6,378,500 metres.
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

  /// Names and definitions of Web Mercator are too many to list (ESRI's auxiliary sphere, `+nadgrids=@null`, WKT 1 with a
  /// PROJ.4 extension): what counts is that it puts WGS 84 degrees where the formula of EPSG:3857 puts them.
  private static func isWebMercator(_ crs: PROJObject) -> Bool {
    let context = crs.context
    guard let web = context.create("EPSG:3857") else { return false }
    if crs.isEquivalent(to: web) { return true }
    guard let operation = context.own(proj_crs_get_coordoperation(context.pointer, unbound(crs).pointer)) else {
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
