import MapStoreClient

// The example of docs/reference/device.md, which `SnippetTests` compares with it.

func regionsOnDevice(
  kept: SessionDetails?, keep: @escaping @Sendable (SessionDetails?) -> Void, keptKeys: [GrantKey],
  keepKeys: @escaping @Sendable ([GrantKey]) -> Void, appStore: any StoreQueue
) async throws {
  // page.begin
  // The server's public keys, by which regions open without a network:
  let manager = try OfflineRegionManager(folder: "maps", grants: .init(keys: keptKeys, keysChanged: keepKeys))
  let client = try StoreClient(address: "https://maps.example.com", session: StoreSession(kept, changed: keep))
  // Purchases, library, grants, interrupted downloads:
  let report = try await manager.sync(with: client, queue: appStore)
  print(report.regions.map(\.id))
  for try await progress in manager.installProgress(of: "colorado", from: client) {
    print(progress.phase, progress.fraction, progress.bytesPerSecond ?? 0, progress.secondsLeft ?? 0)
  }
  // page.end
}
