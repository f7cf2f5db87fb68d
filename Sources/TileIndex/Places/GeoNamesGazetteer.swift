/// Reads places from tables of geonames.org: UTF-8, one place a line, 19 tab-separated columns, as described in their
/// readme.txt.
enum GeoNamesGazetteer {
  private static let columnCount = 19
  private static let (nameColumn, latitudeColumn, longitudeColumn) = (1, 4, 5)
  private static let (classColumn, codeColumn, populationColumn) = (6, 7, 14)

  static func places(_ bytes: ArraySlice<UInt8>, path: String) throws -> [Place] {
    var places: [Place] = []
    var number = 0
    for line in bytes.split(separator: UInt8(ascii: "\n"), omittingEmptySubsequences: false) {
      number += 1
      let line = line.last == UInt8(ascii: "\r") ? line.dropLast() : line
      // GeoNames' own tables have comment lines.
      if line.isEmpty || line.first == UInt8(ascii: "#") { continue }
      places.append(try place(line) { GazetteerError(path: path, place: "line \(number)", $0, remedy: $1) })
    }
    return places
  }

  private static func place(
    _ line: ArraySlice<UInt8>, _ malformed: (String, String) -> GazetteerError
  ) throws -> Place {
    let cells = line.split(separator: UInt8(ascii: "\t"), omittingEmptySubsequences: false)
    guard cells.count == columnCount else {
      throw malformed(
        "has \(cells.count) columns instead of \(columnCount)",
        "give GeoJSON, or a table of geonames.org such as US.txt, with tabs between the columns")
    }
    func text(_ column: Int) throws -> String {
      guard let text = String(validating: cells[column], as: UTF8.self) else {
        throw malformed("column \(column + 1) is not UTF-8", "convert the file with iconv")
      }
      return text
    }
    func degrees(_ column: Int, _ name: String, _ limit: Double) throws -> Double {
      let word = try text(column)
      guard let value = Double(word), abs(value) <= limit else {
        throw malformed("the \(name) \"\(word.prefix(20))\" is none", "degrees are wanted in column \(column + 1)")
      }
      return value
    }
    let code = try text(codeColumn)
    let populationText = try text(populationColumn)
    guard let population = populationText.isEmpty ? 0 : Double(populationText), population.isFinite else {
      throw malformed("the population \"\(populationText.prefix(20))\" is no number", "correct column 15")
    }
    let meaning = GeoNamesFeature(class: try text(classColumn), code: code, population: population)
    let place = Place(
      name: try text(nameColumn), kind: meaning.kind, longitude: try degrees(longitudeColumn, "longitude", 180),
      latitude: try degrees(latitudeColumn, "latitude", 90), importance: meaning.importance)
    if let fault = place.fault { throw malformed(fault, "correct the line, or leave it out") }
    return place
  }
}

/// The kind and importance of a GeoNames feature class and code (geonames.org/export/codes.html).
struct GeoNamesFeature {
  let kind: String
  /// From 0 to 1.
  let importance: Double

  init(class featureClass: String, code: String, population: Double) {
    let (kind, base) = Self.meaning(featureClass, code, population)
    self.kind = kind
    importance = min(max(base, PlaceImportance.ofPopulation(population)), 1)
  }

  /// The kind, and the minimum importance of its places.
  private static func meaning(_ featureClass: String, _ code: String, _ population: Double) -> (String, Double) {
    if let known = codes[code] { return known }
    switch featureClass {
    case "A": return code.hasPrefix("ADM") ? ("district", 0.3) : ("area", 0.2)
    case "P": return settlement(population)
    case "H": return ("water", 0.1)
    case "L": return ("area", 0.15)
    case "R": return ("road", 0.05)
    case "S": return ("building", 0.05)
    case "T": return ("terrain", 0.1)
    case "U": return ("undersea", 0.05)
    case "V": return ("forest", 0.1)
    default: return ("", 0)
    }
  }

  private static func settlement(_ population: Double) -> (String, Double) {
    if population >= 100_000 { return ("city", 0.3) }
    if population >= 5_000 { return ("town", 0.2) }
    return (population > 0 ? "village" : "settlement", 0.1)
  }

  private static let codes: [String: (String, Double)] = [
    "PCLI": ("country", 0.9), "PCLD": ("country", 0.7), "ADM1": ("state", 0.7), "ADM2": ("county", 0.4),
    "PPLC": ("capital", 0.6), "PPLA": ("city", 0.4), "PPLX": ("quarter", 0.1), "PPLQ": ("abandoned settlement", 0.05),
    "AIRP": ("airport", 0.3), "RSTN": ("railway station", 0.15), "PRK": ("park", 0.3), "RESN": ("nature reserve", 0.2),
    "CMPG": ("campground", 0.1), "TRL": ("trail", 0.1), "OVLK": ("viewpoint", 0.1), "SCH": ("school", 0.05),
    "CH": ("church", 0.05), "HSP": ("hospital", 0.1), "MUS": ("museum", 0.1), "DAM": ("dam", 0.1),
    "LK": ("lake", 0.2), "LKS": ("lakes", 0.2), "RSV": ("reservoir", 0.15), "STM": ("stream", 0.1),
    "FLLS": ("waterfall", 0.2), "GLCR": ("glacier", 0.2), "BAY": ("bay", 0.15), "SPNG": ("spring", 0.05),
    "SEA": ("sea", 0.6), "OCN": ("ocean", 0.9), "MT": ("peak", 0.2), "PK": ("peak", 0.2), "MTS": ("mountains", 0.3),
    "PASS": ("pass", 0.2), "GAP": ("pass", 0.15), "VAL": ("valley", 0.1), "CNYN": ("canyon", 0.15),
    "ISL": ("island", 0.25), "ISLS": ("islands", 0.25), "CAPE": ("cape", 0.15), "VLC": ("volcano", 0.3),
    "DSRT": ("desert", 0.4), "FRST": ("forest", 0.15),
  ]
}
