public import MemoryPressure
import Synchronization
public import TileIndex

extension MapLoader {
  /// Answers a change of the level of memory pressure: nothing is loaded ahead until there is enough again, the cache shrinks, and on the way up the allocator gives back what is free.
  ///
  /// Of several maps that share a cache one does this; for the others ``isPaused`` is set.
  /// - Parameter keeping: as in ``TileCache/adjust(to:keeping:)``.
  public func adjust(to level: PressureLevel, keeping: (TileID) -> Bool = { $0.zoom <= 2 }) {
    isPaused = level > .normal
    cache.adjust(to: level, keeping: keeping)
    if level > .normal { FreeMemory.giveBack() }
  }
}
