public import TileIndex

#if canImport(Darwin)
  import Darwin
#elseif canImport(Musl)
  import Musl
#else
  import Glibc
#endif

/// What part of the map a screen shows: a point of the world in the middle, a zoom that need not be whole, and the screen's size.
///
/// For tile matrix sets that step by 2 from one tile at zoom 0. The map lies level with north up; a tilted or turned map is given as the upright viewport around it.
public struct Viewport: Hashable, Sendable {
  /// The middle's column in the world: 0 is the western edge, 1 the eastern. Not wrapped.
  public var x: Double
  /// The middle's row in the world: 0 is the northern edge, 1 the southern.
  public var y: Double
  /// The zoom: 1 more is twice as large on the screen. Tiles of the nearest whole zoom are shown, halves round up.
  public var zoom: Double
  /// The screen, in pixels of a tile shown at its own size.
  public var width: Double
  public var height: Double

  /// The side of a tile in pixels.
  public static let tilePixels = 256.0

  public init(x: Double, y: Double, zoom: Double, width: Double, height: Double) {
    self.x = x
    self.y = y
    self.zoom = zoom
    self.width = width
    self.height = height
  }

  /// The zoom whose tiles are shown.
  public var tileZoom: Int { Int((zoom + 0.5).rounded(.down)) }

  /// The screen's shorter side in units of the world.
  public var shortSide: Double { min(width, height) / Self.tilePixels * exp2(-zoom) }

  /// True for places on the screen.
  public func shows(_ point: MapPoint) -> Bool {
    let unit = exp2(-zoom) / Self.tilePixels / 2
    return abs(point.x - x) <= width * unit && abs(point.y - y) <= height * unit
  }

  /// The tiles on the screen. Outside the world there are columns and rows below 0 and beyond the last, which no bundle has.
  public var tiles: TileRange {
    let tileZoom = tileZoom
    let tileCount = exp2(Double(tileZoom))
    let scale = exp2(zoom - Double(tileZoom)) * Self.tilePixels
    // A millionth of a pixel less: a tile that only touches the edge is not on the screen.
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

  /// The viewport moved towards another: 0 is here, 1 there. The middle and the zoom change evenly, as with maps' animations.
  public func towards(_ other: Viewport, _ share: Double) -> Viewport {
    var moved = self
    moved.x += (other.x - x) * share
    moved.y += (other.y - y) * share
    moved.zoom += (other.zoom - zoom) * share
    return moved
  }
}
