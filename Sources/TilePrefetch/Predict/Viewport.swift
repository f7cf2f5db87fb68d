public import TileIndex

#if canImport(Darwin)
  import Darwin
#elseif canImport(Musl)
  import Musl
#else
  import Glibc
#endif

/// The part of the map that a screen shows: a centre, a fractional zoom, and the screen's size.
///
/// For tile matrix sets with a ratio of 2 between zooms and one tile at zoom 0. The map is level with north up; for a
/// tilted or rotated map, give the upright viewport around it.
///
/// Encoded, it has the names of its properties.
public struct Viewport: Hashable, Codable, Sendable {
  /// The centre's column in the world: 0 is the western edge, 1 the eastern. Not wrapped.
  public var x: Double
  /// The centre's row in the world: 0 is the northern edge, 1 the southern.
  public var y: Double
  /// The zoom in pixels: 1 more is twice as large on the screen. Tiles of the nearest integer zoom are shown; halves
  /// round up. On a screen of several pixels a point it is more than the zoom of the map view, ``mapZoom``.
  public var zoom: Double
  /// The width of the screen, in pixels of a tile shown at its own size: ``scale`` times the width in points.
  public var width: Double
  /// The height of the screen, in the same pixels.
  public var height: Double
  /// How many of these pixels a point of the app's coordinates has, in each direction. Functions that take or return
  /// points, and ``mapZoom``, use it; tiles are chosen without it.
  public var scale = 1.0

  /// The side of a tile in pixels.
  public static let tilePixels = 256.0

  /// A view around a point of the world, both sides in pixels of a tile.
  public init(x: Double, y: Double, zoom: Double, width: Double, height: Double) {
    self.x = x
    self.y = y
    self.zoom = zoom
    self.width = width
    self.height = height
  }

  /// The zoom whose tiles are shown.
  public var tileZoom: Int { Int((zoom + 0.5).rounded(.down)) }

  /// True for a view that tiles can be counted for: finite numbers, of a size that maps have.
  package var isUsable: Bool {
    // Beyond these, columns of tiles are no integers of 64 bits.
    let (worldsMax, zooms, pixelsMax) = (exp2(20.0), -40.0...40, exp2(24.0))
    return [x, y, zoom, width, height, scale].allSatisfy(\.isFinite) && abs(x) <= worldsMax && abs(y) <= worldsMax
      && zooms.contains(zoom) && (0...pixelsMax).contains(width) && (0...pixelsMax).contains(height) && scale > 0
  }

  /// The screen's shorter side in units of the world.
  public var shortSide: Double { min(width, height) / Self.tilePixels * exp2(-zoom) }

  /// True for points on the screen.
  public func shows(_ point: MapPoint) -> Bool {
    let unit = exp2(-zoom) / Self.tilePixels / 2
    return abs(point.x - x) <= width * unit && abs(point.y - y) <= height * unit
  }

  /// The tiles on the screen. Columns and rows outside the world are below 0 or beyond the last; no bundle has them.
  public var tiles: TileRange {
    let tileZoom = tileZoom
    let tileCount = exp2(Double(tileZoom))
    let scale = exp2(zoom - Double(tileZoom)) * Self.tilePixels
    // A millionth of a pixel less, so that a tile which only touches the edge does not count as visible.
    let edge = 1e-6 / Self.tilePixels
    let (halfWidth, halfHeight) = (width / 2 / scale, height / 2 / scale)
    return TileRange(
      zoom: tileZoom,
      columns: Self.span(x * tileCount - halfWidth, x * tileCount + halfWidth - edge),
      rows: Self.span(y * tileCount - halfHeight, y * tileCount + halfHeight - edge))
  }

  private static func span(_ first: Double, _ last: Double) -> ClosedRange<Int> {
    let first = Int(first.rounded(.down))
    return first...max(first, Int(last.rounded(.down)))
  }

  /// The viewport moved towards another: 0 is this one, 1 the other. Centre and zoom change linearly, as in animations
  /// of maps.
  public func towards(_ other: Viewport, _ share: Double) -> Viewport {
    var moved = self
    moved.x += (other.x - x) * share
    moved.y += (other.y - y) * share
    moved.zoom += (other.zoom - zoom) * share
    return moved
  }
}

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

  /// The same part of the map in tiles of a zoom that is not the nearest.
  package func inTiles(zoom tileZoom: Int) -> Viewport {
    guard tileZoom != self.tileZoom else { return self }
    var other = self
    other.zoom = Double(tileZoom)
    other.width *= exp2(other.zoom - zoom)
    other.height *= exp2(other.zoom - zoom)
    return other
  }

  /// The same part of the map; of one that is wider than the world, the middle, which has each column of tiles once.
  package var onceAround: Viewport {
    let count = exp2(Double(tileZoom))
    guard zoom.isFinite, count >= 1, Double(tiles.columns.count) > count else { return self }
    var other = self
    other.x = (x * count - count / 2).rounded() / count + 0.5
    // A thousandth of a pixel less, so that rounding does not add a column.
    other.width = exp2(zoom) * Self.tilePixels - 1e-3
    return other
  }

  /// The same part of the map in tiles of a number of pixels.
  package func inTiles(ofPixels pixels: Int) -> Viewport {
    let factor = Double(pixels) / Self.tilePixels
    var other = self
    other.zoom -= log2(factor)
    other.width /= factor
    other.height /= factor
    return other
  }

  /// The part of the viewport within a part of the world; a pixel in its middle where there is none.
  package func within(x: ClosedRange<Double>, y: ClosedRange<Double>) -> Viewport {
    let unit = exp2(-zoom) / Self.tilePixels
    func part(_ middle: Double, _ size: Double, _ range: ClosedRange<Double>) -> (middle: Double, size: Double) {
      let half = size * unit / 2
      let (first, last) = (max(middle - half, range.lowerBound), min(middle + half, range.upperBound))
      return first < last ? ((first + last) / 2, (last - first) / unit) : (middle, 1)
    }
    var other = self
    (other.x, other.width) = part(self.x, width, x)
    (other.y, other.height) = part(self.y, height, y)
    return other
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
  public init(x: Double, y: Double, side: Double) {
    (self.x, self.y, self.side) = (x, y, side)
  }
}

/// A point on the map, in units of the world: 0 to 1 from the west and from the north.
public struct MapPoint: Hashable, Sendable {
  /// From the antimeridian eastward, 0 to 1.
  public var x: Double
  /// From the north, 0 to 1.
  public var y: Double

  /// A point in units of the world.
  public init(x: Double, y: Double) {
    self.x = x
    self.y = y
  }
}

/// What moves the map at the moment, as far as the app knows.
public enum CameraPhase: Hashable, Sendable {
  /// The map does not move.
  case rest
  /// A finger or the mouse; the target is unknown.
  case drag
  /// Two fingers.
  case pinch
  /// The map decelerates after a flick; the app computes where it will stop.
  case fling(target: Viewport)
  /// An animation to a known place: a double tap, a button, a search result.
  case animation(target: Viewport)
  /// GPS fixes move the map.
  case follow

  /// Where the movement will end, if known.
  public var target: Viewport? {
    switch self {
    case .fling(let target), .animation(let target): target
    case .rest, .drag, .pinch, .follow: nil
    }
  }
}

extension TileID {
  /// The tile of WebMercatorQuad that a column beyond the antimeridian repeats.
  package var onEarth: TileID { TileID(unchecked: zoom, column & ((1 << zoom) - 1), row) }
}
