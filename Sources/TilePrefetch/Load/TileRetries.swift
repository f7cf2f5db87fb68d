import TileIndex

/// Tiles that could not be had, and when each is to be asked for again.
struct TileRetries {
  /// When each is due.
  private var ends: [TileID: Duration] = [:]
  /// How often each has failed in a row.
  private var failureCounts: [TileID: Int] = [:]

  /// Seconds after the first failure; twice as long after each further one, up to a minute.
  private static var delayMin: Double { 1 }
  private static var delayMax: Double { 60 }
  /// Tiles that were wanted ahead of need are in here as well; the bound is on what a source that is down can fill.
  private static var countMax: Int { 1024 }

  /// When the first is due; nil when none waits.
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

  /// Those that are due, which wait no more. How often they have failed is remembered.
  mutating func takeDue(at now: Duration) -> [TileID] {
    guard !ends.isEmpty else { return [] }
    let due = ends.filter { $0.value <= now }.map(\.key)
    for tile in due { ends[tile] = nil }
    return due
  }
}
