public import RegionCatalog

#if canImport(Observation)
  public import Observation
#endif

extension OfflineRegionManager {
  /// The state now, and after each change: of the library, of the installed files, of a download's bytes. A slow reader
  /// gets the latest state only. Any number of readers may follow.
  ///
  /// ```swift
  /// for await state in manager.states() { show(state.regions, state.installs) }
  /// ```
  public nonisolated func states() -> some AsyncSequence<OfflineRegionsState, Never> & Sendable {
    let changes = hub.signal.changes()
    hub.signal.send()
    return changes.map { [self] _ in hub.snapshot { try regions() } }
  }

  /// Installs a region or updates it, and tells its progress until it is installed. Leaving the loop, or cancelling its
  /// task, stops the install unless others wait for it too; it can be continued later.
  ///
  /// ```swift
  /// for try await progress in manager.installProgress(of: "colorado", from: client) {
  ///   print(progress.bytesDone, progress.bytesPerSecond ?? 0, progress.secondsLeft ?? 0)
  /// }
  /// ```
  ///
  /// A slow reader gets the latest progress only. The last element's phase is `.installed`, unless the edition was
  /// installed already: then there is none.
  ///
  /// - Throws: in the loop, as ``install(_:from:onProgress:)``.
  public nonisolated func installProgress(
    of region: String, from client: StoreClient
  ) -> AsyncThrowingStream<InstallProgress, any Error> {
    progress { try await self.install(region, from: client, onProgress: $0) }
  }

  /// Installs what an area needs of a region, and tells the progress of one tile pack after the other. Leaving the loop
  /// stops the install as with ``installProgress(of:from:)``; packs that are installed stay. A slow reader gets the
  /// latest progress only.
  ///
  /// - Throws: in the loop, as ``install(_:around:from:onProgress:onInstalled:)``.
  public nonisolated func installProgress(
    of region: String, around ground: MapGround, from client: StoreClient
  ) -> AsyncThrowingStream<InstallProgress, any Error> {
    progress { try await self.install(region, around: ground, from: client, onProgress: $0) }
  }

  /// Continues interrupted downloads, and tells the progress of all of them, until all are done. Call
  /// ``refreshLibrary(from:)`` before.
  ///
  /// - Throws: in the loop: the first failure, when all others are done; otherwise as
  ///   ``resumeDownloads(from:onProgress:)``.
  public nonisolated func resumeProgress(from client: StoreClient) -> AsyncThrowingStream<InstallProgress, any Error> {
    progress { for one in try await self.resumeDownloads(from: client, onProgress: $0) { _ = try one.result.get() } }
  }

  /// Updates all installed files, and tells the progress of one after the other, until all are done.
  ///
  /// - Throws: in the loop: the first failure, when all others are done; otherwise as ``update(from:onProgress:)``.
  public nonisolated func updateProgress(from client: StoreClient) -> AsyncThrowingStream<InstallProgress, any Error> {
    progress { for update in try await self.update(from: client, onProgress: $0) { _ = try update.result.get() } }
  }

  private nonisolated func progress(
    _ work: @escaping @Sendable (@escaping ProgressHandler) async throws -> Void
  ) -> AsyncThrowingStream<InstallProgress, any Error> {
    AsyncThrowingStream(bufferingPolicy: .bufferingNewest(1)) { continuation in
      let task = Task {
        do {
          try await work { continuation.yield($0) }
          continuation.finish()
        } catch {
          continuation.finish(throwing: error)
        }
      }
      continuation.onTermination = { _ in task.cancel() }
    }
  }
}

#if canImport(Observation)
  /// The state of the regions for views that observe: SwiftUI draws anew what has changed.
  ///
  /// ```swift
  /// List(model.state.regions) { RegionRow($0) }.task { await model.follow(manager) }
  /// ```
  @MainActor @Observable public final class OfflineRegionsModel {
    /// The latest state.
    public private(set) var state: OfflineRegionsState

    /// A model that follows nothing yet.
    ///
    /// - Parameter state: what it shows until then, and in previews.
    public init(state: OfflineRegionsState = OfflineRegionsState()) { self.state = state }

    /// Follows a manager until the task is cancelled.
    public func follow(_ manager: OfflineRegionManager) async {
      for await state in manager.states() where state != self.state { self.state = state }
    }
  }
#endif
