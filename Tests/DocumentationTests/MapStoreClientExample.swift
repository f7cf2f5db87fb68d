// snippet.begin
import MapStoreClient

/// Signs in, installs every region that the account owns, and returns the paths of the bundles that may be opened.
func installOwnedRegions(
  from server: String, _ credentials: Credentials, into folder: String
) async throws -> [String] {
  // An app keeps session and keys in the system's key store.
  let client = try StoreClient(address: server)
  try await client.signIn(credentials)
  let rule = OfflineGrants.Rule(keysChanged: { keys in print("\(keys.count) keys to keep") })
  let regions = try OfflineRegionManager(folder: folder, grants: rule)

  // Purchases, library, grants, interrupted downloads.
  let report = try await regions.sync(with: client)
  for region in report.regions where region.status == .ownedNotInstalled || region.status == .updateAvailable {
    for try await progress in regions.installProgress(of: region.id, from: client) {
      print(progress.phase, progress.fraction, progress.secondsLeft ?? 0)
    }
  }
  await client.shutdown()

  // From here on no network is needed.
  var paths: [String] = []
  for file in try regions.installed() {
    if try regions.isUsable(file.part.region) { paths.append(regions.path(of: file.part)) }
  }
  return paths
}
// snippet.end
