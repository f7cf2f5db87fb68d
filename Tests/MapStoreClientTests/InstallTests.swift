import Foundation
import MapStoreWire
import RegionCatalog
import TestSupport
import Testing
import TileIndex

@testable import MapStoreClient

/// Installs over real HTTP, with failures of network and server.
@Suite(.ownThread) struct InstallTests {
  private let shop: SampleShop
  private let store: ChaosStore
  private let region: Catalog.Region

  init() throws {
    shop = try SampleShop()
    region = try shop.publish("alps")
    store = try ChaosStore(shop, owned: ["alps"])
  }

  @Test func installsByteForByte() async throws {
    let device = try Device(store)
    let phases = Locked<[InstallProgress]>([])
    let manager = try device.manager()
    let file = try await manager.install("alps", from: device.client) { progress in
      phases.withLock { $0.append(progress) }
    }
    #expect(file.sha256 == region.sha256 && file.edition == "1")
    #expect(try device.folder.bytes("alps.mbtiles") == shop.folder.bytes(region.file))
    #expect(device.remains == [])
    let seen = phases.withLock { $0 }
    #expect(seen.last?.phase == .installed)
    #expect(seen.contains { $0.phase == .verifying })
    #expect(zip(seen, seen.dropFirst()).allSatisfy { $0.bytesDone <= $1.bytesDone })
    // A second install downloads nothing.
    let requests = store.book.withLock { $0.files.count }
    #expect(try await manager.install("alps", from: device.client) == file)
    #expect(store.book.withLock { $0.files.count } == requests)
  }

  /// What an install answers is on the disk: a damaged file is downloaded again, whoever damaged it.
  @Test(arguments: [false, true]) func aDamagedFileIsInstalledAgain(isRemoved: Bool) async throws {
    let device = try Device(store)
    let manager = try device.manager()
    try await manager.install("alps", from: device.client)
    let whole = Array(try device.folder.bytes("alps.mbtiles"))
    for damage in 0..<3 {
      var bytes = whole
      switch damage {
      case 0: bytes[bytes.count / 2] ^= 1
      case 1: bytes.removeLast(5000)
      default: bytes = []
      }
      try device.folder.write("alps.mbtiles", bytes: bytes)
      if isRemoved, damage == 2 { try FileManager.default.removeItem(atPath: device.folder.file("alps.mbtiles")) }
      let requests = store.book.withLock { $0.files.count }
      let file = try await manager.install("alps", from: device.client)
      let again = Array(try device.folder.bytes("alps.mbtiles"))
      #expect(file.sha256 == region.sha256 && again == whole)
      #expect(store.book.withLock { $0.files.count } == requests + 1)
    }
  }

  /// A message for people names the address, and not its last part, which names nothing.
  @Test func errorsNameTheWholeAddress() throws {
    let error = MapStoreError(.refused, "https://maps.example.com/v1/library?page=2", "the server answered 400")
    #expect(error.errorDescription == "https://maps.example.com/v1/library: the server answered 400.")
    #expect(MapStoreError(.storage, "/a/maps", "is full").errorDescription == "maps: is full.")
  }

  /// The faults of a server's first answers.
  static let troubles: [(String, [ChaosStore.Fault])] = [
    ("cut at once", [.cut(0), .cut(0)]),
    ("cut within a piece", [.cut(1000), .cut(1)]),
    ("cut after several pieces", [.cut(100_000), .cut(30_001), .cut(77)]),
    ("hangs", [.hang(20_000)]),
    ("does not know ranges", [.cut(50_000), .wholeFile]),
    ("never knows ranges and is cut", [.cut(20_000), .cut(60_000), .wholeFile]),
    ("another range", [.cut(70_000), .range(10..<500), .range(0..<60_000)]),
    ("a range beyond the one asked for", [.cut(40_000), .range(90_000..<95_000)]),
    ("a part without its place", [.cut(40_000), .namelessRange, .namelessRange]),
    ("wrong bytes", [.damage(5000)]),
    ("wrong bytes, then a cut", [.damage(5000), .cut(9000)]),
    ("busy", [.status(429, retryAfter: "0"), .status(503, retryAfter: nil), .status(500, retryAfter: nil)]),
    ("an encoding", [.encoding("gzip")]),
    ("link over", [.status(403, retryAfter: nil), .cut(5000), .status(410, retryAfter: nil)]),
    ("another tag", [.cut(30_000), .tag("\"other\"")]),
  ]

