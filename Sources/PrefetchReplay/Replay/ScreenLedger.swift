import TileIndex

/// Counts what a user of the replay would have seen missing.
struct ScreenLedger {
  private(set) var score = ReplayScore()
  /// Since which frame a tile on the screen is missing.
  private var missingSince: [TileID: Int] = [:]
  private var hard: Set<TileID> = []
  private var stalledSince: Int?

  mutating func hit() {
    score.requests += 1
    score.hits += 1
  }

  /// - Parameter isHard: there is nothing to draw instead.
  mutating func miss(_ tile: TileID, at tick: Int, isHard: Bool) {
    score.requests += 1
    missingSince[tile] = tick
    if isHard { hard.insert(tile) }
  }

  /// A tile came or left the screen: from this frame on it is not missing any more.
  mutating func end(_ tile: TileID, at tick: Int) {
    guard let since = missingSince.removeValue(forKey: tile) else { return }
    let frames = max(0, tick - since)
    score.blankTileFrames += frames
    if hard.remove(tile) != nil { score.hardBlanks += frames }
  }

  /// To be called when the tiles of a frame are settled, or a tile came.
  mutating func settle(at tick: Int) {
    if missingSince.isEmpty {
      if let since = stalledSince { score.stallFrames += max(0, tick - since) }
      stalledSince = nil
    } else if stalledSince == nil {
      stalledSince = tick
    }
  }

  var isMissingAny: Bool { !missingSince.isEmpty }
}
