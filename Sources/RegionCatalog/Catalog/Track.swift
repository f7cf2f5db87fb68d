import Support
import TileIndex

/// A route or recorded track: lines of longitudes and latitudes in degrees. A line of one point is a waypoint.
public struct Track: Hashable, Sendable {
  /// Lines of longitudes and latitudes in degrees.
  public var lines: [[SIMD2<Double>]]

  /// A track of lines of longitudes and latitudes in degrees.
  public init(lines: [[SIMD2<Double>]]) { self.lines = lines }
}

extension Track {
  /// Reads a GPX or GeoJSON file.
  ///
  /// - Throws: ``TrackError``.
  public init(path: String) throws {
    lines = try FeatureFile.features(path: path, properties: []).flatMap { Self.lines($0.geometry) }
    guard lines.contains(where: { !$0.isEmpty }) else {
      throw TrackError(path: path, "has no points", remedy: "export the track with its points")
    }
  }
}

extension Track {
  /// The points and lines of a geometry; rings of polygons count as lines.
  private static func lines(_ geometry: GeoJSONGeometry) -> [[SIMD2<Double>]] {
    switch geometry {
    case .points(let points): points.map { [$0] }
    case .lines(let lines): lines
    case .polygons(let polygons): polygons.flatMap(\.rings)
    case .collection(let parts): parts.flatMap(lines)
    }
  }

  /// The tiles of a zoom that the track crosses. Segments are straight in the grid's projection, and cross the
  /// antimeridian where that is shorter.
  ///
  /// - Complexity: O(points and tiles crossed).
  func tiles(zoom: Int, in matrixSet: TileMatrixSet) -> Set<TileID> {
    let matrix = matrixSet[zoom]
    let width = Double(matrix.matrixWidth)
    var tiles: Set<TileID> = []
    func add(_ row: Int, _ columns: ClosedRange<Int>) {
      // The southern edge of the world belongs to the last row.
      let row = min(row, matrix.matrixHeight - 1)
      guard row >= 0 else { return }
      for column in columns.clamped(to: -matrix.matrixWidth...2 * matrix.matrixWidth) {
        let turned = matrixSet.isGlobal ? (column + matrix.matrixWidth) % matrix.matrixWidth : column
        tiles.insert(TileID(unchecked: zoom, turned, row))
      }
    }
    for line in lines.flatMap({ matrixSet.reachable(line: $0) }) {
      var last: SIMD2<Double>?
      for point in line where abs(point.y) <= 90 && point.x.isFinite {
        let place = matrixSet.tileCoordinates(longitude: point.x, latitude: point.y, zoom: zoom)
        var end = place
        if let last, matrixSet.isGlobal, abs(place.x - last.x) > width / 2 {
          end.x += place.x < last.x ? width : -width
        }
        LineTiles.forEachRow(from: last ?? place, to: end, add)
        last = place
      }
    }
    return tiles
  }
}
