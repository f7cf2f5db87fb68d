public import RegionCatalog
import Support
import TileIndex

/// The area that a map shows. What lies outside is transparent, and pixels on its edge are as opaque as the area covers
/// them.
public struct ClipArea: Hashable, Sendable {
  package var boundary: RegionBoundary
  /// Metres by which the area grows on the ground, on all sides and into its holes.
  package var bufferMetres: Double

  /// The longest buffer.
  package static let bufferMetresMax = 1_000_000.0

  public init(_ boundary: RegionBoundary, bufferMetres: Double = 0) {
    (self.boundary, self.bufferMetres) = (boundary, bufferMetres)
  }

  /// Reads the polygons of a GeoJSON file.
  ///
  /// - Throws: ``CutError`` naming the file and the position in it.
  public init(file path: String, bufferMetres: Double = 0) throws {
    self.init(try RegionBoundary(clipFile: path), bufferMetres: bufferMetres)
  }

  /// The area in pixels of a level of a tile matrix set, in the level's own rows.
  func pixels(_ matrixSet: TileMatrixSet, zoom: Int) -> PixelArea {
    let matrix = matrixSet[zoom]
    func project(_ points: inout [SIMD2<Double>]) {
      for i in points.indices { points[i] = matrix.pixelCoordinates(of: matrixSet.unwrappedPoint(points[i])) }
    }
    func pixels(_ rings: [[SIMD2<Double>]]) -> PixelArea.Shape {
      PixelArea.Shape(
        parts: rings.map { matrixSet.reachable(ring: $0).map { ProjectedRing.pixels($0, project: project) } })
    }
    var shapes = boundary.polygons.map(pixels)
    if bufferMetres > 0 {
      let buffer = GroundBuffer(
        metres: bufferMetres, pixelMetres: matrix.cellSize * matrixSet.metresPerUnit,
        latitudeMax: matrixSet.projection == .webMercator ? 85.06 : 89.5)
      for ring in buffer.rings(around: boundary.polygons) {
        for var part in matrixSet.reachable(ring: ring) {
          project(&part)
          shapes.append(PixelArea.Shape([part]))
        }
      }
    }
    let width = Double(matrix.matrixWidth * matrix.tileWidth)
    if matrixSet.isGlobal { shapes += Self.turned(shapes, by: width) }
    return PixelArea(shapes: shapes, rows: 0..<(matrix.matrixHeight * matrix.tileHeight))
  }

  /// Copies of the shapes that reach beyond the antimeridian, a turn away.
  private static func turned(_ shapes: [PixelArea.Shape], by width: Double) -> [PixelArea.Shape] {
    shapes.flatMap { shape -> [PixelArea.Shape] in
      let xs = shape.rings.joined().joined().map(\.x)
      guard let low = xs.min(), let high = xs.max() else { return [] }
      let turns = (low < 0 ? [width] : []) + (high > width ? [-width] : [])
      return turns.map { turn in
        PixelArea.Shape(parts: shape.rings.map { $0.map { $0.map { SIMD2($0.x + turn, $0.y) } } })
      }
    }
  }
}

extension RegionBoundary {
  /// Reads the polygons of a GeoJSON file.
  ///
  /// - Throws: ``CutError`` naming the file and the position in it.
  package init(clipFile path: String) throws {
    do {
      try self.init(file: path)
    } catch let error as GeoJSONGeometry.Fault {
      throw CutError(
        .badSource, path: path, "\(error)", remedy: "give GeoJSON with a Polygon or MultiPolygon in degrees")
    } catch let error as JSONValue.SyntaxError {
      throw CutError(.badSource, path: path, "is not valid JSON: \(error)", remedy: "give GeoJSON with a polygon")
    } catch {
      throw CutError(
        .unreadableSource, path: path, "cannot be read: \(error)", remedy: "check its name and permissions")
    }
  }
}
