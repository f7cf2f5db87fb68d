import Synchronization

/// Which tilesets of a shelf have readers open: the ones that were used last, up to a number. A reader costs two descriptors and up to half a megabyte.
final class OpenTilesets: Sendable {
  /// Tilesets that are kept open.
  static let countMax = 64

  private let open = Mutex<[ObjectIdentifier: Tileset]>([:])
  private let clock = Atomic<UInt64>(0)

  /// Rises by one at every look through the shelf; the coarse time of ``Tileset/lastUse``.
  var now: UInt64 { clock.load(ordering: .relaxed) }

  var count: Int { open.withLock { $0.count } }

  /// Notes that a tileset was opened; closes the one that was used longest ago when there are too many.
  func insert(_ tileset: Tileset) {
    let surplus = open.withLock { open -> Tileset? in
      open[ObjectIdentifier(tileset)] = tileset
      guard open.count > Self.countMax else { return nil }
      guard let oldest = open.values.filter({ $0 !== tileset }).min(by: { $0.lastUse < $1.lastUse }) else { return nil }
      open[ObjectIdentifier(oldest)] = nil
      return oldest
    }
    surplus?.closeIdle()
  }

  func remove(_ tileset: Tileset) {
    open.withLock { _ = $0.removeValue(forKey: ObjectIdentifier(tileset)) }
  }

  /// Lets time pass.
  func tick() { clock.add(1, ordering: .relaxed) }
}
