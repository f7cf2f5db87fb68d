import MemoryPressure
import Synchronization
import TileIndex
import TilePrefetch

/// What a server does when memory gets short, and when there is enough again.
///
/// | level | fetching ahead | caches |
/// |---|---|---|
/// | normal | as set | the whole budget |
/// | warning | none | half of it; tiles fetched ahead and not wanted yet go first, then those far from every screen, the coarse zooms last |
/// | critical | none | a quarter, of which what is on screens and the coarse zooms are kept now; no ready replies, no buffers, no idle readers |
///
/// After every step up the allocator gives back what is free: without that the process stays as large as it was.
final class PressureResponse: Sendable {
  /// So many zooms from 0 on are kept as long as anything is: 21 tiles, and there is always something to draw.
  static let coarseZooms = 0...2

  private let cache: DrawnTileCache
  private let fastPath: FastPath?
  private let prefetcher: Prefetcher
  private let shelf: TileShelf
  private let resolver: TileResolver
  private let readyBytes: Int
  private let current = Mutex(PressureLevel.normal)

  init(_ service: TileService, _ fastPath: FastPath?, readyBytes: Int) {
    (cache, self.fastPath) = (service.metrics.cache, fastPath)
    (prefetcher, shelf, resolver) = (service.prefetcher, service.shelf, service.resolver)
    self.readyBytes = readyBytes
  }

  /// Goes over to a level. Called for one change after the other.
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
      for tileset in shelf.tilesets where !tileset.isRemote { tileset.closeIdle() }
    }
    if level > before { FreeMemory.giveBack() }
  }
}
