import Support

/// An area in degrees: a box, polygons, or both. It selects the tiles and places of an extract.
public struct TileArea: Hashable, Sendable {
  /// A west greater than the east crosses the antimeridian. Nil for no limit.
  public let bounds: BoundingBox?
  let polygons: [Polygon]

  /// The whole map.
  package static let everywhere = TileArea(bounds: nil, polygons: [])

  /// The tiles that touch a box.
  public init(bounds: BoundingBox) { self.init(bounds: bounds, polygons: []) }

  /// The area inside the box, if any, and inside one of the polygons, if any.
  package init(bounds: BoundingBox?, polygons: [Polygon]) { (self.bounds, self.polygons) = (bounds, polygons) }

  /// Reads the polygons of a GeoJSON file: a geometry, a feature or a collection of features.
  ///
  /// - Throws: ``BundleError`` with `.notFound`, or `.malformed` with the line or the position in the document.
  package init(bounds: BoundingBox? = nil, polygonFile path: String) throws {
    do {
      self.init(bounds: bounds, polygons: try GeoJSONGeometry.polygons(in: try ReadOnlyFile(path)))
    } catch let error as FileSystem.SystemError {
      throw BundleError.unopened(error, path: path)
    } catch is ReadOnlyFile.NotAFile {
      throw BundleError(.malformed, path: path, "is not a plain file", remedy: "name a GeoJSON file")
    } catch let error as JSONValue.SyntaxError {
      throw BundleError(.malformed, path: path, "is not valid JSON: \(error)", remedy: "give GeoJSON with a polygon")
    } catch {
      throw BundleError(.malformed, path: path, "\(error)", remedy: "give GeoJSON with a Polygon or MultiPolygon")
    }
  }

  /// True when the area has no limit.
  var isEverywhere: Bool { bounds == nil && polygons.isEmpty }

  /// The smallest box around the area; nil for everywhere, or when box and polygons do not intersect.
  var box: BoundingBox? {
    guard let first = polygons.first else { return bounds }
    let around = polygons.dropFirst().reduce(first.bounds) { $0.union($1.bounds) }
    // A box across the antimeridian has no simple intersection; the box of the polygons describes the area well enough.
    guard let bounds, bounds.west <= bounds.east else { return around }
    return bounds.intersection(around)
  }

  /// The rectangles of a zoom that contain every tile of the area.
  func ranges(zoom: Int, in matrixSet: TileMatrixSet) -> [TileRange] {
    if isEverywhere { return [matrixSet.wholeRange(zoom: zoom)] }
    let inBox = bounds.map { matrixSet.ranges(covering: $0, zoom: zoom) }
    guard !polygons.isEmpty else { return inBox ?? [] }
    // One rectangle around all polygons, since rectangles of single polygons would overlap.
    let around = polygons.flatMap { matrixSet.ranges(covering: $0.bounds, zoom: zoom) }
    guard let first = around.first else { return [] }
    let hull = around.dropFirst().reduce(first) { $0.union($1) }
    return inBox?.compactMap { $0.intersection(hull) } ?? [hull]
  }

  /// True when a tile in one of ``ranges(zoom:in:)`` intersects the area.
  func contains(_ tile: TileID, in matrixSet: TileMatrixSet) -> Bool {
    guard !polygons.isEmpty else { return true }
    let whole = matrixSet.geographicBounds(of: tile)
    // Only the part of the tile inside the box counts: box and polygons may intersect it at different ends.
    let boxes = bounds.map { TileMatrixSet.splitAtAntimeridian($0).compactMap(whole.intersection) } ?? [whole]
    return polygons.contains { polygon in
      boxes.contains { polygon.intersects($0) || polygon.isBeyondAntimeridian && polygon.intersectsTurned($0) }
    }
  }

  /// True when a position lies in the area.
  package func contains(longitude: Double, latitude: Double) -> Bool {
    let point = SIMD2(longitude, latitude)
    let inBox = bounds.map { box in TileMatrixSet.splitAtAntimeridian(box).contains { $0.contains(point) } } ?? true
    guard inBox, !polygons.isEmpty else { return inBox }
    let turns: [Double] = [0, 360, -360]
    return polygons.contains { polygon in
      turns.contains { polygon.contains(SIMD2(longitude + $0, latitude)) }
    }
  }
}

extension Polygon {
  fileprivate var isBeyondAntimeridian: Bool { bounds.west < -180 || bounds.east > 180 }

  /// Tests the box shifted by a whole turn east or west.
  fileprivate func intersectsTurned(_ box: BoundingBox) -> Bool {
    [360.0, -360].contains { turn in
      intersects(
        BoundingBox(west: box.west + turn, south: box.south, east: box.east + turn, north: box.north))
    }
  }
}
