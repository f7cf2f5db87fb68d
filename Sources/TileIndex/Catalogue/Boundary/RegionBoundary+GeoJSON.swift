package import Support

extension RegionBoundary {
  /// Takes the polygons of a document: of a Polygon or MultiPolygon, or a Feature, FeatureCollection or GeometryCollection of them (RFC 7946, section 3.1).
  ///
  /// - Throws: ``GeoJSONGeometry/Fault``, also for positions beyond ±180 degrees, which would make edges across the whole world.
  package init(geoJSON value: JSONValue) throws(GeoJSONGeometry.Fault) {
    let polygons = try GeoJSONGeometry.polygons(in: value)
    for (index, polygon) in polygons.enumerated() where polygon.bounds.west < -180 || polygon.bounds.east > 180 {
      throw GeoJSONGeometry.Fault(
        place: "document",
        message: "goes on beyond the antimeridian in polygon \(index + 1), which should be cut in two there")
    }
    self.init(polygons: polygons.map(\.rings))
  }
}
