import MapStoreWire
import RegionCatalog
import Support
import TestSupport
import Testing

@testable import MapStoreClient

/// Which networks downloads use, how many bytes they may take, and who fetches the bytes.
@Suite(.ownThread) struct TransferPolicyTests {
  private let shop: SampleShop
  private let store: ChaosStore
  private let device: Device
  private let region: Catalog.Region

  init() throws {
    shop = try SampleShop()
    region = try shop.publish("alps")
    try shop.publish("coast")
    store = try ChaosStore(shop, owned: ["alps", "coast"])
    device = try Device(store)
  }

  private var fileCount: Int { store.book.withLock { $0.files.count } }

  static let excluded: [(String, TransferPolicy, NetworkPath)] = {
    var saving = TransferPolicy()
    saving.usesConstrained = false
    return [
      ("paid by the byte", .wifiOnly, NetworkPath(isMetered: true)),
      ("limit on data", saving, NetworkPath(isConstrained: true)),
      ("for a network", TransferPolicy(), NetworkPath(isConnected: false)),
    ]
  }()

  @Test(arguments: excluded)
  func aDownloadWaitsForANetworkThatIsAllowed(words: String, policy: TransferPolicy, network: NetworkPath) async throws
  {
    let control = TransferControl(policy: policy, network: network)
    let manager = try device.manager { $0.transfers = control }
    var complaint: String?
    for try await progress in manager.installProgress(of: "alps", from: device.client) where progress.phase == .waiting
    {
      complaint = progress.complaint
      #expect(fileCount == 0)
      control.network = NetworkPath()
    }
    #expect(complaint?.contains(words) == true, "\(complaint as Any)")
    #expect(try manager.installed().count == 1)
    #expect(control.signal.listenerCount == 0)
  }

  /// The phone leaves the house while a region is downloaded, and comes back.
  @Test func aDownloadStopsWithTheNetworkAndContinues() async throws {
    let control = TransferControl(policy: .wifiOnly)
    store.fault.withLock {
      $0 = { $0.number == 1 ? .callback(90_000) { control.network = NetworkPath(isMetered: true) } : .none }
    }
    let manager = try device.manager { $0.transfers = control }
    var received = 0
    for try await progress in manager.installProgress(of: "alps", from: device.client) where progress.phase == .waiting
    {
      received = progress.bytesDone
      control.network = NetworkPath()
    }
    #expect(received > 0 && received < region.bytes)
    #expect(store.book.withLock { $0.files.map(\.range) } == [nil, "bytes=\(received)-\(region.bytes - 1)"])
  }

  @Test func whoeverWaitsCanBeCancelled() async throws {
    let manager = try device.manager {
      $0.transfers = TransferControl(policy: .wifiOnly, network: NetworkPath(isMetered: true))
    }
    for try await progress in manager.installProgress(of: "alps", from: device.client) where progress.phase == .waiting
    {
      break
    }
    for await state in manager.states() where state.installs.isEmpty { break }
    #expect(fileCount == 0)
  }

  /// The budget is kept from one start of the app to the next, until its period is over.
  @Test func theBudgetHoldsForAPeriod() async throws {
    let sizes = try ["alps", "coast"].map { try #require(shop.region($0)).bytes }
    let time = Locked<Int64>(1_000_000)
    func manager(_ bytes: Int) throws -> OfflineRegionManager {
      try device.manager {
        $0.clock = DeviceClock { time.withLock { $0 } }
        $0.transfers = TransferControl(network: NetworkPath(isMetered: true))
        $0.transfers.policy.budget = ByteBudget(bytes: bytes, seconds: 3600)
      }
    }
    func install(_ id: String, _ manager: OfflineRegionManager) async throws {
      try await manager.install(id, from: device.client)
    }
    func isOver(_ error: any Error) -> Bool { (error as? MapStoreError)?.code == .overBudget }
    await #expect { try await install("alps", manager(sizes[0] - 1)) } throws: { isOver($0) }
    #expect(fileCount == 0)
    try await install("alps", manager(sizes[0]))
    await #expect { try await install("coast", manager(sizes[0] + sizes[1] - 1)) } throws: { isOver($0) }
    time.withLock { $0 += 3_599_999 }
    await #expect { try await install("coast", manager(sizes[0] + sizes[1] - 1)) } throws: { isOver($0) }
    // Over a network that is not counted.
    do {
      let free = try manager(0)
      free.options.transfers.network = NetworkPath()
      try await install("coast", free)
      try await free.uninstall("coast")
    }
    time.withLock { $0 += 1 }
    try await install("coast", manager(sizes[1]))
  }

  /// Bytes that arrive in vain count too, and end a download that fitted when it began.
  @Test func wastedBytesCount() async throws {
    store.fault.withLock { $0 = { $0.number == 1 ? .damage(5000) : .none } }
    let manager = try device.manager {
      $0.transfers.policy.budget = ByteBudget(bytes: region.bytes + 50_000, countsMeteredOnly: false)
    }
    await #expect { try await manager.install("alps", from: device.client) } throws: {
      ($0 as? MapStoreError)?.code == .overBudget
    }
    #expect(fileCount == 2)
    manager.options.transfers.policy.budget = nil
    try await manager.install("alps", from: device.client)
  }

  /// A transport of the app's own: the keys tell the same bytes, although each URL is another one.
  @Test func theAppMayFetchTheBytes() async throws {
    struct Shelf: FileTransport {
      let bytes: [UInt8]
      let requests = Locked<[FileRequest]>([])
      struct Lost: Error {}

      func get(_ request: FileRequest, received: @escaping @Sendable (Int) -> Void) async throws -> FileAnswer {
        let number = requests.withLock { all in
          all.append(request)
          return all.count
        }
        if number == 1 { throw Lost() }
        if number == 2 { return FileAnswer(status: 503, fields: [], body: AsyncThrowingStream { nil }) }
        received(1234)
        return FileAnswer(
          status: 200, fields: [("content-length", "\(bytes.count)")],
          body: AsyncThrowingStream { continuation in
            continuation.yield(bytes)
            continuation.finish()
          })
      }
    }
    let shelf = Shelf(bytes: try shop.bytes(region.file))
    let manager = try device.manager { $0.transport = shelf }
    let done = Locked<Set<Int>>([])
    try await manager.install("alps", from: device.client) { p in done.withLock { _ = $0.insert(p.bytesDone) } }
    #expect(try device.folder.bytes("alps.mbtiles") == shop.folder.bytes(region.file))
    #expect(done.withLock { $0.contains(1234) } && fileCount == 0)
    let keys = shelf.requests.withLock { $0.map(\.key) }
    #expect(keys == Array(repeating: "\(region.sha256)-0-\(region.bytes)", count: 3))
  }
}
