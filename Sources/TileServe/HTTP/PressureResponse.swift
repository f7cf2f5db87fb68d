import MemoryPressure
import Synchronization
import TileIndex
import TilePrefetch

/// The server's response to memory pressure.
///
/// - Normal: prefetching as set; caches have the whole budget.
/// - Warning: no prefetching; caches have half of the budget. Prefetched tiles that were not requested are evicted
///   first, then those far from every screen, the coarse zooms last.
/// - Critical: no prefetching; caches have a quarter, reduced at once to tiles on screens and coarse zooms. No stored
///   responses, no buffers, no idle readers.
///
/// After every step up the allocator returns free memory to the system, which it does not do by itself.
final class PressureResponse: Sendable {
  /// Zooms that are evicted last: 21 tiles, enough to always render something.
  static let coarseZooms = 0...2

  private let cache: DrawnTileCache
  private let fastPath: FastPath?
  private let prefetcher: Prefetcher
  private let registry: TilesetRegistry
  private let resolver: TileResolver
  private let readyBytes: Int
  private let current = Mutex(PressureLevel.normal)

  init(_ service: TileService, _ fastPath: FastPath?, readyBytes: Int) {
    (cache, self.fastPath) = (service.metrics.cache, fastPath)
    (prefetcher, registry, resolver) = (service.prefetcher, service.registry, service.resolver)
    self.readyBytes = readyBytes
  }

  /// Adapts to a new level. Calls are serialised.
  func react(to level: PressureLevel) {
    let before = current.withLock { current in
      defer { current = level }
      return current
    }
    prefetcher.setPaused(level > .normal)
    cache.adjust(to: level) { Self.coarseZooms.contains($0.tile.zoom) }
    switch level {
    case .normal: fastPath?.resize(to: readyBytes)
    case .warning: fastPath?.resize(to: readyBytes / 2)
    case .critical:
      fastPath?.resize(to: 0)
      resolver.releaseBuffers()
      for tileset in registry.tilesets { tileset.source.closeIdle() }
    }
    if level > before { FreeMemory.giveBack() }
  }
}
