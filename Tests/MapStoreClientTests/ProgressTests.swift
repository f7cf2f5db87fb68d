import Foundation
import MapStoreWire
import RegionCatalog
import TestSupport
import Testing

@testable import MapStoreClient

/// Progress and state as sequences.
@Suite(.ownThread) struct ProgressTests {
  private let shop: SampleShop
  private let store: ChaosStore
  private let device: Device
  private let region: Catalog.Region
  private let part = RegionPart(region: "alps")

  init() throws {
    shop = try SampleShop()
    region = try shop.publish("alps")
    store = try ChaosStore(shop, owned: ["alps"])
    device = try Device(store)
  }

  /// The first answer stops after so many bytes.
  private func hang(after bytes: Int) { store.fault.withLock { $0 = { $0.number == 1 ? .hang(bytes) : .none } } }

  @Test func theProgressEndsWithTheInstall() async throws {
    let manager = try device.manager()
    var last: InstallProgress?
    var done = 0
    for try await progress in manager.installProgress(of: "alps", from: device.client) {
      #expect(progress.bytesDone >= done && progress.bytesTotal == region.bytes)
      (done, last) = (progress.bytesDone, progress)
    }
    #expect(last?.phase == .installed && last?.fraction == 1)
    #expect(try manager.installed().map(\.part) == [part])
    // There is nothing to do, so nothing is told.
    for try await progress in manager.installProgress(of: "alps", from: device.client) { Issue.record("\(progress)") }
    _ = try shop.publish("alps")
    _ = try await manager.refreshLibrary(from: device.client)
    var phases: Set<InstallProgress.Phase> = []
    for try await progress in manager.updateProgress(from: device.client) { phases.insert(progress.phase) }
    #expect(phases.contains(.installed))
    #expect(try manager.installed().map(\.edition) == ["2"])
  }

