import TileIndex

#if canImport(Darwin)
  import Darwin
#elseif canImport(Musl)
  import Musl
#else
  import Glibc
#endif

/// How probable it is that the next gesture brings a tile onto the screen, for a map at rest.
///
/// A pan goes anywhere, long ones are rarer: the chance falls by e for each ``panLength``. A zoom is centred near the middle, with a normal distribution on both axes; a tile's chance is that of a
/// screen so placed covering it.
struct NextGesture {
  /// The chance of each kind of gesture, by the last one. They are rounded shares of what people did in studies; zooms come in runs.
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

  /// Lengths in short sides of the screen, as are the deviations of a zoom's middle.
  static var panLength: Double { 0.4 }
  static var zoomInDeviation: (across: Double, down: Double) { (0.55, 0.45) }
  static var zoomOutDeviation: (across: Double, down: Double) { (0.3, 0.3) }
  /// Beyond so many tiles a pan has shown its direction in time for a fast source.
  static var nearTiles: Double { 0.65 }

  let viewport: Viewport
  /// Where a zoom in would go; nil for the middle.
  let point: MapPoint?
  var odds: Odds
  /// What remains of the chance of tiles that a fast source can load once a gesture has shown where it goes.
  var laterWeight = 1.0

  /// The tiles that are more probable than a bound, most probable first.
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
      // Half of all pans go the other way.
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

  /// The normal distribution's share below a value.
  private static func normal(_ value: Double) -> Double { 0.5 * erfc(-value / 2.0.squareRoot()) }
}
