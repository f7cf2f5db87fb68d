import TileIndex

#if canImport(Darwin)
  import Darwin
#elseif canImport(Musl)
  import Musl
#else
  import Glibc
#endif

/// A viewport in tiles of its zoom.
struct ScreenSpan {
  let zoom: Int
  /// The middle, in columns and rows.
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

  /// The range of tiles that reaches so many tiles beyond each edge.
  func range(beyond columns: Double, _ rows: Double) -> TileRange {
    TileRange(
      zoom: zoom,
      columns: Int((column - halfWidth - columns).rounded(.down))...Int((column + halfWidth + columns).rounded(.down)),
      rows: Int((row - halfHeight - rows).rounded(.down))...Int((row + halfHeight + rows).rounded(.down)))
  }

  /// How far a tile lies beyond the edges, across and down, in tiles; negative where it reaches onto the screen.
  func gap(to tile: TileID) -> (across: Double, down: Double) {
    (
      max(Double(tile.column) - column - halfWidth, column - halfWidth - Double(tile.column + 1)),
      max(Double(tile.row) - row - halfHeight, row - halfHeight - Double(tile.row + 1))
    )
  }
}
