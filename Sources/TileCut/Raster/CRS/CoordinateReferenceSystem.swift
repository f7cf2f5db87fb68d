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
    let facts = try CRSFacts(text: definition, path: path)
    self.init(
      definition: facts.definition, name: facts.name, isGeographic: facts.isGeographic, unit: facts.unit,
      unitFactor: facts.unitFactor, isWebMercator: facts.isWebMercator, isWGS84LongLat: facts.isWGS84LongLat)
  }
}
