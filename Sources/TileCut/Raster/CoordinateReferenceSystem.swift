/// A coordinate reference system that PROJ knows. (Contract; the Raster work fills it in.)
package struct CoordinateReferenceSystem: Hashable, Sendable {
  /// What PROJ makes it from: `EPSG:3857`, WKT, or a PROJ string.
  package let definition: String
  package init(definition: String) { self.definition = definition }
}
