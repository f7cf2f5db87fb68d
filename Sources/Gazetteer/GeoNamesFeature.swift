/// What GeoNames' feature class and code (geonames.org/export/codes.html) say in words, and what they make of a place's importance.
struct GeoNamesFeature {
  let kind: String
  /// From 0 to 1.
  let importance: Double

  init(class featureClass: String, code: String, population: Double) {
    let (kind, base) = Self.meaning(featureClass, code, population)
    self.kind = kind
    importance = min(max(base, PlaceImportance.ofPopulation(population)), 1)
  }

  /// The word for a place, and how important the least of its kind is.
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
