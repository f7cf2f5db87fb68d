import TileIndex

/// Holds a loader whose source costs money to a multiple of the loads that there would have been without prefetch.
///
/// What the first screen needs counts on neither side: a map that is opened and closed again costs no more than without prefetch.
struct LoadMeter: Sendable {
  private let extraMax: Double
  private var unaided: UnaidedLoads
  /// Loads of all kinds.
  private var count = 0
  /// Missing tiles of the first screen; nil until there is one.
  private var firstScreen: Set<TileID>?
  /// What a load took of late, and what a tile cost.
  private var loadTime = Duration.seconds(1)
  private var tileCost: Int
  private var hasMeasured = false

  /// The weight of each new measurement.
  private static var newShare: Double { 0.125 }

  init(extraMax: Double, _ cache: TileCache<TileID, some Sendable>, loadsMax: Int, tileCost: Int) {
    self.extraMax = extraMax
    self.tileCost = tileCost
    unaided = UnaidedLoads(
      byteCountMax: cache.byteCountMax, eviction: cache.eviction, loadsMax: loadsMax, tileCost: tileCost)
  }

  /// True when one more tile may be loaded ahead.
  var allowsAhead: Bool { Double(count + 1) <= Double(unaided.count) * (1 + extraMax) }

  /// Takes a frame of the map, before its loader does.
  mutating func update(_ viewport: Viewport, phase: CameraPhase, _ cache: TileCache<TileID, some Sendable>) {
    if firstScreen == nil { firstScreen = Set(viewport.tiles.filter { !cache.contains($0) }) }
    unaided.update(
      viewport, phase: phase, at: cache.now(), loadTime: loadTime, byteCountMax: cache.byteCountMax,
      tileCost: tileCost, isAbsent: { cache.isAbsent($0) })
  }

  mutating func began(_ tile: TileID) {
    if firstScreen?.remove(tile) == nil { count += 1 }
  }

  /// - Parameter byteCount: nil where no tile came.
  mutating func ended(after time: Duration, byteCount: Int?) {
    loadTime = hasMeasured ? loadTime + (time - loadTime) * Self.newShare : time
    if let byteCount { tileCost = hasMeasured ? tileCost + Int(Double(byteCount - tileCost) * Self.newShare) : byteCount }
    hasMeasured = true
  }
}
