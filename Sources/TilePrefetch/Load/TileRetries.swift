import TileIndex

/// Tiles that could not be loaded, and when to try each again.
struct TileRetries {
  /// When each tile is due.
  private var ends: [TileID: Duration] = [:]
  /// How often each tile has failed in a row.
  private var failureCounts: [TileID: Int] = [:]

  /// Seconds after the first failure. The delay doubles with each further failure, up to a minute.
  private static var delayMin: Double { 1 }
  private static var delayMax: Double { 60 }
  /// Prefetched tiles are in here as well. The limit bounds what a failing source can fill.
  private static var countMax: Int { 1024 }

  /// When the first tile is due; nil when none is waiting.
  var firstEnd: Duration? { ends.values.min() }

  func contains(_ tile: TileID) -> Bool { ends[tile] != nil }

  mutating func failed(_ tile: TileID, at now: Duration) {
    let count = failureCounts[tile] ?? 0
    failureCounts[tile] = count + 1
    let delay = min(Self.delayMin * Double(1 << min(count, 10)), Self.delayMax)
    ends[tile] = now + .seconds(delay)
    if ends.count > Self.countMax { self = TileRetries() }
  }

  mutating func wait(for tile: TileID, until end: Duration) { ends[tile] = end }

  mutating func forget(_ tile: TileID) {
    ends[tile] = nil
    failureCounts[tile] = nil
  }

  /// Removes and returns the tiles that are due. Their failure counts remain.
  mutating func takeDue(at now: Duration) -> [TileID] {
    guard !ends.isEmpty else { return [] }
    let due = ends.filter { $0.value <= now }.map(\.key)
    for tile in due { ends[tile] = nil }
    return due
  }
}