  @Test func foldersAndFilesHaveURLs() async throws {
    let folder = URL(filePath: device.folder.file("by url"))
    let manager = try OfflineRegionManager(folder: folder, options: Device.options(), grants: .init())
    try await manager.install("alps", from: device.client)
    #expect(try Data(contentsOf: manager.url(of: part)) == shop.folder.bytes(region.file))
    let elsewhere = try #require(URL(string: "https://example.org/maps"))
    #expect { try OfflineRegionManager(folder: elsewhere, grants: .init()) } throws: {
      ($0 as? MapStoreError)?.code == .storage
    }
  }

  /// Without a wait for whoever has the folder, and without a lock for whoever only reads.
  @Test func readersNeedNoLock() async throws {
    let folder = URL(filePath: device.folder.path)
    #expect { try OfflineRegionReader(folder: folder) } throws: { ($0 as? MapStoreError)?.code == .unknown }
    var manager: OfflineRegionManager? = try device.manager()
    let reader = try OfflineRegionReader(folder: folder)
    #expect(try reader.regions().isEmpty)
    try await manager?.install("alps", from: device.client)
    #expect(try reader.installed() == manager?.installed() && reader.regions() == manager?.regions())
    #expect(try Data(contentsOf: reader.url(of: part)) == shop.folder.bytes(region.file))
    #expect(try reader.usability(of: "alps") == .unknown)
    manager = nil
    // Nobody has the folder open.
    #expect(try OfflineRegionReader(folder: folder).installed().map(\.part) == [part])
    let elsewhere = try #require(URL(string: "https://example.org/maps"))
    #expect(throws: MapStoreError.self) { try OfflineRegionReader(folder: elsewhere) }
  }

  /// `open` waits without a thread until the other manager is gone; the initialiser tells it at once.
  @Test func openWaitsForTheFolder() async throws {
    let folder = URL(filePath: device.folder.path)
    let first = Locked<OfflineRegionManager?>(try device.manager())
    #expect { try OfflineRegionManager(folder: folder, grants: .init()) } throws: {
      ($0 as? MapStoreError)?.code == .busy
    }
    async let second = OfflineRegionManager.open(folder: folder, grants: .init())
    try await Task.sleep(for: .milliseconds(60))
    first.withLock { $0 = nil }
    #expect(try await second.regions().isEmpty)
  }

  /// Numbers that no quota, piece, delay or budget can be.
  @Test(arguments: [Int.min, -1, 0, .max]) func optionsOfAnyNumbers(_ number: Int) async throws {
    let manager = try device.manager { options in
      options.reserveBytes = number
      options.downloadsMax = number
      options.pieceBytes = number
      options.quotaBytes = number
      options.bytesPerSecondMax = number > 0 ? number : nil
      options.retry.attemptsMax = number
      options.retry.firstDelay = Double(number)
      options.retry.retryAfterMax = number > 0 ? .infinity : .nan
      options.retry.progressBytesMin = number
      options.transfers.policy.budget = ByteBudget(bytes: number, seconds: number, countsMeteredOnly: false)
    }
    do {
      try await manager.install("alps", from: device.client)
    } catch let error as MapStoreError {
      #expect([.noSpace, .overQuota, .overBudget].contains(error.code), "\(error)")
    }
    var retry = RetryRule()
    retry.firstDelay = .nan
    retry.delayMax = -.infinity
    #expect(retry.delay(number) == 0)
  }

  @Test func aSecondManagerOfAFolderIsTold() throws {
    let first = try device.manager()
    #expect { try device.manager() } throws: { error in
      guard let error = error as? MapStoreError else { return false }
      return error.code == .busy && error.message.contains("in this process")
    }
    withExtendedLifetime(first) {}
  }

  @Test func aFailureIsThrownInTheLoop() async throws {
    let manager = try device.manager()
    let unknown = manager.installProgress(of: "none", from: device.client)
    await #expect { for try await _ in unknown {} } throws: { ($0 as? MapStoreError)?.code == .unknown }
  }

  @Test func leavingTheLoopStopsTheInstall() async throws {
    hang(after: 90_000)
    let manager = try device.manager()
    for try await progress in manager.installProgress(of: "alps", from: device.client) {
      if progress.bytesDone >= 90_000 { break }
    }
    for await state in manager.states() where state.installs.isEmpty { break }
    #expect(try manager.regions().flatMap(\.downloads).map(\.bytesDone) == [90_000])
    // Another one continues it.
    for try await _ in manager.installProgress(of: "alps", from: device.client) {}
    #expect(store.book.withLock { $0.files.last?.range } == "bytes=90000-\(region.bytes - 1)")
  }

  @Test func resumingTellsTheProgressAndTheFailure() async throws {
    hang(after: 90_000)
    let manager = try device.manager()
    for try await progress in manager.installProgress(of: "alps", from: device.client) {
      if progress.bytesDone >= 90_000 { break }
    }
    for await state in manager.states() where state.installs.isEmpty { break }
    store.book.withLock { $0.failures["GET /v1/regions/alps"] = [(404, nil)] }
    let refused = manager.resumeProgress(from: device.client)
    await #expect { for try await _ in refused {} } throws: { ($0 as? MapStoreError)?.code == .unknown }
    #expect(try manager.installed() == [])
    for try await _ in manager.installProgress(of: "alps", from: device.client) {}
    for try await progress in manager.resumeProgress(from: device.client) { Issue.record("\(progress)") }
    #expect(try manager.installed().map(\.part) == [part])
  }

  @Test func resumingEndsWithTheInstall() async throws {
    hang(after: 90_000)
    let manager = try device.manager()
    for try await progress in manager.installProgress(of: "alps", from: device.client) {
      if progress.bytesDone >= 90_000 { break }
    }
    for await state in manager.states() where state.installs.isEmpty { break }
    var last: InstallProgress?
    for try await progress in manager.resumeProgress(from: device.client) { last = progress }
    #expect(last?.part == part && last?.phase == .installed)
    #expect(try manager.installed().map(\.part) == [part])
  }

  @Test func tilePacksTellTheirProgress() async throws {
    let region = try shop.publish("coast", packs: true)
    store.book.withLock { _ = $0.owned.insert("coast") }
    let manager = try device.manager()
    let ground = MapGround.point(longitude: 10, latitude: 46)
    var last: InstallProgress?
    for try await progress in manager.installProgress(of: "coast", around: ground, from: device.client) {
      #expect(progress.part.region == "coast" && progress.part.pack != nil)
      last = progress
    }
    #expect(last?.phase == .installed)
    #expect(try manager.installed().map(\.part.pack) == region.packs.map(\.file))
  }

  /// What an app makes for its previews and tests.
  @Test func previewsHaveRegionsOfTheirOwn() {
    let file = InstalledFile(part: part, edition: "1", bytes: 5, sha256: "", installedAt: 7)
    let region = OfflineRegion(id: "alps", title: "The Alps", status: .ownedInstalled, installed: file)
    #expect(file.usedAt == 7 && region.title == "The Alps" && OfflineRegion(id: "alps").title == "alps")
    #expect(OfflineRegionsState(regions: [region]).installs.isEmpty)
  }

  /// All who wait see the progress, not only the one who began.
  @Test func theSecondCallerSeesTheProgressToo() async throws {
    hang(after: 90_000)
    let device = try Device(store, idleMax: 0.5)
    let manager = try device.manager()
    let client = device.client
    let seen = Locked([0, 0])
    let tasks = (0..<2).map { index in
      Task {
        try await manager.install("alps", from: client) { p in
          if p.phase == .installed { seen.withLock { $0[index] = p.bytesDone } }
        }
      }
    }
    for task in tasks { _ = try await task.value }
    #expect(seen.withLock { $0 } == [region.bytes, region.bytes])
    #expect(store.count("POST /v1/downloads") == 1)
  }

  @Test func theStateFollowsDownloadPauseInstallAndRemoval() async throws {
    hang(after: 90_000)
    let manager = try device.manager()
    let client = device.client
    func wait(_ what: String, until isThere: (OfflineRegionsState) -> Bool) async {
      for await state in manager.states() where isThere(state) { return }
      Issue.record("\(what)")
    }
    await wait("empty at first") { $0 == OfflineRegionsState() }
    try await manager.refreshLibrary(from: client)
    await wait("owned") { $0.regions.first?.status == .ownedNotInstalled }
    let install = Task { try await manager.install("alps", from: client) }
    await wait("bytes") { ($0.installs[part]?.bytesDone ?? 0) >= 90_000 }
    try await manager.pause("alps")
    _ = await install.result
    await wait("paused") { $0.installs.isEmpty && $0.regions.first?.downloads.first?.isPaused == true }
    try await manager.install("alps", from: client)
    await wait("installed") { $0.installs.isEmpty && $0.regions.first?.status == .ownedInstalled }
    try await manager.uninstall("alps")
    await wait("removed") { $0.regions.first?.status == .ownedNotInstalled }
    // Readers that have left are forgotten.
    #expect(manager.hub.signal.listenerCount == 0)
  }

  #if canImport(Observation)
    @MainActor @Test func theModelFollowsTheState() async throws {
      let manager = try device.manager()
      let model = OfflineRegionsModel()
      let following = Task { await model.follow(manager) }
      try await manager.install("alps", from: device.client)
      while model.state.regions.first?.installed == nil { try await Task.sleep(for: .milliseconds(2)) }
      following.cancel()
      await following.value
    }
  #endif

  @Test func theRateIsThatOfTheLastSeconds() {
    var pace = TransferPace()
    #expect(pace.rate(of: 1000, at: 0) == nil)
    #expect(pace.rate(of: 2000, at: 0.1) == nil)
    #expect(pace.rate(of: 5000, at: 1) == 4000)
    var bytes = 5000
    for tick in 1...2000 {
      bytes += 100
      _ = pace.rate(of: bytes, at: 1 + Double(tick) / 100)
    }
    // 10,000 bytes a second since the second second; the first one is forgotten.
    let rate = pace.rate(of: bytes, at: 21)
    #expect(rate.map { abs($0 - 10_000) < 200 } == true, "\(rate as Any)")
    // Nothing arrives any more.
    #expect(pace.rate(of: bytes, at: 40).map { $0 < 3000 } == true)
    #expect(pace.rate(of: bytes, at: 60) == 0)
    // A download that begins anew has no rate yet.
    #expect(pace.rate(of: 0, at: 61) == nil)
    pace.rest()
    #expect(pace.rate(of: 10, at: 90) == nil)
  }

  @Test func theTimeLeftFollowsFromTheRate() {
    var progress = InstallProgress(part: part, edition: "1", phase: .downloading, bytesDone: 1000, bytesTotal: 4000)
    #expect(progress.secondsLeft == nil)
    progress.bytesPerSecond = 1500
    #expect(progress.secondsLeft == 2)
    progress.bytesPerSecond = 0
    #expect(progress.secondsLeft == nil)
  }
}
