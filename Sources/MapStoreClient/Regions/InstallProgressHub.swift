import Synchronization
import TileIndex

/// What is being installed, and who wants to know: all that wait for an install see its progress, whoever began it.
final class InstallProgressHub: Sendable {
  private struct State {
    var running: [RegionPart: InstallProgress] = [:]
    var handlers: [RegionPart: [Int: ProgressHandler]] = [:]
    var nextID = 0
    /// Nil when the database has changed since it was read.
    var regions: [OfflineRegion]?
    var regionsBefore: [OfflineRegion] = []
  }

  let signal = ChangeSignal()
  private let state = Mutex(State())

  /// Runs work while a handler gets the progress of a part.
  func following<Value>(
    _ part: RegionPart, _ handler: @escaping ProgressHandler, _ work: () async throws -> Value
  ) async throws -> Value {
    let id = state.withLock { state in
      state.nextID += 1
      state.handlers[part, default: [:]][state.nextID] = handler
      return state.nextID
    }
    defer {
      state.withLock { state in
        state.handlers[part]?[id] = nil
        if state.handlers[part]?.isEmpty == true { state.handlers[part] = nil }
      }
    }
    return try await work()
  }

  func report(_ progress: InstallProgress) {
    let handlers = state.withLock { state in
      state.running[progress.part] = progress
      return Array((state.handlers[progress.part] ?? [:]).values)
    }
    for handler in handlers { handler(progress) }
    signal.send()
  }

  /// The install of a part is over, in whichever way.
  func end(_ part: RegionPart) {
    state.withLock { _ = $0.running.removeValue(forKey: part) }
    signal.send()
  }

  /// What is installed, owned or recorded as a download has changed.
  func regionsChanged() {
    state.withLock { $0.regions = nil }
    signal.send()
  }

  /// - Parameter read: reads the regions, if they have changed. After an error the ones before count.
  func snapshot(_ read: () throws -> [OfflineRegion]) -> OfflineRegionsState {
    if state.withLock({ $0.regions }) == nil {
      // Marked as read before they are: a change meanwhile is read next time.
      state.withLock { $0.regions = $0.regionsBefore }
      do {
        let regions = try read()
        state.withLock { state in
          state.regionsBefore = regions
          if state.regions != nil { state.regions = regions }
        }
      } catch {
        state.withLock { $0.regions = nil }
      }
    }
    return state.withLock { OfflineRegionsState(regions: $0.regionsBefore, installs: $0.running) }
  }
}
