import MapStoreClient
import PurchaseLedger
import RegionCatalog
import TileIndex

/// Buys a region, installs it, looks into it, deletes it and fetches it again: ShopClient SERVER FOLDER KEYS REGION
@main struct ShopClient {
  static func main() async throws {
    let words = CommandLine.arguments
    guard words.count == 5 else { return print("usage: ShopClient SERVER FOLDER FAKE-STORE-KEYS REGION") }
    let (client, id) = (StoreClient(address: words[1]), words[4])
    let regions = try OfflineRegionManager(folder: words[2], grants: .init(keysChanged: { _ in }))
    let anna = Credentials(login: "anna", password: "a long password")
    let account = try await client.register(anna)
    try await client.signIn(anna)

    // An app has StoreKit and AppStoreQueue in place of the fake store and its queue.
    let product = try await client.region(id).region.productId
    let queue = Queue(try FakeAppStore(keyFile: words[3]).sell(product, to: account.appAccountToken))
    for purchase in try await regions.sync(with: client, queue: queue).purchases { print(purchase.result.outcome) }
    for _ in 1...2 {
      for try await progress in regions.installProgress(of: id, from: client) {
        print(progress.phase, progress.bytesDone, progress.bytesPerSecond ?? 0, progress.secondsLeft ?? 0)
      }
      let bundle = try BundleFile.open(regions.path(of: RegionPart(region: id)))
      print("zooms \(try bundle.zooms()), usable: \(try regions.isUsable(id))")
      try await regions.uninstall(id)
    }
    await client.shutdown()
  }

  /// What was paid and is not delivered yet.
  actor Queue: StoreQueue {
    private var paid: [OutstandingTransaction]
    init(_ one: FakeAppStore.SignedPurchase) { paid = [OutstandingTransaction(id: one.id, signed: one.signed)] }
    func outstanding() -> [OutstandingTransaction] { paid }
    func finish(_ id: String) { paid.removeAll { $0.id == id } }
  }
}
