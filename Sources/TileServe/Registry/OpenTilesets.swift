import Synchronization

/// The tilesets with open readers: those that were used last, up to a limit. A reader costs two descriptors and up to
/// half a megabyte.
final class OpenTilesets: Sendable {
  /// Tilesets that are kept open.
  static let countMax = 64

  private let open = Mutex<[ObjectIdentifier: BundleSource]>([:])
  private let clock = Atomic<UInt64>(0)

  /// Increases by one at every scan; the unit of ``BundleSource/lastUse``.
  var now: UInt64 { clock.load(ordering: .relaxed) }

  var count: Int { open.withLock { $0.count } }

  /// Notes that a tileset was opened; closes the least recently used one if there are too many.
  func insert(_ tileset: BundleSource) {
    let surplus = open.withLock { open -> BundleSource? in
      open[ObjectIdentifier(tileset)] = tileset
      guard open.count > Self.countMax else { return nil }
      guard let oldest = open.values.filter({ $0 !== tileset }).min(by: { $0.lastUse < $1.lastUse }) else { return nil }
      open[ObjectIdentifier(oldest)] = nil
      return oldest
    }
    surplus?.closeIdle()
  }

  func remove(_ tileset: BundleSource) {
    open.withLock { _ = $0.removeValue(forKey: ObjectIdentifier(tileset)) }
  }

  /// Advances the clock.
  func tick() { clock.add(1, ordering: .relaxed) }
}

/// A moving average of how long reading a tile takes on threads that may wait, which detects slow disks.
struct ReadTimes {
  /// Longer reads are worth prefetching: a page in memory takes a hundredth of this, one on a good disk a tenth.
  static let slowSeconds = 0.005
  private static let weight = 0.1

  /// The mean of about the last ten reads; 0 before the first.
  private(set) var seconds = 0.0

  var isSlow: Bool { seconds >= Self.slowSeconds }

  mutating func add(_ seconds: Double) {
    // A single stall of a minute must not outweigh a thousand reads.
    let bounded = min(seconds, 1)
    self.seconds = self.seconds == 0 ? bounded : self.seconds + Self.weight * (bounded - self.seconds)
  }
}
