import LibC
public import TileIndex

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

  /// The zoom whose tiles are shown: from -40 to 40, whatever ``zoom`` is.
  package var tileZoom: Int { Int((possibleZoom + 0.5).rounded(.down)) }

  /// The nearest zoom whose tiles can be counted.
  private var possibleZoom: Double {
    zoom.isNaN ? 0 : min(max(zoom, Self.zooms.lowerBound), Self.zooms.upperBound)
  }

  private static var zooms: ClosedRange<Double> { -40...40 }

  /// True for finite numbers; also their sum is finite then, unless they are larger than any map.
  private var isFinite: Bool { (x + y + zoom + width + height + scale).isFinite }

  /// True for a view that tiles can be counted for: finite numbers, of a size that maps have.
  package var isUsable: Bool {
    // Beyond these, columns of tiles are no integers of 64 bits.
    let (worldsMax, pixelsMax) = (exp2(20.0), exp2(24.0))
    return isFinite && abs(x) <= worldsMax && abs(y) <= worldsMax
      && Self.zooms.contains(zoom) && (0...pixelsMax).contains(width) && (0...pixelsMax).contains(height) && scale > 0
  }

  /// The screen's shorter side in units of the world.
  package var shortSide: Double { min(width, height) / Self.tilePixels * exp2(-zoom) }

  /// True for points on the screen.
  package func shows(_ point: MapPoint) -> Bool {
    let unit = exp2(-zoom) / Self.tilePixels / 2
    return abs(point.x - x) <= width * unit && abs(point.y - y) <= height * unit
  }

  /// The tiles on the screen. Columns and rows outside the world are below 0 or beyond the last; no bundle has them. A
  /// viewport with a number that is not finite has one such tile. Of a larger one than any map has, it is a part with
  /// at most 2^31 + 1 columns and rows.
  public var tiles: TileRange {
    let tileZoom = tileZoom
    guard isFinite else { return TileRange(zoom: tileZoom, columns: -1 ... -1, rows: -1 ... -1) }
    let tileCount = exp2(Double(tileZoom))
    let scale = exp2(possibleZoom - Double(tileZoom)) * Self.tilePixels
    return TileRange(
      zoom: tileZoom, columns: Self.span(x * tileCount, width / 2 / scale),
      rows: Self.span(y * tileCount, height / 2 / scale))
  }

  /// The tiles up to a distance from a middle, both in tiles.
  private static func span(_ middle: Double, _ half: Double) -> ClosedRange<Int> {
    // Beyond these, first and last are no integers of 64 bits, or the tiles of such columns and rows are too many.
    let (middle, half) = (min(max(middle, -exp2(60.0)), exp2(60.0)), min(max(half, 0), exp2(30.0)))
    // A millionth of a pixel less, so that a tile which only touches the edge does not count as visible.
    let edge = 1e-6 / Self.tilePixels
    let first = Int((middle - half).rounded(.down))
    return first...max(first, Int((middle + half - edge).rounded(.down)))
  }

  /// The viewport moved towards another: 0 is this one, 1 the other. Centre and zoom change linearly, as in animations
  /// of maps.
  package func towards(_ other: Viewport, _ share: Double) -> Viewport {
    var moved = self
    moved.x += (other.x - x) * share
    moved.y += (other.y - y) * share
    moved.zoom += (other.zoom - zoom) * share
    return moved
  }
}

extension Viewport {
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

extension TileID {
  /// The tile of WebMercatorQuad that a column beyond the antimeridian repeats.
  package var onEarth: TileID { TileID(unchecked: zoom, column & ((1 << zoom) - 1), row) }
}
