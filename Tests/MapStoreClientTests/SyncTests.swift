import MapStoreWire
import RegionCatalog
import TestSupport
import Testing
import TileIndex

@testable import MapStoreClient

/// Interrupted purchases and interrupted downloads, in their order, cut off at every point.
@Suite(.ownThread) struct SyncTests {
  /// An app store's queue that can fail, and that keeps purchases until they are finished.
  private final class Queue: StoreQueue {
    let open: Locked<[OutstandingTransaction]>
    let log = Locked<[String]>([])
    /// Fails instead of finishing, like a process that is killed there.
    let dies = Locked(false)

    init(_ ids: [String]) {
      open = Locked(ids.map { OutstandingTransaction(id: "tx-\($0)", signed: $0) })
    }

    struct Died: Error {}

    func outstanding() async throws -> [OutstandingTransaction] { open.withLock { $0 } }
    func finish(_ id: String) async throws {
      if dies.withLock({ $0 }) { throw Died() }
      log.withLock { $0.append(id) }
      open.withLock { $0.removeAll { $0.id == id } }
    }
  }

  private let shop: SampleShop
  private let store: ChaosStore
  private let device: Device

  init() throws {
    shop = try SampleShop()
    for id in ["alps", "coast", "delta"] { try shop.publish(id) }
    store = try ChaosStore(shop)
    device = try Device(store)
  }

