import Synchronization
import TileIndex
import TilePrefetch

/// What a session will show, for policies that know the future.
final class FutureAccesses: Sendable {
  /// Tiles in the order in which they come onto the screen; within a frame, the nearest to the middle first.
  let entries: [TileID]
  /// For each frame, how many of the entries are in the past once it is shown.
  private let pastCounts: [Int]
  /// For each tile, its indices in the entries.
  private let places: [TileID: [Int]]
  private let position = Atomic(0)

  init(_ session: SessionFrames) {
    var entries: [TileID] = []
    var pastCounts: [Int] = []
    var shown: TileRange?
    for frame in session.frames {
      let tiles = frame.viewport.tiles
      if tiles != shown {
        let entered = tiles.filter { tile in !(shown?.contains(tile) ?? false) }
        entries += MissingOrder.middleFirst(entered, in: tiles)
        shown = tiles
      }
      pastCounts.append(entries.count)
    }
    self.entries = entries
    self.pastCounts = pastCounts
    places = Dictionary(grouping: entries.indices, by: { entries[$0] })
  }

  func frame(_ index: Int) { position.store(pastCounts[index], ordering: .relaxed) }

  /// The index of a tile's next entry; `Int.max` when it does not come again.
  ///
  /// - Complexity: O(log n).
  func nextUse(_ tile: TileID) -> Int {
    guard let list = places[tile] else { return .max }
    let past = position.load(ordering: .relaxed)
    var (low, high) = (0, list.count)
    while low < high {
      let middle = (low + high) / 2
      if list[middle] < past { low = middle + 1 } else { high = middle }
    }
    return low < list.count ? list[low] : .max
  }

  /// The next tiles, without duplicates.
  func next(countMax: Int, lookAheadMax: Int) -> [TileID] {
    let past = position.load(ordering: .relaxed)
    var seen: Set<TileID> = []
    var tiles: [TileID] = []
    for tile in entries[past...].prefix(lookAheadMax) {
      guard tiles.count < countMax else { break }
      if seen.insert(tile).inserted { tiles.append(tile) }
    }
    return tiles
  }
}

/// Evicts the tile that is needed last, or never again (Belady's rule).
struct ClairvoyantEviction: EvictionPolicy {
  let future: FutureAccesses
  func rank(of tile: TileID, age: Double, focuses: [MapFocus]) -> Double { Double(future.nextUse(tile)) }
  var isExact: Bool { true }
}

/// Prefetches what will be needed, in that order.
struct OraclePlanner: PrefetchPlanner {
  let future: FutureAccesses
  mutating func update(_ viewport: Viewport, phase: CameraPhase, at time: Double) {}
  func plan(countMax: Int) -> [TileID] { future.next(countMax: min(countMax, 400), lookAheadMax: 3000) }
}
