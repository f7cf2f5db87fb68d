import MapStoreWire
import RegionCatalog
import Support
import TestSupport
import Testing
import TileIndex

@testable import MapStoreClient

/// Updates from one edition to the next.
@Suite(.ownThread) struct EditionTests {
  private let shop: SampleShop
  private let store: ChaosStore
  private let device: Device

  init() throws {
    shop = try SampleShop()
    try shop.publish("alps")
    store = try ChaosStore(shop, owned: ["alps"])
    device = try Device(store)
  }

  @Test func patchGivesTheNewEditionByteForByte() async throws {
    let manager = try device.manager()
    try await manager.install("alps", from: device.client)
    let next = try shop.publish("alps")
    let patch = try #require(next.patches.first)
    #expect(patch.bytes < next.bytes / 2)
    store.book.withLock { $0.files = [] }
    store.fault.withLock { $0 = { $0.number == 1 ? .cut(20_000) : .none } }
    let phases = Locked<Set<InstallProgress.Phase>>([])
    let file = try await manager.install("alps", from: device.client) { p in phases.withLock { _ = $0.insert(p.phase) }
    }
    #expect(file.edition == "2")
    #expect(try device.folder.bytes("alps.mbtiles") == shop.folder.bytes(next.file))
    #expect(store.book.withLock { $0.files.allSatisfy(\.isPatch) && $0.files.count == 2 })
    #expect(phases.withLock { $0.contains(.patching) })
    #expect(device.remains == [])
  }

  /// If a patch does not fit the installed edition, the whole bundle is downloaded.
  @Test(arguments: ["base", "patch", "info", "tiles"])
  func theWholeIsDownloadedIfThePatchFails(damaged: String) async throws {
    let manager = try device.manager()
    try await manager.install("alps", from: device.client)
    let next = try shop.publish("alps")
    if damaged == "base" {
      var bytes = Array(try device.folder.bytes("alps.mbtiles"))
      let place = bytes.count / 2
      for offset in 0..<4000 { bytes[place + offset] ^= 0xff }
      try device.folder.write("alps.mbtiles", bytes: bytes)
    } else if damaged != "patch" {
      // A table of a patch that matches the catalogue's hash is a view whose rows have no end.
      let patch = try #require(next.patches.first)
      let connection = try SQLiteConnection(creating: shop.folder.file(patch.file))
      try connection.execute(
        """
        ALTER TABLE \(damaged) RENAME TO other;
        CREATE VIEW \(damaged) AS WITH RECURSIVE n(i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM n)
        SELECT other.* FROM n, other;
        """)
      try connection.close()
      try shop.replaceFile(of: "alps", patch: patch.file, with: Array(shop.folder.bytes(patch.file)))
    } else {
      // A file that matches the catalogue's hash, but is not a patch.
      let patch = try #require(next.patches.first)
      try shop.replaceFile(of: "alps", patch: patch.file, with: [UInt8](repeating: 7, count: 900))
    }
    let file = try await manager.install("alps", from: device.client)
    #expect(file.edition == "2")
    #expect(try device.folder.bytes("alps.mbtiles") == shop.folder.bytes(next.file))
    #expect(store.book.withLock { $0.files.contains { $0.isPatch } && $0.files.contains { $0.file == next.file } })
    #expect(device.remains == [])
  }

  @Test func withoutAPatchTheWholeIsDownloaded() async throws {
    let manager = try device.manager()
    try await manager.install("alps", from: device.client)
    try shop.publish("alps")
    let third = try shop.publish("alps")
    // The patch leads from 2, and 1 is installed.
    let file = try await manager.install("alps", from: device.client)
    #expect(file.edition == "3" && file.sha256 == third.sha256)
    #expect(store.book.withLock { !$0.files.contains { $0.isPatch } })
  }

  /// An edition is published during a download.
  @Test func editionPublishedDuringADownload() async throws {
    let shop = shop
    let first = try #require(shop.region("alps"))
    let published = Locked(false)
    store.fault.withLock {
      $0 = { request in
        guard request.file == first.file, request.number == 1 else { return .none }
        published.withLock { done -> Void in
          if !done { _ = try? shop.publish("alps") }
          done = true
        }
        return .cut(60_000)
      }
    }
    // Links of the old edition become invalid.
    store.book.withLock { $0.linksDie = true }
    let file = try await device.manager { $0.retry.attemptsMax = 3 }.install("alps", from: device.client)
    #expect(["1", "2"].contains(file.edition))
    #expect(try device.edition("alps", of: [first, try #require(shop.region("alps"))]) == file.edition)
  }

