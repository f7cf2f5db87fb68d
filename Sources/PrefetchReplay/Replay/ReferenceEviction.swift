import TileIndex
import TilePrefetch

/// The eviction that the reference policy is known with: the larger of the distances across and down, 0.9 for a zoom, 1.5 for the age.
struct ReferenceEviction: EvictionPolicy {
  func rank(of tile: TileID, age: Double, focuses: [MapFocus]) -> Double {
    guard let focus = focuses.first else { return age }
    if focus.wanted[tile] != nil { return -1e9 + age }
    let (across, down) = focus.distance(to: tile)
    return max(across, down) + 0.9 * Double(abs(focus.around.zoom - tile.zoom)) + 1.5 * age
  }
}
