package import MemoryPressure
import Synchronization

/// What fits the budget, and what is given back when memory is short.
extension MapSession {
  /// The viewport in tiles that the bundle has and that fit the budget: coarser ones where the screen alone would
  /// exceed it, and beyond the bundle's finest zoom; where even the coarsest do not fit, the middle of the screen.
  func fitted(_ viewport: Viewport, _ workerCount: Int) -> Viewport {
    let viewport = viewport.inTiles(ofPixels: bundle.metadata.tilePixels)
    let room = max(1, tiles.decoded.byteCountMax / loader.reservedCost - max(workerCount, 1))
    var zoom = min(viewport.tileZoom, coverage.zooms.upperBound)
    while zoom > coverage.zooms.lowerBound, viewport.inTiles(zoom: zoom).onceAround.tiles.count > room { zoom -= 1 }
    var fitted = viewport.inTiles(zoom: max(zoom, coverage.zooms.lowerBound)).onceAround
    if fitted.tileZoom > viewport.tileZoom {
      let turns = (viewport.x - (coverage.x.lowerBound + coverage.x.upperBound) / 2).rounded()
      fitted = fitted.within(x: coverage.x.lowerBound + turns...coverage.x.upperBound + turns, y: coverage.y)
    }
    while fitted.tiles.count > room, max(fitted.width, fitted.height) > 1 {
      fitted.width *= 0.9
      fitted.height *= 0.9
    }
    return fitted
  }

  /// Chooses the tiles of the screen again: it may need coarser ones now, or have room for finer ones.
  func fitAgain() {
    let time = now()
    state.withLock { state in
      if let viewport = state.viewport { show(viewport, state.phase, nil, at: time, &state) }
    }
    signal.notify()
    announceChange()
  }

  /// Gives back half of what the session holds, at once, as an app must that has got a memory warning of its system.
  /// Nothing is prefetched and the budget is halved, until the map moves 30 s later. The session follows the system's
  /// memory pressure by itself; this is for what only the app knows.
  ///
  /// Prefetched tiles go first, then those far from the screen. Those on the screen stay, since they would be loaded
  /// again, unless they exceed half of the budget: then the map is drawn with coarser tiles.
  public func memoryWarning() {
    let byteCount = tiles.decoded.statistics.bytes
    tiles.decoded.dropUnused()
    tiles.decoded.trim(to: byteCount / 2)
    tiles.encoded.trim(to: tiles.encoded.statistics.bytes / 2)
    let pressure = state.withLock { $0.pressure }
    respond(to: max(pressure, .warning))
    let recovery = now() + Self.recoveryDelay
    state.withLock { $0.recoveryTime = recovery }
  }

  /// Responds to a change of the system's memory pressure: the whole budget, half or a quarter of it. It stays until
  /// the next call, also beyond a memory warning.
  package func adjust(to level: PressureLevel) {
    state.withLock { state in
      (state.pressure, state.recoveryTime) = (level, nil)
    }
    respond(to: level)
  }

  /// Adjusts a session to the levels of a monitor until the calling task is cancelled or the session has ended.
  static func follow(_ memory: MemoryPressureMonitor, for session: @Sendable () -> MapSession?) async {
    memory.start()
    for await level in memory.levels() {
      guard let session = session() else { return }
      // The first level is no change, and takes back no memory warning.
      if level != session.state.withLock(\.pressure) { session.adjust(to: level) }
    }
  }

  private func respond(to level: PressureLevel) {
    tiles.encoded.adjust(to: level)
    // Last, since it gives what was freed back to the system.
    loader.adjust(to: level)
    fitAgain()
  }

  private static var recoveryDelay: Duration { .seconds(30) }

  /// The bytes that tiles take now, with those that loads in progress have reserved. At most the budget.
  public var byteCount: Int {
    let (decoded, encoded) = (tiles.decoded.statistics, tiles.encoded.statistics)
    return decoded.bytes + decoded.reservedBytes + loader.heldBytes + encoded.bytes + encoded.reservedBytes
  }
}

extension MemoryPressureMonitor {
  /// The system's memory pressure for the sessions of a process: one thread for all of them, from the first that loads.
  static let ofMaps = MemoryPressureMonitor()
}
