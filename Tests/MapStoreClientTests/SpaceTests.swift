import MapStoreWire
import RegionCatalog
import Support
import TestSupport
import Testing
import TileIndex

@testable import MapStoreClient

/// Space on the disk, and the folder's quota.
@Suite(.ownThread) struct SpaceTests {
  private let shop: SampleShop
  private let store: ChaosStore
  private let device: Device

  init() throws {
    shop = try SampleShop()
    for id in ["alps", "coast", "delta"] { try shop.publish(id) }
    store = try ChaosStore(shop, owned: ["alps", "coast", "delta"])
    device = try Device(store)
  }

  private func failure(_ body: () async throws -> Void) async -> MapStoreError? {
    do {
      try await body()
      return nil
    } catch {
      return error as? MapStoreError
    }
  }

  @Test func noDownloadBeginsWithoutSpace() async throws {
    let bytes = try #require(shop.region("alps")).bytes
    let free = Locked(bytes - 1)
    let manager = try device.manager { $0.freeBytes = { _ in free.withLock { $0 } } }
    let error = try #require(await failure { try await manager.install("alps", from: device.client) })
    #expect(error.code == .noSpace && error.suggestions.isEmpty)
    #expect(device.remains == [] && store.count("POST /v1/downloads") == 0)
    free.withLock { $0 = bytes }
    try await manager.install("alps", from: device.client)
  }

  /// A patch needs space for itself and its result; without it the whole bundle may still fit.
  @Test func aPatchNeedsMoreRoomThanTheWhole() async throws {
    let free = Locked(Int.max / 2)
    let manager = try device.manager { $0.freeBytes = { _ in free.withLock { $0 } } }
    try await manager.install("alps", from: device.client)
    let next = try shop.publish("alps")
    let patch = try #require(next.patches.first)
    store.book.withLock { $0.files = [] }
    free.withLock { $0 = next.bytes + patch.bytes - 1 }
    #expect(try await manager.install("alps", from: device.client).edition == "2")
    #expect(store.book.withLock { $0.files.map(\.isPatch) } == [false])
    let third = try shop.publish("alps")
    free.withLock { $0 = third.bytes + third.patches[0].bytes }
    #expect(try await manager.install("alps", from: device.client).edition == "3")
    #expect(store.book.withLock { $0.files.last?.isPatch } == true)
  }

  @Test func theQuotaErrorSuggestsTheLeastRecentlyUsed() async throws {
    let sizes = ["alps", "coast", "delta"].map { shop.region($0)!.bytes }
    let time = Locked<Int64>(1_000_000)
    let manager = try device.manager {
      $0.quotaBytes = sizes[0] + sizes[1]
      $0.clock = DeviceClock {
        time.withLock {
          $0 += 1000
          return $0
        }
      }
    }
    try await manager.install("alps", from: device.client)
    try await manager.install("coast", from: device.client)
    try await manager.noteUse(of: "alps")
    let error = try #require(await failure { try await manager.install("delta", from: device.client) })
    #expect(error.code == .overQuota)
    #expect(error.suggestions.map(\.region) == (sizes[1] >= sizes[2] ? ["coast"] : ["coast", "alps"]))
    #expect(try manager.suggestions(toFree: sizes[0] + sizes[1]).map(\.region) == ["coast", "alps"])
    #expect(try manager.suggestions(toFree: .max / 2).isEmpty)
    for suggestion in error.suggestions { try await manager.uninstall(suggestion.region) }
    try await manager.install("delta", from: device.client)
  }

  /// Two simultaneous installs must not both count on the same space.
  @Test func downloadsUnderWayCount() async throws {
    let sizes = ["alps", "coast"].map { shop.region($0)!.bytes }
    store.fault.withLock { $0 = { _ in .hang(50_000) } }
    let device = try Device(store, idleMax: 2)
    let manager = try device.manager {
      $0.retry.attemptsMax = 1
      $0.freeBytes = { _ in sizes[0] + sizes[1] - 50_001 }
    }
    #expect(await failure { try await manager.install("alps", from: device.client) }?.code == .unreachable)
    #expect(await failure { try await manager.install("coast", from: device.client) }?.code == .noSpace)
    try await manager.pause("alps")
    #expect(await failure { try await manager.install("coast", from: device.client) }?.code == .unreachable)
  }

  @Test func freeSpaceIsReadFromTheSystem() throws {
    let options = OfflineRegionOptions()
    #expect(try options.freeBytes(device.folder.path) > 0)
    #expect(throws: FileSystem.SystemError.self) { try options.freeBytes(device.folder.file("none")) }
  }
}
