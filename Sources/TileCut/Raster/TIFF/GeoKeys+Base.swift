import CPROJ
import CTIFFShim

extension GeoKeys {
  /// The base geographic CRS, by the most exact statement in the keys:
  ///
  /// 1. the code of a geographic CRS;
  /// 2. the code of a datum, as files of Ordnance Survey and of Japan have it;
  /// 3. the name of a geographic CRS or of a datum that PROJ's database has with the same ellipsoid;
  /// 4. the ellipsoid.
  ///
  /// The datum must be known, because its shift to WGS 84 is up to several hundred metres. If the keys state the shift
  /// itself, it is used with 2 to 4, as GDAL does.
  func base(_ definition: ctiff_geo_definition) -> PROJObject? {
    if Self.isCode(Int(definition.gcs)), let crs = context.create("EPSG:\(definition.gcs)") { return crs }
    guard let crs = ofDatumCode(definition) ?? ofName(definition) ?? ofEllipsoid(definition) else { return nil }
    return shifted(crs) ?? crs
  }

  private func ofDatumCode(_ definition: ctiff_geo_definition) -> PROJObject? {
    let code = Int(definition.datum)
    guard Self.isCode(code),
      let datum = context.registered(code, PJ_CATEGORY_DATUM) ?? context.registered(code, PJ_CATEGORY_DATUM_ENSEMBLE)
    else { return nil }
    return crs(of: datum, definition)
  }

  /// By the names in `NAD27` or `GCS Name = GCS_North_American_1927|Datum = D_North_American_1927|...`.
  private func ofName(_ definition: ctiff_geo_definition) -> PROJObject? {
    guard let citation = text(.geographicCitation) else { return nil }
    func field(_ name: String) -> String? {
      citation.firstRange(of: "\(name) = ").map { String(citation[$0.upperBound...].prefix { $0 != "|" }) }
    }
    let name = field("GCS Name") ?? String(citation.prefix { $0 != "|" })
    if let crs = named(name, [PJ_TYPE_GEOGRAPHIC_2D_CRS], definition) { return crs }
    let types = [PJ_TYPE_GEODETIC_REFERENCE_FRAME, PJ_TYPE_DYNAMIC_GEODETIC_REFERENCE_FRAME]
    return field("Datum").flatMap { named($0, types, definition) }.flatMap { crs(of: $0, definition) }
  }

  /// The first object of that name, or with that alias, whose ellipsoid is the keys': an equal name alone may be a
  /// coincidence.
  private func named(_ name: String, _ types: [PJ_TYPE], _ definition: ctiff_geo_definition) -> PROJObject? {
    let (major, minor) = (definition.semi_major_metres, definition.semi_minor_metres)
    return context.objects(named: name, types: types, isApproximate: false, limit: 4).first { object in
      guard let axes = object.axes else { return false }
      return major == 0 || (abs(axes.major - major) < 1 && abs(axes.minor - minor) < 1)
    }
  }

  private func ofEllipsoid(_ definition: ctiff_geo_definition) -> PROJObject? {
    let (major, minor) = (definition.semi_major_metres, definition.semi_minor_metres)
    guard major > 0, minor > 0 else { return nil }
    var string = "+proj=longlat +a=\(major) +b=\(minor)"
    if definition.prime_meridian_degrees != 0 { string += " +pm=\(definition.prime_meridian_degrees)" }
    return context.create(string)
  }

  /// Longitude and latitude of a datum, in the keys' angular unit and from their prime meridian.
  private func crs(of datum: PROJObject, _ definition: ctiff_geo_definition) -> PROJObject? {
    guard var json = datum.json else { return nil }
    let meridian = definition.prime_meridian_degrees
    if meridian != 0, !json.contains("\"prime_meridian\""), json.hasSuffix("}") {
      json = json.dropLast() + #","prime_meridian":{"name":"of the file","longitude":\#(meridian)}}"#
    }
    let degrees = definition.angle_unit_degrees
    let unit =
      degrees == 0 || abs(degrees - 1) < 1e-9
      ? #""degree""# : #"{"type":"AngularUnit","name":"of the file","conversion_factor":\#(degrees * .pi / 180)}"#
    let member = datum.type == PJ_TYPE_DATUM_ENSEMBLE ? "datum_ensemble" : "datum"
    return context.create(
      """
      {"type":"GeographicCRS","name":"\(Self.quotable(datum.name))","\(member)":\(json),
      "coordinate_system":{"subtype":"ellipsoidal","axis":[
      {"name":"Longitude","abbreviation":"lon","direction":"east","unit":\(unit)},
      {"name":"Latitude","abbreviation":"lat","direction":"north","unit":\(unit)}]}}
      """)
  }

  /// The CRS with the shift to WGS 84 that the keys state: three translations, or these, three rotations and a scale
  /// (position vector); nil if they state none.
  private func shifted(_ crs: PROJObject) -> PROJObject? {
    let shift = doubles(.toWGS84)
    guard shift.count == 3 || shift.count == 7, let source = crs.json, let target = context.create("EPSG:4326")?.json
    else { return nil }
    let arcSecond = #"{"type":"AngularUnit","name":"arc-second","conversion_factor":4.84813681109536e-06}"#
    let partsPerMillion = #"{"type":"ScaleUnit","name":"parts per million","conversion_factor":1e-06}"#
    let parameters = [
      ("X-axis translation", 8605, #""metre""#), ("Y-axis translation", 8606, #""metre""#),
      ("Z-axis translation", 8607, #""metre""#), ("X-axis rotation", 8608, arcSecond),
      ("Y-axis rotation", 8609, arcSecond), ("Z-axis rotation", 8610, arcSecond),
      ("Scale difference", 8611, partsPerMillion),
    ]
    let list = zip(parameters, shift).map { parameter, value in
      let (name, code, unit) = parameter
      return #"{"name":"\#(name)","value":\#(value),"unit":\#(unit),"id":{"authority":"EPSG","code":\#(code)}}"#
    }
    let (method, code) =
      shift.count == 3
      ? ("Geocentric translations (geog2D domain)", 9603) : ("Position Vector transformation (geog2D domain)", 9606)
    return context.create(
      """
      {"type":"BoundCRS","source_crs":\(source),"target_crs":\(target),"transformation":{
      "name":"shift of the file","method":{"name":"\(method)","id":{"authority":"EPSG","code":\(code)}},
      "parameters":[\(list.joined(separator: ","))]}}
      """)
  }

  /// A name without the characters that end or escape a JSON string.
  static func quotable(_ name: String) -> String {
    name.filter { $0 != "\"" && $0 != "\\" && !$0.isNewline }
  }
}
