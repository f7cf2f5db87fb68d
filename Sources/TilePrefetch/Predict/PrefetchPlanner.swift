package import TileIndex

/// Decides which tiles to prefetch. Apps use ``PrefetchPredictor``; other planners serve for comparison.
package protocol PrefetchPlanner: Sendable {
  /// Takes what the map shows now.
  ///
  /// - Parameters:
  ///   - time: seconds since any fixed moment, monotonic.
  mutating func update(_ viewport: Viewport, phase: CameraPhase, at time: Double)

  /// Where the next zoom in will be centred, if the app knows. A planner may find it out by itself, or ignore it.
  var point: MapPoint? { get set }

  /// The tiles that will probably be needed, the most urgent first. Tiles on the screen may be among them.
  ///
  /// - Parameter countMax: how many tiles there is room for, beside those on the screen.
  func plan(countMax: Int) -> [TileID]

  /// The missing tiles on the screen, in the order in which to load them.
  func order(missing: [TileID], in visible: TileRange) -> [TileID]
}

extension PrefetchPlanner {
  package var point: MapPoint? {
    get { nil }
    set {}
  }

  /// The nearest to the middle of the screen first.
  package func order(missing: [TileID], in visible: TileRange) -> [TileID] {
    MissingOrder.middleFirst(missing, in: visible)
  }
}

/// Plans nothing.
package struct NoPrefetch: PrefetchPlanner {
  package init() {}
  package mutating func update(_ viewport: Viewport, phase: CameraPhase, at time: Double) {}
  package func plan(countMax: Int) -> [TileID] { [] }
}

/// Orders for loading the missing tiles of a screen.
package enum MissingOrder {
  /// The nearest to the middle of the range first.
  package static func middleFirst(_ tiles: [TileID], in range: TileRange) -> [TileID] {
    // Doubled, so that centres are integers.
    let column = range.columns.lowerBound + range.columns.upperBound
    let row = range.rows.lowerBound + range.rows.upperBound
    func distance(_ tile: TileID) -> Int {
      let (across, down) = (2 * tile.column - column, 2 * tile.row - row)
      return across * across + down * down
    }
    return tiles.sorted { distance($0) < distance($1) }
  }
}

/// Unique tiles in the order of insertion.
package struct OrderedTiles: Sendable {
  package private(set) var tiles: [TileID] = []
  private var known: Set<TileID> = []

  package init() {}

  package var count: Int { tiles.count }

  package mutating func add(_ tile: TileID) {
    if known.insert(tile).inserted { tiles.append(tile) }
  }

  package mutating func add(_ more: some Sequence<TileID>) {
    for tile in more { add(tile) }
  }

  package func contains(_ tile: TileID) -> Bool { known.contains(tile) }
}
