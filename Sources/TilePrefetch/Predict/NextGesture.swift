import LibC
import TileIndex

/// The probability that the next gesture brings a tile onto the screen, for a map at rest.
///
/// A pan goes in any direction, and long ones are rarer: the probability falls by a factor of e for each ``panLength``.
/// A zoom is centred near the middle, normally distributed on both axes; a tile's probability is that of a screen so
/// placed covering it.
struct NextGesture {
  /// The probability of each kind of gesture after the last one: rounded shares from recorded sessions. Zooms tend to
  /// follow zooms.
  struct Odds {
    var pan: Double
    var zoomIn: Double
    var zoomOut: Double

    init(after last: CameraHistory.Gesture) {
      (pan, zoomIn, zoomOut) =
        switch last {
        case .pan: (0.6, 0.25, 0.15)
        case .zoomIn: (0.4, 0.6, 0.04)
        case .zoomOut: (0.4, 0.05, 0.6)
        }
    }
  }

  /// In short sides of the screen, like the standard deviations of a zoom's centre.
  static var panLength: Double { 0.4 }
  static var zoomInDeviation: (across: Double, down: Double) { (0.55, 0.45) }
  static var zoomOutDeviation: (across: Double, down: Double) { (0.3, 0.3) }
  /// From this many tiles on, a pan has shown its direction early enough for a fast source.
  static var nearTiles: Double { 0.65 }

  let viewport: Viewport
  /// The point that a zoom in keeps in place; nil for the middle.
  let point: MapPoint?
  var odds: Odds
  /// The factor for tiles that a fast source can load once the gesture has shown its direction.
  var laterWeight = 1.0

  /// The tiles with a probability above a bound, most probable first.
  func tiles(above chanceMin: Double) -> [TileID] {
    var chances: [(chance: Double, tile: TileID)] = []
    addPan(&chances, chanceMin)
    var inner = viewport
    inner.zoom += 1
    if let point {
      inner.x += (point.x - inner.x) / 2
      inner.y += (point.y - inner.y) / 2
    }
    addZoom(to: inner, odds.zoomIn, Self.zoomInDeviation, &chances, chanceMin)
    var outer = viewport
    outer.zoom -= 1
    if outer.zoom >= 0 { addZoom(to: outer, odds.zoomOut, Self.zoomOutDeviation, &chances, chanceMin) }
    return chances.sorted { ($0.chance, $1.tile) > ($1.chance, $0.tile) }.map(\.tile)
  }

  private func addPan(_ chances: inout [(chance: Double, tile: TileID)], _ chanceMin: Double) {
    let span = ScreenSpan(viewport)
    let visible = viewport.tiles
    let length = Self.panLength * span.side
    for tile in span.range(beyond: 3, 3) where !visible.contains(tile) {
      let gap = span.gap(to: tile)
      // Half of all pans go in the opposite direction.
      let across = visible.columns.contains(tile.column) ? 1 : 0.5 * exp(-max(gap.across, 0) / length)
      let down = visible.rows.contains(tile.row) ? 1 : 0.5 * exp(-max(gap.down, 0) / length)
      let weight = max(gap.across, gap.down) > Self.nearTiles ? laterWeight : 1
      let chance = odds.pan * across * down * weight
      if chance > chanceMin { chances.append((chance, tile)) }
    }
  }

  private func addZoom(
    to goal: Viewport, _ odds: Double, _ deviation: (across: Double, down: Double),
    _ chances: inout [(chance: Double, tile: TileID)], _ chanceMin: Double
  ) {
    guard odds > chanceMin else { return }
    let span = ScreenSpan(goal)
    let across = deviation.across * span.side
    let down = deviation.down * span.side
    for tile in span.range(beyond: 2 * across, 2 * down) {
      let column = Double(tile.column) - span.column
      let row = Double(tile.row) - span.row
      let inColumn =
        Self.normal((column + 1 + span.halfWidth) / across) - Self.normal((column - span.halfWidth) / across)
      let inRow = Self.normal((row + 1 + span.halfHeight) / down) - Self.normal((row - span.halfHeight) / down)
      let chance = odds * inColumn * inRow
      if chance > chanceMin { chances.append((chance, tile)) }
    }
  }

  /// The cumulative distribution function of the standard normal distribution.
  private static func normal(_ value: Double) -> Double { 0.5 * erfc(-value / 2.0.squareRoot()) }
}

/// A viewport in tiles of its zoom.
struct ScreenSpan {
  let zoom: Int
  /// The centre, in columns and rows.
  let column: Double
  let row: Double
  let halfWidth: Double
  let halfHeight: Double
  /// The shorter side.
  let side: Double

  init(_ viewport: Viewport) {
    zoom = viewport.tileZoom
    let tileCount = exp2(Double(zoom))
    let pixels = exp2(viewport.zoom - Double(zoom)) * Viewport.tilePixels
    column = viewport.x * tileCount
    row = viewport.y * tileCount
    halfWidth = viewport.width / 2 / pixels
    halfHeight = viewport.height / 2 / pixels
    side = min(viewport.width, viewport.height) / pixels
  }

  /// The tiles on the screen and up to the given distances beyond each edge.
  func range(beyond columns: Double, _ rows: Double) -> TileRange {
    TileRange(
      zoom: zoom,
      columns: Int((column - halfWidth - columns).rounded(.down))...Int((column + halfWidth + columns).rounded(.down)),
      rows: Int((row - halfHeight - rows).rounded(.down))...Int((row + halfHeight + rows).rounded(.down)))
  }

  /// A tile's distance from the edges of the screen, across and down, in tiles; negative where they overlap.
  func gap(to tile: TileID) -> (across: Double, down: Double) {
    (
      max(Double(tile.column) - column - halfWidth, column - halfWidth - Double(tile.column + 1)),
      max(Double(tile.row) - row - halfHeight, row - halfHeight - Double(tile.row + 1))
    )
  }
}
