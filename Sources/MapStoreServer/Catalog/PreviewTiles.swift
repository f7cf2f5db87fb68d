import RegionCatalog
import Support
import TileIndex

/// Which of a region's tiles everybody may see: those of coarse zooms, for the preview on its page.
///
/// A free zoom is at least three coarser than the deepest, so that it has a 64th of its pixels at most, and has few
/// tiles. A region of fewer zooms has none.
struct PreviewTiles: Hashable, Sendable {
  let zooms: ClosedRange<Int>

  static let zoomsWithheld = 3
  static let tilesMax = 64

  /// Nil for regions whose tiles the pages cannot lay side by side: of other grids than web maps', and vector tiles.
  init?(of region: Catalog.Region) {
    guard region.matrixSet == .webMercatorQuad, region.format != .pbf else { return nil }
    let deepest = region.maxzoom - Self.zoomsWithheld
    guard deepest >= region.minzoom else { return nil }
    var last: Int?
    for zoom in region.minzoom...deepest {
      guard let count = Self.tileCount(region, zoom), count <= Self.tilesMax else { break }
      last = zoom
    }
    guard let last else { return nil }
    zooms = region.minzoom...last
  }

  private static func ranges(_ region: Catalog.Region, _ zoom: Int) -> [TileRange] {
    // A box across the antimeridian meets tiles on both sides of it.
    let box = region.boundingBox
    let parts =
      box.west <= box.east
      ? [box]
      : [
        BoundingBox(west: box.west, south: box.south, east: 180, north: box.north),
        BoundingBox(west: -180, south: box.south, east: box.east, north: box.north),
      ]
    let set = region.matrixSet
    return parts.compactMap { set.range(coveringCRSBounds: set.crsBounds(ofGeographicBounds: $0), zoom: zoom) }
  }

  private static func tileCount(_ region: Catalog.Region, _ zoom: Int) -> Int? {
    let ranges = ranges(region, zoom)
    return ranges.isEmpty ? nil : ranges.reduce(0) { $0 + $1.columns.count * $1.rows.count }
  }

  /// The tile of an address; nil for all that is not free, and for all that is no tile.
  ///
  /// - Parameter names: zoom, column and row: digits alone, as they are written shortest.
  func tile(_ names: ArraySlice<String>, of region: Catalog.Region) -> TileID? {
    let numbers = names.compactMap { name in Int(name).flatMap { String($0) == name ? $0 : nil } }
    guard numbers.count == 3, zooms.contains(numbers[0]) else { return nil }
    let isInside = Self.ranges(region, numbers[0]).contains {
      $0.columns.contains(numbers[1]) && $0.rows.contains(numbers[2])
    }
    return isInside ? TileID(unchecked: numbers[0], numbers[1], numbers[2]) : nil
  }
}
