import LibC
public import TileIndex

extension Viewport {
  /// The viewport of a map view.
  ///
  /// - Parameters:
  ///   - longitude: of the centre, in degrees.
  ///   - latitude: of the centre, in degrees; clamped to ±85.0511.
  ///   - zoom: of the map view: at zoom 0 the world is 256 points wide, at each further zoom twice as wide. A map view
  ///     whose world has 512 points, as MapLibre's, adds 1. It is ``mapZoom`` afterwards; ``zoom`` is that of pixels.
  ///   - size: of the view, in points.
  ///   - scale: the pixels of the screen for each point; tiles are then chosen so that none of them is enlarged by more
  ///     than half.
  public init(
    longitude: Double, latitude: Double, zoom: Double, size: (width: Double, height: Double), scale: Double = 1
  ) {
    let middle = Self.point(longitude: longitude, latitude: latitude)
    self.init(
      x: middle.x, y: middle.y, zoom: zoom + log2(scale), width: size.width * scale, height: size.height * scale)
    self.scale = scale
  }

  /// The zoom of the map view, as it was passed to ``init(longitude:latitude:zoom:size:scale:)``: ``zoom`` without the
  /// part of ``scale``.
  public var mapZoom: Double { zoom - log2(scale) }

  /// The longitude of the centre in degrees, from -180 to 180 also in a world beside.
  public var longitude: Double { Self.longitude(x) }

  /// The latitude of the centre in degrees.
  public var latitude: Double { Self.latitude(y) }

  private static func longitude(_ x: Double) -> Double {
    TileMatrixSet.wrapped(WebMercator.longitude(x: (2 * x - 1) * WebMercator.halfWorld))
  }

  private static func latitude(_ y: Double) -> Double {
    WebMercator.latitude(y: (1 - 2 * y) * WebMercator.halfWorld)
  }

  private static func point(longitude: Double, latitude: Double) -> MapPoint {
    MapPoint(
      x: (1 + WebMercator.x(longitude: longitude) / WebMercator.halfWorld) / 2,
      y: (1 - WebMercator.y(latitude: latitude) / WebMercator.halfWorld) / 2)
  }

  /// The width of the world in points of the app.
  private var worldPoints: Double { Self.tilePixels * exp2(zoom) / scale }

  /// The place on the map under a point of the screen.
  ///
  /// - Parameters:
  ///   - left: points of the app from the left edge of the view.
  ///   - top: points from its upper edge.
  /// - Returns: degrees; longitudes from -180 to 180. Above and below the map latitudes go on towards the poles.
  public func coordinate(atX left: Double, y top: Double) -> (longitude: Double, latitude: Double) {
    let point = point(atX: left, y: top)
    return (Self.longitude(point.x), Self.latitude(point.y))
  }

  private func point(atX left: Double, y top: Double) -> MapPoint {
    MapPoint(x: x + (left - width / scale / 2) / worldPoints, y: y + (top - height / scale / 2) / worldPoints)
  }

  /// Where the view shows a place, in points of the app from its top left corner. Of the places that repeat beyond the
  /// antimeridian it is the one nearest to the centre. It may lie outside of the view.
  ///
  /// - Parameters:
  ///   - longitude: degrees; wrapped beyond ±180.
  ///   - latitude: degrees; clamped to ±85.0511.
  public func position(longitude: Double, latitude: Double) -> (x: Double, y: Double) {
    let place = Self.point(longitude: longitude, latitude: latitude)
    let turns = (x - place.x).rounded()
    return (
      (place.x + turns - x) * worldPoints + width / scale / 2, (place.y - y) * worldPoints + height / scale / 2
    )
  }

  /// The viewport after the map was moved, as by a finger: what was at the top left corner is then at this position, in
  /// points of the app. Nothing is clamped; an app that must not leave the map keeps ``y`` within 0 and 1.
  public func moved(byX right: Double, y down: Double) -> Viewport {
    var moved = self
    moved.x -= right / worldPoints
    moved.y -= down / worldPoints
    return moved
  }

  /// The viewport after the map was enlarged, as by two fingers: the place under a point of the screen stays there.
  ///
  /// - Parameters:
  ///   - steps: zooms, 1 for twice as large; for a factor `log2(factor)`. Not clamped to zooms of a map.
  ///   - left: points of the app from the left edge of the view.
  ///   - top: points from its upper edge.
  public func zoomed(by steps: Double, aroundX left: Double, y top: Double) -> Viewport {
    let fixed = point(atX: left, y: top)
    var zoomed = self
    zoomed.zoom += steps
    let share = exp2(-steps)
    zoomed.x = fixed.x + (x - fixed.x) * share
    zoomed.y = fixed.y + (y - fixed.y) * share
    return zoomed
  }

  /// Where the view shows a tile, in points from its top left corner.
  public func frame(of tile: TileID) -> ScreenFrame {
    let side = exp2(-Double(tile.zoom))
    return ScreenFrame(
      x: (Double(tile.column) * side - x) * worldPoints + width / scale / 2,
      y: (Double(tile.row) * side - y) * worldPoints + height / scale / 2, side: side * worldPoints)
  }
}

/// A square on the screen, in points from the top left corner of a view.
public struct ScreenFrame: Hashable, Sendable {
  /// The left edge, in points from the left of the view.
  public var x: Double
  /// The upper edge, in points from the top of the view.
  public var y: Double
  /// The length of its edges.
  public var side: Double

  /// A square on the screen, in points.
  package init(x: Double, y: Double, side: Double) {
    (self.x, self.y, self.side) = (x, y, side)
  }
}
