package import TileIndex

/// An estimate, from its requests, of what one client's map shows: a rectangle of tiles that moves when tiles beyond
/// its edge are requested.
///
/// A map requests all tiles of its screen when it opens or changes its zoom, and after that only those that come into
/// view. So the first tiles of a zoom that follow each other quickly define the rectangle. Each later tile outside
/// moves it, and the velocity of these moves is that of the map.
package struct ClientView: Hashable, Sendable {
  /// The tiles on the screen.
  package private(set) var visible: TileRange
  /// Tiles a second, to the east and to the south.
  package private(set) var motion = SIMD2<Double>(0, 0)
  private var firstTime: Double
  private var lastTime: Double
  private var lastPush: Double

  /// A screen's tiles are requested within this many seconds, also over a slow connection.
  private static let openingSeconds = 1.0
  /// The maximum width and height of a screen: 16 tiles are 4096 pixels.
  private static let edgeMax = 16
  /// A map whose rectangle did not move for this long is at rest.
  package static let restSeconds = 1.5

  package init(_ tile: TileID, at seconds: Double) {
    visible = TileRange(zoom: tile.zoom, columns: tile.column...tile.column, rows: tile.row...tile.row)
    (firstTime, lastTime, lastPush) = (seconds, seconds, seconds)
  }

  /// Processes a request.
  ///
  /// - Parameter seconds: of a clock that does not run backwards.
  package mutating func note(_ tile: TileID, at seconds: Double) {
    defer { lastTime = max(lastTime, seconds) }
    let columns = Self.reach(visible.columns, tile.column)
    let rows = Self.reach(visible.rows, tile.row)
    // Another zoom, or a jump: another screen.
    guard tile.zoom == visible.zoom, columns.count <= 2 * Self.edgeMax, rows.count <= 2 * Self.edgeMax else {
      self = ClientView(tile, at: seconds)
      return
    }
    if seconds - firstTime <= Self.openingSeconds, columns.count <= Self.edgeMax, rows.count <= Self.edgeMax {
      visible = TileRange(zoom: tile.zoom, columns: columns, rows: rows)
      return
    }
    let push = SIMD2(
      Double(Self.slide(visible.columns, tile.column)), Double(Self.slide(visible.rows, tile.row)))
    guard push != SIMD2(0, 0) else { return }
    visible = TileRange(
      zoom: tile.zoom, columns: Self.slid(visible.columns, Int(push.x)), rows: Self.slid(visible.rows, Int(push.y)))
    // A row of tiles is requested at once: the time since the last move, but no less than a frame or two.
    let passed = max(seconds - lastPush, 0.05)
    let speed = push / passed
    // Older motion counts less; after a rest it does not count at all.
    let old = seconds - lastPush > Self.restSeconds ? 0.0 : 0.5
    motion = motion * old + speed * (1 - old)
    lastPush = seconds
  }

  /// True while the map moves.
  package func isMoving(at seconds: Double) -> Bool { motion != SIMD2(0, 0) && seconds - lastPush <= Self.restSeconds }

  /// When the last request came.
  package var lastSeen: Double { lastTime }

  private static func reach(_ range: ClosedRange<Int>, _ place: Int) -> ClosedRange<Int> {
    min(range.lowerBound, place)...max(range.upperBound, place)
  }

  private static func slide(_ range: ClosedRange<Int>, _ place: Int) -> Int {
    place < range.lowerBound ? place - range.lowerBound : place > range.upperBound ? place - range.upperBound : 0
  }

  private static func slid(_ range: ClosedRange<Int>, _ by: Int) -> ClosedRange<Int> {
    (range.lowerBound + by)...(range.upperBound + by)
  }
}
