import MapStoreWire
import RegionCatalog
import TestSupport
import Testing
import TileIndex

@testable import MapStoreClient

/// Installs that are paused, cancelled or removed while they run.
@Suite(.ownThread) struct PauseTests {
  private let shop: SampleShop
  private let store: ChaosStore
  private let device: Device
  private let region: Catalog.Region

  init() throws {
    shop = try SampleShop()
    region = try shop.publish("alps")
    store = try ChaosStore(shop, owned: ["alps"])
    device = try Device(store)
    store.fault.withLock { $0 = { $0.number == 1 ? .hang(90_000) : .none } }
  }

  /// Starts an install and waits until it has received so many bytes.
  private func start(_ manager: OfflineRegionManager, until bytes: Int) async throws -> Task<InstalledFile, any Error> {
    let done = Locked(0)
    let client = device.client
    let task = Task {
      try await manager.install("alps", from: client) { p in done.withLock { $0 = max($0, p.bytesDone) } }
    }
    #expect(try await onThread { eventually { done.withLock { $0 } >= bytes } })
    return task
  }

  /// An update does not resume a paused download.
  @Test func aPausedUpdateStaysPaused() async throws {
    let manager = try device.manager()
    store.fault.withLock { $0 = { _ in .none } }
    let old = try await manager.install("alps", from: device.client)
    try shop.publish("alps")
    let count = store.book.withLock { $0.files.count }
    store.fault.withLock { $0 = { $0.number == count + 1 ? .hang(1) : .none } }
    let isLoading = Locked(false)
    let client = device.client
    let task = Task { try await manager.install("alps", from: client) { _ in isLoading.withLock { $0 = true } } }
    #expect(try await onThread { eventually { isLoading.withLock { $0 } } })
    try await manager.pause("alps")
    await #expect { try await task.value } throws: { ($0 as? MapStoreError)?.code == .paused }
    try await manager.refreshLibrary(from: client)
    #expect(try manager.regions().map(\.status) == [.updateAvailable])
    #expect(try await manager.update(from: client).isEmpty)
    #expect(try manager.installed().map(\.edition) == [old.edition])
    #expect(try manager.regions().flatMap(\.downloads).map(\.isPaused) == [true])
  }

  @Test func pausedDownloadWaitsForInstall() async throws {
    let manager = try device.manager()
    let task = try await start(manager, until: 90_000)
    try await manager.pause("alps")
    await #expect { try await task.value } throws: { ($0 as? MapStoreError)?.code == .paused }
    let way = try #require(try manager.regions().first?.downloads.first)
    #expect(way.isPaused && way.bytesDone == 90_000)
    // A sync does not continue it.
    #expect(try await manager.sync(with: device.client).resumed.isEmpty)
    let file = try await manager.install("alps", from: device.client)
    #expect(file.sha256 == region.sha256)
    #expect(store.book.withLock { $0.files.last?.range } == "bytes=90000-\(region.bytes - 1)")
  }

  @Test func cancelledDownloadIsResumedBySync() async throws {
    let manager = try device.manager()
    let task = try await start(manager, until: 90_000)
    task.cancel()
    await #expect(throws: CancellationError.self) { try await task.value }
    let report = try await manager.sync(with: device.client)
    #expect(report.resumed.count == 1)
    #expect(try report.resumed.first?.result.get().sha256 == region.sha256)
  }

  /// Several parts of an app install the same region; cancelling one does not affect the others.
  @Test func cancellingOneInstallDoesNotCancelOthers() async throws {
    let device = try Device(store, idleMax: 1)
    let manager = try device.manager()
    let client = device.client
    let tasks = (0..<3).map { _ in Task { try await manager.install("alps", from: client) } }
    // All wait for one download before the first one leaves.
    while await manager.waiting(for: RegionPart(region: "alps")) < 3 { try await Task.sleep(for: .milliseconds(2)) }
    tasks[0].cancel()
    await #expect(throws: CancellationError.self) { try await tasks[0].value }
    for task in tasks.dropFirst() { #expect(try await task.value.sha256 == region.sha256) }
    #expect(store.count("POST /v1/downloads") == 1)
  }

  @Test func uninstallDuringADownloadLeavesNoFiles() async throws {
    let manager = try device.manager()
    let task = try await start(manager, until: 90_000)
    try await manager.uninstall("alps")
    await #expect(throws: (any Error).self) { try await task.value }
    #expect(device.remains == [] && device.folder.names == [".mapstore"])
    #expect(try manager.regions().isEmpty)
  }

  @Test func aSyncDropsRegionsThatAreNoLongerOwned() async throws {
    let manager = try device.manager()
    let task = try await start(manager, until: 90_000)
    task.cancel()
    _ = await task.result
    store.book.withLock { $0.owned = [] }
    #expect(try await manager.sync(with: device.client).resumed.isEmpty)
    #expect(device.remains == [])
  }

  @Test func oneProcessAtATime() throws {
    let manager = try device.manager()
    #expect { try device.manager() } throws: { ($0 as? MapStoreError)?.code == .busy }
    withExtendedLifetime(manager) {}
  }

  @Test func waitingInstallsCanBeCancelled() async throws {
    let slots = TransferSlots(1)
    let holds = Locked(true)
    let first = Task {
      try await slots.run {
        while holds.withLock({ $0 }) { try await Task.sleep(for: .milliseconds(2)) }
      }
    }
    let ran = Locked(0)
    let others = (0..<20).map { _ in Task { try await slots.run { ran.withLock { $0 += 1 } } } }
    for task in others.prefix(15) { task.cancel() }
    for task in others.prefix(15) { _ = await task.result }
    holds.withLock { $0 = false }
    try await first.value
    for task in others.dropFirst(15) { try await task.value }
    // Some may have been cancelled before they took the slot; none may keep it.
    try await slots.run { ran.withLock { $0 += 1 } }
    #expect(ran.withLock { $0 } >= 6)
  }
}