  /// Half of the old edition is on the disk when the process ends, and then the next one is published.
  @Test func partialDownloadOfAnOldEditionIsDiscarded() async throws {
    store.fault.withLock { $0 = { _ in .cut(60_000) } }
    await #expect(throws: MapStoreError.self) {
      try await device.manager { $0.retry.attemptsMax = 1 }.install("alps", from: device.client)
    }
    #expect(device.remains.count == 1)
    let next = try shop.publish("alps")
    store.fault.withLock { $0 = { _ in .none } }
    let file = try await device.manager().install("alps", from: device.client)
    #expect(file.sha256 == next.sha256)
    #expect(device.remains == [])
  }

  @Test func packsAreInstalledOneByOneAndReplacedByTheWholeRegion() async throws {
    let region = try shop.publish("coast", packs: true)
    store.book.withLock { _ = $0.owned.insert("coast") }
    let manager = try device.manager()
    let told = Locked<[InstalledFile]>([])
    let folder = device.folder
    let files = try await manager.install(
      "coast", around: .point(longitude: 10, latitude: 46), from: device.client,
      onInstalled: { file in
        // Usable as soon as it is reported.
        #expect((try? MBTilesReader(path: folder.file(file.part.pack ?? ""))) != nil)
        told.withLock { $0.append(file) }
      })
    #expect(files.map(\.part.pack) == region.packs.map(\.file))
    #expect(told.withLock { $0 } == files)
    for file in files { #expect(try device.folder.bytes(file.part.pack!) == shop.folder.bytes(file.part.pack!)) }
    let listed = try #require(try manager.regions().first { $0.id == "coast" })
    #expect(listed.installed == nil && listed.packs.count == 2)
    try await manager.install("coast", from: device.client)
    #expect(device.folder.names.filter { $0.hasPrefix("coast") } == ["coast.mbtiles"])
  }

  /// The process is killed after the whole region was installed and before its packs were removed. They are removed at
  /// the next opening, except those of an edition that the whole region does not have yet.
  @Test func packsThatTheWholeRegionContainsAreRemovedAtOpening() async throws {
    try shop.publish("coast", packs: true)
    store.book.withLock { _ = $0.owned.insert("coast") }
    let whole = RegionPart(region: "coast")
    let clock = Locked<Int64>(1000)
    func open() throws -> OfflineRegionManager {
      try device.manager {
        $0.clock = DeviceClock {
          clock.withLock { time in
            time += 10
            return time
          }
        }
      }
    }
    do {
      let manager = try open()
      try await manager.install("coast", around: .point(longitude: 10, latitude: 46), from: device.client)
      _ = try await manager.install(whole, from: device.client, onProgress: { _ in })
      #expect(try manager.installed().count == 3)
    }
    let new: Catalog.Region
    do {
      let manager = try open()
      #expect(try manager.installed().map(\.part) == [whole])
      #expect(device.folder.names.filter { $0.hasPrefix("coast") } == ["coast.mbtiles"])
      new = try shop.publish("coast", packs: true)
      try await manager.install("coast", around: .point(longitude: 10, latitude: 46), from: device.client)
    }
    #expect(try open().installed().map(\.part.pack) == [nil] + new.packs.map(\.file))
  }

  /// Packs are replaced by those of the new edition that cover the same area, and no others are installed. Old ones
  /// stay until all new ones are installed.
  @Test func packsAreUpdated() async throws {
    let old = try shop.publish("coast", packs: true)
    store.book.withLock { _ = $0.owned.insert("coast") }
    let manager = try device.manager { $0.retry.attemptsMax = 1 }
    // The overview alone.
    _ = try await manager.install(
      RegionPart(region: "coast", pack: old.packs[0].file), from: device.client, onProgress: { _ in })
    try await manager.refreshLibrary(from: device.client)
    #expect(try await manager.update(from: device.client).isEmpty)
    let new = try shop.publish("coast", packs: true)
    try await manager.refreshLibrary(from: device.client)
    store.fault.withLock { $0 = { _ in .status(500, retryAfter: nil) } }
    let failed = try await manager.update(from: device.client)
    #expect(failed.count == 1 && (try? failed[0].result.get()) == nil)
    #expect(device.folder.names.filter { $0.hasPrefix("coast") } == [old.packs[0].file])
    store.fault.withLock { $0 = { _ in .none } }
    let done = try await manager.update(from: device.client)
    #expect(try done.map { try $0.result.get().part.pack } == [new.packs[0].file])
    #expect(device.folder.names.filter { $0.hasPrefix("coast") } == [new.packs[0].file])
    #expect(try device.folder.bytes(new.packs[0].file) == shop.folder.bytes(new.packs[0].file))
    #expect(try await manager.update(from: device.client).isEmpty)
  }

  @Test func onlyInstalledRegionsAreUpdated() async throws {
    try shop.publish("delta")
    store.book.withLock { _ = $0.owned.insert("delta") }
    let manager = try device.manager()
    try await manager.install("alps", from: device.client)
    let next = try shop.publish("alps")
    try await manager.refreshLibrary(from: device.client)
    let done = try await manager.update(from: device.client)
    #expect(try done.map { try $0.result.get().edition } == ["2"])
    #expect(try device.folder.bytes("alps.mbtiles") == shop.folder.bytes(next.file))
    #expect(!device.folder.names.contains("delta.mbtiles"))
  }

  @Test func removedRegionsStayOwned() async throws {
    let manager = try device.manager()
    try await manager.install("alps", from: device.client)
    _ = try await manager.sync(with: device.client)
    #expect(try manager.regions().first?.status == .ownedInstalled)
    try shop.publish("alps")
    #expect(try await manager.refreshLibrary(from: device.client).first?.status == .updateAvailable)
    #expect(try manager.regions().first?.patchBytes != nil)
    try await manager.uninstall("alps")
    #expect(try manager.regions().first?.status == .ownedNotInstalled)
    #expect(device.folder.names == [".mapstore"])
    try await manager.install("alps", from: device.client)
    #expect(try manager.regions().first?.status == .ownedInstalled)
  }

  @Test func filesRemovedOrChangedByOthersAreNoticed() async throws {
    do {
      let manager = try device.manager()
      try await manager.install("alps", from: device.client)
      #expect(try await manager.verify("alps"))
      var bytes = Array(try device.folder.bytes("alps.mbtiles"))
      bytes[bytes.count / 2] ^= 1
      try device.folder.write("alps.mbtiles", bytes: bytes)
      #expect(try await !manager.verify("alps"))
      #expect(try manager.installed().isEmpty)
      try await manager.install("alps", from: device.client)
    }
    try device.folder.write("alps.mbtiles", bytes: [1, 2, 3])
    #expect(try device.manager().installed().isEmpty)
  }
}