  @Test(arguments: troubles, Connections.allCases)
  func aDownloadSurvivesEveryFault(
    _ trouble: (name: String, faults: [ChaosStore.Fault]), over: Connections
  ) async throws {
    let (name, faults) = trouble
    let left = Locked(faults)
    store.fault.withLock { $0 = { _ in left.withLock { $0.isEmpty ? .none : $0.removeFirst() } } }
    let device = try Device(store, idleMax: name == "hangs" ? 0.5 : 20, over: over)
    let file = try await device.manager().install("alps", from: device.client)
    #expect(file.sha256 == region.sha256)
    #expect(try device.folder.bytes("alps.mbtiles") == shop.folder.bytes(region.file), "\(name)")
    #expect(left.withLock { $0.isEmpty }, "\(name): not all of it happened")
    #expect(device.remains == [])
  }

  /// Bytes on the disk are not requested again, except for the piece that was interrupted.
  @Test func interruptedDownloadResumesFromTheDisk() async throws {
    store.fault.withLock { $0 = { $0.number == 1 ? .hang(100_000) : .none } }
    let device = try Device(store, idleMax: 2)
    _ = try await device.manager().install("alps", from: device.client)
    let files = store.book.withLock { $0.files }
    #expect(files.count == 2)
    #expect(files[0].range == nil)
    #expect(files[1].range == "bytes=100000-\(region.bytes - 1)")
    #expect(files[1].ifRange == "\"\(region.sha256)\"")
  }

