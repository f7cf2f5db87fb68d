package import TileIndex

/// How a region's tiles are dealt out to parcels: subtrees of the grid, each small enough, that together have every tile once.
///
/// 1. From the top of the grid downwards, a subtree that is small enough becomes part of a parcel; of one that is not, the top tile is put aside and each
/// child is tried. Small neighbours under the same tile share a parcel. 2. The tiles put aside are the overview; they are dealt out in the same way, and
/// what is put aside then again, until all have a place. 3. The overview comes first, as it is what a map shows first.
///
/// The plan depends on the tiles and limits alone. No level is assumed to step by 2.
package struct ParcelPlan: Sendable {
  /// One parcel.
  package struct Parcel: Hashable, Sendable {
    /// The tops of its subtrees. A tile belongs to the parcel with the deepest root that it lies under.
    package internal(set) var roots: [TileID]
    package internal(set) var tiles: [TileID]
    /// True when other parcels have the finer tiles below it.
    package let isOverview: Bool
    var bytes = 0
    var area = 0.0
  }

  /// A tile that no parcel can hold; the largest one, so that a limit it fits will do for all.
  package struct TileTooLarge: Error {
    package let tile: TileID
    /// What a bundle of just this tile takes.
    package let bundleBytes: Int
  }

  /// Five square miles, and a quarter more where that saves cutting a tile of the grid up.
  package static let squareMetresMax = 5 * 2_589_988.110336 * 1.25

  package let parcels: [Parcel]

  /// - Parameters:
  ///   - tiles: all tiles of the region, in any order.
  ///   - bytesMax: the most that a parcel's file shall take, by ``BundleSize``.
  ///   - squareMetresMax: the most ground that a parcel of the finest levels shall cover; without meaning where a single tile of the finest zoom is larger.
  /// - Throws: ``TileTooLarge``.
  /// - Complexity: O(tiles times zooms).
  package init(
    _ tiles: [SizedTile], matrixSet: TileMatrixSet, bytesMax: Int, squareMetresMax: Double = Self.squareMetresMax
  ) throws(TileTooLarge) {
    if let largest = tiles.max(by: { ($0.bytes, $1.tile) < ($1.bytes, $0.tile) }) {
      let bytes = BundleSize.emptyBundle + BundleSize.estimate(blob: largest.bytes)
      guard bytes <= bytesMax else { throw TileTooLarge(tile: largest.tile, bundleBytes: bytes) }
    }
    let finestZoom = tiles.map(\.tile.zoom).max() ?? 0
    let finest = tiles.lazy.filter { $0.tile.zoom == finestZoom }.map { matrixSet.area(of: $0.tile) }.max() ?? 0
    var deal = Deal(
      matrixSet: matrixSet, bytesMax: bytesMax, areaMax: finest <= squareMetresMax ? squareMetresMax : .infinity)
    var rounds: [[Parcel]] = []
    var rest = tiles.sorted { $0.tile < $1.tile }
    while !rest.isEmpty {
      deal.run(rest, isOverview: !rounds.isEmpty)
      rounds.append(deal.parcels)
      rest = deal.rest
      // The overview's tiles are larger than any such limit.
      deal = Deal(matrixSet: matrixSet, bytesMax: bytesMax, areaMax: .infinity)
    }
    parcels = Array(rounds.reversed().joined())
  }

  /// One round.
  private struct Deal {
    let matrixSet: TileMatrixSet
    let bytesMax: Int
    let areaMax: Double
    var parcels: [Parcel] = []
    /// Tiles whose subtree is too large, by rising zoom.
    var rest: [SizedTile] = []
    private var current: Parcel?

    init(matrixSet: TileMatrixSet, bytesMax: Int, areaMax: Double) {
      (self.matrixSet, self.bytesMax, self.areaMax) = (matrixSet, bytesMax, areaMax)
    }

    /// Deals out tiles that would each fit a parcel.
    mutating func run(_ tiles: [SizedTile], isOverview: Bool) {
      place(tiles, under: 0, isOverview)
      rest.sort { $0.tile < $1.tile }
    }

    /// Deals out tiles that have their parent, one zoom above `zoom`, in common.
    private mutating func place(_ tiles: [SizedTile], under zoom: Int, _ isOverview: Bool) {
      let groups = Dictionary(grouping: tiles) { matrixSet.ancestor(of: $0.tile, zoom: zoom) }
      for (root, members) in groups.sorted(by: { $0.key < $1.key }) {
        let bytes = members.reduce(0) { $0 + BundleSize.estimate(blob: $1.bytes) }
        let area = areaMax < .infinity ? matrixSet.area(of: root) : 0
        if BundleSize.emptyBundle + bytes <= bytesMax, area <= areaMax {
          if let open = current, BundleSize.emptyBundle + open.bytes + bytes > bytesMax || open.area + area > areaMax {
            flush()
          }
          var parcel = current ?? Parcel(roots: [], tiles: [], isOverview: isOverview)
          parcel.roots.append(root)
          parcel.tiles += members.map(\.tile)
          parcel.bytes += bytes
          parcel.area += area
          current = parcel
          continue
        }
        flush()
        rest += members.filter { $0.tile == root }
        place(members.filter { $0.tile != root }, under: zoom + 1, isOverview)
        flush()
      }
      // Parcels do not reach beyond the parent that their roots have in common.
      flush()
    }

    private mutating func flush() {
      if let parcel = current { parcels.append(parcel) }
      current = nil
    }
  }
}
