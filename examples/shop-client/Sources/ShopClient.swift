import Foundation
import MapStoreClient
import RegionCatalog
import StoreSimulators
import TileIndex

/// Buys a region, installs it, looks into it, deletes it and fetches it again: ShopClient SERVER FOLDER KEYS REGION
@main struct ShopClient {
  static func main() async {
    let words = CommandLine.arguments
    guard words.count == 5, let id = words.last else { return print("usage: ShopClient SERVER FOLDER KEYS REGION") }
    do {
      let client = try StoreClient(address: words[1])
      let anna = Credentials(login: "anna", password: "a long password")
      let regions = try OfflineRegionManager(folder: words[2], grants: .init(keysChanged: { _ in }))
      let token = try await client.register(anna).appAccountToken
      try await client.signIn(anna)
      let paid = try await FakeAppStore(keyFile: words[3]).sell(client.region(id).region.productId, to: token)
      for one in try await regions.sync(with: client, queue: Queue(paid)).purchases { print(one.result.outcome) }
      for _ in 1...2 {
        for try await at in regions.installProgress(of: id, from: client) { print(at.phase, at.fraction) }
        let bundle = try BundleFile.open(regions.path(of: RegionPart(region: id)))
        print("zooms \(try bundle.zooms()), usable: \(try regions.isUsable(id))")
        try await regions.uninstall(id)
      }
    } catch {
      FileHandle.standardError.write(Data("\(error)\n".utf8))
      exit(1)
    }
  }

  /// What was paid and is not delivered yet. An app has StoreKit and AppStoreQueue in place of it and the fake store.
  actor Queue: StoreQueue {
    private var paid: [OutstandingTransaction]
    init(_ one: FakeAppStore.SignedPurchase) { paid = [OutstandingTransaction(id: one.id, signed: one.signed)] }
    func outstanding() -> [OutstandingTransaction] { paid }
    func finish(_ id: String) { paid.removeAll { $0.id == id } }
  }
}
