package import TileIndex

/// Splits a region's tiles into packs: sets of subtrees of the grid, each small enough, that together have every tile
/// once.
///
/// 1. From the top of the grid down, a subtree that is small enough becomes part of a pack. If it is not, its root tile
///    is set aside and each child is tried. Small neighbours under the same tile share a pack.
/// 2. The tiles set aside are the overview; they are split in the same way, repeatedly until none is left.
/// 3. Overview packs come first, because a map shows them first.
///
/// The plan depends only on the tiles and limits. Levels may step by any number.
package struct TilePackPlan: Sendable {
  /// One tile pack.
  package struct TilePack: Hashable, Sendable {
    /// The roots of its subtrees. A tile belongs to the pack with the deepest root above it.
    package internal(set) var roots: [TileID]
    package internal(set) var tiles: [TileID]
    /// True when other packs have the finer tiles below it.
    package let isOverview: Bool
    var bytes = 0
    var area = 0.0
  }

  /// A tile that exceeds the limit by itself; the largest one, so that a limit that fits it fits all.
  package struct TileTooLarge: Error {
    package let tile: TileID
    /// The size of a bundle of just this tile.
    package let bundleBytes: Int
  }

  /// Five square miles, plus a quarter to avoid splitting a tile of the grid.
  package static let squareMetresMax = 5 * 2_589_988.110336 * 1.25

  package let packs: [TilePack]

  /// - Parameters:
  ///   - tiles: all tiles of the region, in any order.
  ///   - bytesMax: the maximum size of a pack's file, by ``BundleSize``.
  ///   - squareMetresMax: the maximum area of a pack of the finest levels; ignored when a single tile of the finest
  ///     zoom is larger.
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
    var rounds: [[TilePack]] = []
    var rest = tiles.sorted { $0.tile < $1.tile }
    while !rest.isEmpty {
      deal.run(rest, isOverview: !rounds.isEmpty)
      rounds.append(deal.packs)
      rest = deal.rest
      // Tiles of the overview are larger than any such limit.
      deal = Deal(matrixSet: matrixSet, bytesMax: bytesMax, areaMax: .infinity)
    }
    packs = Array(rounds.reversed().joined())
  }

  /// One round of the split.
  private struct Deal {
    let matrixSet: TileMatrixSet
    let bytesMax: Int
    let areaMax: Double
    var packs: [TilePack] = []
    /// Tiles whose subtree is too large, in ascending order.
    var rest: [SizedTile] = []
    private var current: TilePack?

    init(matrixSet: TileMatrixSet, bytesMax: Int, areaMax: Double) {
      (self.matrixSet, self.bytesMax, self.areaMax) = (matrixSet, bytesMax, areaMax)
    }

    /// Splits tiles that each fit into a pack.
    mutating func run(_ tiles: [SizedTile], isOverview: Bool) {
      place(tiles, under: 0, isOverview)
      rest.sort { $0.tile < $1.tile }
    }

    /// Splits tiles that have the same parent, one zoom above `zoom`.
    private mutating func place(_ tiles: [SizedTile], under zoom: Int, _ isOverview: Bool) {
      let groups = Dictionary(grouping: tiles) { matrixSet.ancestor(of: $0.tile, zoom: zoom) }
      for (root, members) in groups.sorted(by: { $0.key < $1.key }) {
        let bytes = members.reduce(0) { $0 + BundleSize.estimate(blob: $1.bytes) }
        let area = areaMax < .infinity ? matrixSet.area(of: root) : 0
        if BundleSize.emptyBundle + bytes <= bytesMax, area <= areaMax {
          if let open = current, BundleSize.emptyBundle + open.bytes + bytes > bytesMax || open.area + area > areaMax {
            flush()
          }
          var pack = current ?? TilePack(roots: [], tiles: [], isOverview: isOverview)
          pack.roots.append(root)
          pack.tiles += members.map(\.tile)
          pack.bytes += bytes
          pack.area += area
          current = pack
          continue
        }
        flush()
        rest += members.filter { $0.tile == root }
        place(members.filter { $0.tile != root }, under: zoom + 1, isOverview)
        flush()
      }
      // A pack does not extend beyond the common parent of its roots.
      flush()
    }

    private mutating func flush() {
      if let pack = current { packs.append(pack) }
      current = nil
    }
  }
}

/// The size of tiles in a bundle of ``BundleWriter`` before it is written: an upper estimate, from SQLite's file format
/// (sqlite.org/fileformat2.html, sections 1.5 and 1.6).
package enum BundleSize {
  private static let page = BundleWriter.pageBytesMax
  /// The schema, the metadata and the roots of the other trees: eight pages.
  package static let emptyBundle = 8 * page

  /// Bytes for one tile: its blob's cell and overflow pages, its row in the map, and the entry of the map's index,
  /// whose pages are two thirds full. Plus a thirty-second, since cells of different sizes fill pages less well.
  package static func estimate(blob bytes: Int) -> Int {
    let cells = cells(blob: bytes)
    return cells + cells / 32 + row
  }

  private static let row = 72

  private static func cells(blob bytes: Int) -> Int {
    let payload = bytes + 12
    guard payload > page - 35 else {
      // Cells are stored one after the other; one that does not fit starts a new page.
      let share = page / max((page - 16) / (payload + 8), 1)
      return min(share, 2 * payload)
    }
    let overflow = page - 4
    let least = (page - 12) * 32 / 255 - 23
    let kept = least + (payload - least) % overflow
    let local = kept <= page - 35 ? kept : least
    let pages = (payload - local + overflow - 1) / overflow
    return pages * page + min(page / max((page - 16) / (local + 12), 1), 2 * local)
  }
}
