import TileIndex

/// Holds a loader whose source costs money to a multiple of the loads that there would have been without prefetch.
///
/// What the first screen needs counts on neither side: a map that is opened and closed again costs no more than without prefetch.
struct LoadMeter: Sendable {
  private let extraMax: Double
  /// By this cache's own order of eviction, and by age alone: which of them loads less differs from session to session.
  private var unaided: [UnaidedLoads]
  /// Loads of all kinds.
  private var count = 0
  /// Missing tiles of the first screen; nil until there is one.
  private var firstScreen: Set<TileID>?
  /// What a load took of late, and what a tile cost.
  private var loadTime = Duration.seconds(1)
  private var tileCost: Int
  private var hasMeasured = false

  /// What is left of the bound pays for tiles that went because of others that were loaded ahead, and are loaded again.
  private static var aheadShare: Double { 0.96 }
  /// The weight of each new measurement.
  private static var newShare: Double { 0.125 }

  init(extraMax: Double, _ cache: TileCache<TileID, some Sendable>, loadsMax: Int, tileCost: Int) {
    self.extraMax = extraMax
    self.tileCost = tileCost
    unaided = [cache.eviction, LRUEviction()].map {
      UnaidedLoads(byteCountMax: cache.byteCountMax, eviction: $0, loadsMax: loadsMax, tileCost: tileCost)
    }
  }

  /// The lesser of the two counts where they differ.
  var loads: (all: Int, unaided: Int) { (count, unaided.map(\.count).min() ?? 0) }

  /// True when one more tile may be loaded ahead.
  var allowsAhead: Bool { Double(count + 1) <= Double(loads.unaided) * (1 + extraMax * Self.aheadShare) }

  /// Takes a frame of the map, before its loader does.
  mutating func update(_ viewport: Viewport, phase: CameraPhase, _ cache: TileCache<TileID, some Sendable>) {
    if firstScreen == nil { firstScreen = Set(viewport.tiles.filter { !cache.contains($0) }) }
    for index in unaided.indices {
      unaided[index].update(
        viewport, phase: phase, at: cache.now(), loadTime: loadTime, byteCountMax: cache.byteCountMax,
        tileCost: tileCost, isAbsent: { cache.isAbsent($0) })
    }
  }

  mutating func began(_ tile: TileID) {
    if firstScreen?.remove(tile) == nil { count += 1 }
  }

  /// - Parameter byteCount: nil where no tile came.
  mutating func ended(after time: Duration, byteCount: Int?) {
    loadTime = hasMeasured ? loadTime + (time - loadTime) * Self.newShare : time
    if let byteCount {
      tileCost = hasMeasured ? tileCost + Int(Double(byteCount - tileCost) * Self.newShare) : byteCount
    }
    hasMeasured = true
  }
}