  /// A server that tells no titles, and a region that left the library: the id stands in.
  @Test func regionsHaveTitleAndProduct() async throws {
    let manager = try device.manager()
    store.book.withLock { $0.owned = ["alps"] }
    let regions = try await manager.refreshLibrary(from: device.client)
    #expect(regions.map(\.title) == shop.catalogue.regions.map(\.title))
    #expect(regions.map(\.productId) == shop.catalogue.regions.map(\.productId))
    store.lie.withLock { lie in
      lie = { name, answer in
        guard name == "POST /v1/library", var library = try? WireJSON.decode(Library.self, from: answer.body) else {
          return answer
        }
        for index in library.regions.indices { library.regions[index].title = nil }
        var answer = answer
        answer.body = (try? WireJSON.encode(library)) ?? []
        return answer
      }
    }
    #expect(try await manager.refreshLibrary(from: device.client).map(\.title) == ["alps", "coast", "delta"])
    try await manager.install("alps", from: device.client)
    store.lie.withLock { lie in
      lie = { name, answer in
        guard name == "POST /v1/library" else { return answer }
        var answer = answer
        answer.body = Array(#"{"regions":[]}"#.utf8)
        return answer
      }
    }
    let left = try #require(try await manager.refreshLibrary(from: device.client).first)
    #expect((left.id, left.title) == ("alps", "alps") && left.productId == shop.region("alps")?.productId)
  }

  @Test func purchasesComeBeforeTheLibraryAndThatBeforeDownloads() async throws {
    store.book.withLock { $0.owned = ["coast"] }
    store.fault.withLock { $0 = { $0.number == 1 ? .cut(30_000) : .none } }
    let manager = try device.manager { $0.retry.attemptsMax = 1 }
    await #expect(throws: MapStoreError.self) { try await manager.install("coast", from: device.client) }
    store.book.withLock { $0.requests = [] }
    let queue = Queue(["alps"])
    let report = try await manager.sync(with: device.client, queue: queue)
    #expect(report.purchases.map(\.result.outcome) == [.booked])
    #expect(queue.log.withLock { $0 } == ["tx-alps"])
    #expect(
      report.resumed.count == 1 && report.regions.map(\.status) == [.ownedNotInstalled, .ownedInstalled, .forSale])
    let order = store.book.withLock { $0.requests }.filter { !$0.contains("grants") }
    #expect(order.prefix(2) == ["POST /v1/purchases", "POST /v1/library"])
    #expect(
      order.dropFirst(2).allSatisfy { $0.contains("regions") || $0.contains("downloads") || $0.contains("files") })
  }

  /// Killed before the request, after the answer was lost, or before the app store is told: recorded once, finished
  /// once.
  @Test(arguments: ["before", "answer lost", "before finishing", "after the first was finished"])
  func cutOffAtEveryPoint(point: String) async throws {
    let queue = Queue(["alps", "coast"])
    do {
      let manager = try device.manager { $0.retry.attemptsMax = 1 }
      switch point {
      case "before":
        let nobody = try StoreClient(address: "http://127.0.0.1:1", session: device.client.session, retry: fewAttempts)
        await #expect { try await manager.sync(with: nobody, queue: queue) } throws: {
          ($0 as? MapStoreError)?.code == .unreachable
        }
      case "answer lost":
        // The server has recorded it, but its answer is lost.
        _ = try await device.client.submit(PurchaseSubmission(transactions: ["alps", "coast"]))
      case "before finishing":
        queue.dies.withLock { $0 = true }
        await #expect(throws: Queue.Died.self) { try await manager.sync(with: device.client, queue: queue) }
      default:
        try await queue.finish("tx-alps")
        _ = try await device.client.submit(PurchaseSubmission(transactions: ["alps", "coast"]))
      }
    }
    queue.dies.withLock { $0 = false }
    let report = try await device.manager().sync(with: device.client, queue: queue)
    #expect(queue.open.withLock { $0.isEmpty })
    #expect(Set(queue.log.withLock { $0 }) == ["tx-alps", "tx-coast"] && queue.log.withLock { $0.count } == 2)
    #expect(store.book.withLock { $0.booked.sorted() } == ["alps", "coast"])
    #expect(report.regions.prefix(2).allSatisfy { $0.status == .ownedNotInstalled })
  }

  private var fewAttempts: RetryRule {
    var retry = Device.retry()
    retry.attemptsMax = 2
    return retry
  }

  /// Pending and refused purchases stay in the store's queue.
  @Test func onlyRecordedPurchasesAreFinished() async throws {
    store.book.withLock { ($0.pending, $0.refused) = (["alps"], ["coast"]) }
    let queue = Queue(["alps", "coast", "delta"])
    let report = try await device.manager().sync(with: device.client, queue: queue)
    #expect(report.purchases.map(\.isFinished) == [false, false, true])
    #expect(queue.open.withLock { $0.map(\.signed) } == ["alps", "coast"])
    #expect(report.regions.map(\.status) == [.pendingApproval, .forSale, .ownedNotInstalled])
  }

  /// An unfinished purchase of the phone's previous account is left to that account, and does not disturb this one.
  @Test func anotherAccountsPurchaseIsLeftToIt() async throws {
    store.book.withLock { ($0.others, $0.refused) = (["alps"], ["coast"]) }
    let queue = Queue(["alps", "coast", "delta"])
    let report = try await device.manager().sync(with: device.client, queue: queue)
    #expect(report.purchases.map(\.isFinished) == [false, false, true])
    #expect(report.purchases.map(\.isOpen) == [false, true, false])
    #expect(queue.open.withLock { $0.map(\.signed) } == ["alps", "coast"])
    // The previous account signs in again.
    store.book.withLock { $0.others = [] }
    let later = try await device.manager().sync(with: device.client, queue: queue)
    #expect(later.purchases.first?.isFinished == true && later.regions.first?.status == .ownedNotInstalled)
  }

  /// A retired region is visible to its owners only, so its requests need a session.
  @Test func aRetiredRegionIsInstalledByItsOwner() async throws {
    store.book.withLock { ($0.owned, $0.retired) = (["alps"], ["alps", "coast"]) }
    let manager = try device.manager()
    #expect(try await manager.install("alps", from: device.client).edition == "1")
    await #expect { try await manager.install("coast", from: device.client) } throws: {
      ($0 as? MapStoreError)?.code == .unknown
    }
  }

  /// An ended session is renewed by the first request; if that is not possible, the error says so.
  @Test(arguments: [true, false])
  func endedSessionIsRenewedOrReported(canRenew: Bool) async throws {
    let device = try Device(store, credentials: canRenew ? Credentials(login: "a", password: "password") : nil)
    store.book.withLock { ($0.tokens, $0.owned, $0.retired) = ([], ["alps"], ["alps"]) }
    if canRenew {
      #expect(try await device.client.region("alps").region.id == "alps")
    } else {
      await #expect { try await device.client.region("alps") } throws: { ($0 as? MapStoreError)?.code == .signedOut }
      // The session has ended.
      #expect(device.client.session.details == nil)
      #expect(try await device.client.region("coast").region.id == "coast")
    }
  }

  @Test func manyPurchasesAreSentInBatches() async throws {
    let queue = Queue((0..<250).map { "p\($0)" })
    let report = try await device.manager().sync(with: device.client, queue: queue)
    #expect(report.purchases.count == 250 && queue.open.withLock { $0.isEmpty })
    #expect(store.count("POST /v1/purchases") == 3)
  }

  /// An install that the server refused is not installed by a later sync, even if the region is owned by then.
  @Test(arguments: [true, false]) func refusedInstallIsNotResumedBySync(isSignedOut: Bool) async throws {
    if isSignedOut {
      store.book.withLock { $0.failures["POST /v1/downloads"] = [(401, nil)] }
    } else {
      store.book.withLock { $0.owned = ["coast"] }
    }
    let manager = try device.manager()
    await #expect { try await manager.install("alps", from: device.client) } throws: {
      [.notOwned, .signedOut].contains(($0 as? MapStoreError)?.code)
    }
    #expect(try manager.regions().allSatisfy { $0.downloads.isEmpty } && device.remains == [])
    store.book.withLock { $0.owned = ["alps", "coast"] }
    let report = try await manager.sync(with: try Device(store).client)
    #expect(report.resumed.isEmpty && report.regions.first?.status == .ownedNotInstalled)
    #expect(store.book.withLock { $0.files.isEmpty })
  }

  /// A second phone, on which nothing was bought.
  @Test func secondPhoneListsOwnedRegions() async throws {
    _ = try await device.manager().sync(with: device.client, queue: Queue(["alps"]))
    let second = try Device(store)
    let report = try await second.manager().sync(with: second.client)
    #expect(report.regions.first?.status == .ownedNotInstalled)
    #expect(try await second.manager().install("alps", from: second.client).edition == "1")
  }

  @Test func requestsAreRepeatedAsTheServerAsks() async throws {
    store.book.withLock {
      $0.failures["POST /v1/library"] = [(503, nil), (429, "0"), (500, nil)]
      $0.failures["POST /v1/purchases"] = [(503, "0")]
    }
    let report = try await device.manager().sync(with: device.client, queue: Queue(["alps"]))
    #expect(report.regions.first?.status == .ownedNotInstalled)
    #expect(store.count("POST /v1/library") == 4)
    store.book.withLock { $0.failures["POST /v1/library"] = [(400, nil)] }
    await #expect { try await device.manager().sync(with: device.client) } throws: {
      ($0 as? MapStoreError)?.code == .refused
    }
    #expect(store.count("POST /v1/library") == 5)
  }
}