  /// The bytes of an earlier process are compared with their checksums; only differing pieces are fetched again.
  @Test func damagedPiecesAreFetchedAgain() async throws {
    store.fault.withLock { $0 = { _ in .hang(80_000) } }
    let device = try Device(store, idleMax: 2)
    await #expect(throws: MapStoreError.self) {
      try await device.manager { $0.retry.attemptsMax = 1 }.install("alps", from: device.client)
    }
    let part = try #require(device.remains.first)
    var bytes = Array(try device.folder.bytes(".mapstore/\(part)"))
    try #require(bytes.count == 80_000)
    bytes[60_000] ^= 1
    try device.folder.write(".mapstore/\(part)", bytes: bytes)
    store.fault.withLock { $0 = { _ in .none } }
    store.book.withLock { $0.files = [] }
    let file = try await device.manager().install("alps", from: device.client)
    #expect(file.sha256 == region.sha256)
    let ranges = store.book.withLock { $0.files.map(\.range) }
    try #require(ranges.count == 2, "\(ranges)")
    let damaged = try #require(ranges[0]?.dropFirst("bytes=".count).split(separator: "-").compactMap { Int($0) })
    #expect(damaged[0] <= 60_000 && damaged[0] > 0 && damaged[1] >= 60_000 && damaged[1] < 79_999, "\(ranges)")
    #expect(ranges[1] == "bytes=80000-\(region.bytes - 1)", "\(ranges)")
  }

  @Test func aServerWithAWrongFileIsReported() async throws {
    store.fault.withLock { $0 = { _ in .damage(4321) } }
    let device = try Device(store)
    await #expect { try await device.manager().install("alps", from: device.client) } throws: {
      ($0 as? MapStoreError)?.code == .damaged
    }
    #expect(!device.folder.names.contains("alps.mbtiles"))
  }

  @Test func aFailingServerIsReportedAndReceivedBytesStay() async throws {
    store.fault.withLock { $0 = { $0.number == 1 ? .hang(50_000) : .status(503, retryAfter: nil) } }
    let device = try Device(store, idleMax: 2)
    let manager = try device.manager()
    await #expect { try await manager.install("alps", from: device.client) } throws: {
      ($0 as? MapStoreError)?.code == .unreachable
    }
    let way = try #require(try manager.regions().first?.downloads.first)
    #expect(way.bytesDone == 50_000 && !way.isPaused)
  }

  /// The account's other devices use all concurrent downloads. The server's 429 counts as no failure, however often.
  @Test func aBusyAccountIsWaitedFor() async throws {
    store.fault.withLock { $0 = { $0.number <= 20 ? .status(429, retryAfter: "0") : .none } }
    let device = try Device(store)
    let waits = Locked(0)
    let file = try await device.manager().install("alps", from: device.client) { progress in
      if progress.phase == .waiting { waits.withLock { $0 += 1 } }
    }
    #expect(file.sha256 == region.sha256)
    #expect(store.book.withLock { $0.files.count } == 21 && waits.withLock { $0 } == 20)
  }

  /// The server's limits of links and requests are waited for, however often it names them, and the app is told.
  @Test(arguments: ["GET /v1/regions/alps", "POST /v1/downloads"])
  func limitsOfTheServerAreWaitedFor(_ request: String) async throws {
    store.book.withLock { $0.failures[request] = Array(repeating: (429, "0"), count: 20) }
    let device = try Device(store)
    let waits = Locked<[InstallProgress]>([])
    let file = try await device.manager().install("alps", from: device.client) { progress in
      if progress.phase == .waiting { waits.withLock { $0.append(progress) } }
    }
    #expect(file.sha256 == region.sha256 && store.count(request) == 21)
    // A handler that is busy misses some.
    #expect((1...20).contains(waits.withLock { $0.count }))
    #expect(waits.withLock { $0.allSatisfy { $0.complaint?.contains("429") == true } })
  }

  /// A new installation of the server has another entity tag for the same bytes: downloaded bytes are kept.
  @Test func anotherTagOfTheSameBytesCostsNothing() async throws {
    store.fault.withLock { $0 = { $0.number == 1 ? .hang(100_000) : .tag("\"of another server\"") } }
    let device = try Device(store, idleMax: 2)
    #expect(try await device.manager().install("alps", from: device.client).sha256 == region.sha256)
    let files = store.book.withLock { $0.files }
    #expect(files.map(\.range) == [nil] + Array(repeating: "bytes=100000-\(region.bytes - 1)", count: 2))
    #expect(files.last?.ifRange == nil)
  }

  @Test func aLongRetryAfterEndsTheAttempt() async throws {
    store.fault.withLock { $0 = { _ in .status(429, retryAfter: "3600") } }
    let device = try Device(store)
    await #expect { try await device.manager().install("alps", from: device.client) } throws: {
      ($0 as? MapStoreError)?.remedy?.contains("3600 s") == true
    }
  }

  @Test func regionsThatAreNotOwnedAreNotDownloaded() async throws {
    store.book.withLock { $0.owned = [] }
    let device = try Device(store)
    await #expect { try await device.manager().install("alps", from: device.client) } throws: {
      ($0 as? MapStoreError)?.code == .notOwned
    }
    await #expect { try await device.manager().install("atlantis", from: device.client) } throws: {
      ($0 as? MapStoreError)?.code == .unknown
    }
  }

  @Test func anExpiredSessionIsRenewedOrReported() async throws {
    store.book.withLock { $0.tokens = [] }
    let silent = try Device(store)
    await #expect { try await silent.manager().install("alps", from: silent.client) } throws: {
      ($0 as? MapStoreError)?.code == .signedOut
    }
    let device = try Device(store, credentials: Credentials(login: "a", password: "password"))
    #expect(try await device.manager().install("alps", from: device.client).edition == "1")
    #expect(store.count("POST /v1/sessions") == 1)
    store.book.withLock { $0.tokens = [] }
    let wrong = try Device(store, credentials: Credentials(login: "a", password: "wrong"))
    await #expect { try await wrong.manager().install("alps", from: wrong.client) } throws: {
      ($0 as? MapStoreError)?.code == .signedOut
    }
  }

  @Test func downloadsAreBounded() async throws {
    let ids = (0..<6).map { "r\($0)" }
    for id in ids { try shop.publish(id) }
    store.book.withLock { $0.owned = Set(ids) }
    let device = try Device(store)
    let manager = try device.manager { $0.downloadsMax = 2 }
    let busy = Locked<(now: Set<String>, most: Int)>(([], 0))
    try await withThrowingTaskGroup(of: Void.self) { group in
      for id in ids {
        group.addTask {
          try await manager.install(id, from: device.client) { progress in
            busy.withLock { busy in
              if progress.phase == .installed { busy.now.remove(id) } else { busy.now.insert(id) }
              busy.most = max(busy.most, busy.now.count)
            }
          }
        }
      }
      try await group.waitForAll()
    }
    #expect(busy.withLock { $0.most } <= 2)
    #expect(try manager.installed().count == 6)
  }
}
