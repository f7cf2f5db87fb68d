import Accounts
import Foundation
import MapStoreClient
import MapStoreServer
import PurchaseLedger
import TileIndex
import TileServe

// What programs of another package set and read beside what the articles show. `OtherPackageTests` compiles it as
// another package would.

/// Tiles that a program makes, served like those of a bundle.
struct CountedTiles: TileSource {
  let revision = SourceRevision.next()
  let tile: [UInt8]

  func info() throws -> TilesetInfo {
    TilesetInfo(
      id: "counted", name: "Counted", metadata: StoredMetadata([]), matrixSet: .webMercatorQuad, format: .png,
      zooms: 0...4, bounds: .world, center: .init(longitude: 0, latitude: 0, zoom: 1), tilePixels: 256, modified: 0)
  }

  func storedTile(_ tile: TileID) throws -> [UInt8]? { tile.zoom <= 4 ? self.tile : nil }
}

func serve(_ source: CountedTiles, publicURL: String) async throws {
  var options = TileServerOptions()
  options.port = 8080
  options.publicURL = publicURL
  options.crossOrigin = .any
  options.trustedProxies = ["10.0.0.0/8"]
  options.cacheBytes = 64 << 20
  options.caching = "public, max-age=3600"
  options.settings = { _ in .init(missing: .noContent) }
  options.limits.requestSeconds = 20
  let registry = try TilesetRegistry([], sources: ["counted": source])
  try await withTileServer(registry, options) { server in try await server.wait() }
  let change = registry.refresh()
  print(change.added, change.replaced, change.failed)
}

/// The grid around a tile, as a program draws it.
func grid(around tile: TileID, in grid: TileMatrixSet) -> [TileID] {
  let matrix = grid.matrices[tile.zoom]
  print(grid.identifier, matrix.cellSize, matrix.tileWidth, matrix.matrixWidth, grid.geographicBounds(of: tile))
  return [grid.parent(of: tile)].compactMap { $0 } + grid.neighbours(of: tile)
}

/// What a receipt says of a purchase.
func facts(_ transaction: StoreTransaction) -> String {
  let price = transaction.price.map { "\($0.milliunits) \($0.currency)" } ?? "no price"
  let refunded = transaction.revocation.map { "refunded at \($0.date)" } ?? "owned"
  return "\(transaction.productID ?? "?"): \(price), \(refunded), \(String(describing: transaction.ownership))"
}

/// A ledger that gives nothing to the second account of a purchase, and the sessions of a server of one's own.
func openShop(at path: String, account: UUID) async throws -> SessionToken? {
  var policy = LedgerPolicy()
  policy.secondClaim = .refuse
  policy.familySharing = .grant
  policy.acknowledgeAfterSeconds = 86400
  let ledger = try Ledger.create(at: path, policy: policy, clock: .system)
  defer { ledger.close() }
  let id = try await ledger.accounts.add(login: "anna@example.org", password: "a long password")
  for owned in try ledger.entitlements(of: id) { print(owned.productID ?? "", owned.status, owned.since) }
  for event in try ledger.history(of: "GPA.1") { print(event.seq, event.recordedAt, event.type) }
  let report = try ledger.verify()
  for finding in report.findings { print(finding.location, finding.message) }
  return try await ledger.accounts.signIn(login: "anna@example.org", password: "a long password", lasting: 3_600_000)
}

/// The limits of a shop that is reached through a proxy.
func shopOptions(_ folder: String) -> StoreOptions {
  var options = StoreOptions(catalogFolder: folder)
  options.publicURL = "https://maps.example.org"
  options.trustedProxies = ["127.0.0.1"]
  options.limits.passwordsByLogin = .init(burst: 5, perMinute: 1)
  return options
}

/// A device that loads little over a metered network.
func deviceOptions() -> OfflineRegionOptions {
  var options = OfflineRegionOptions()
  options.quotaBytes = 2 << 30
  options.downloadsMax = 1
  options.retry.attemptsMax = 3
  options.transfers = TransferControl(policy: .wifiOnly, network: NetworkPath(isMetered: true))
  return options
}
