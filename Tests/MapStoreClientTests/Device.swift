import MapStoreClient
import MapStoreWire
import RegionCatalog
import TestSupport
import TileIndex

/// What carries the requests of a client.
enum Connections: CaseIterable {
  /// What a client takes unless told otherwise.
  case ofTheClient
  /// What a client takes on Apple's platforms, over Foundation's own `URLSession` here.
  case ofURLSession

  func client(
    _ address: String, _ session: StoreSession = StoreSession(), _ retry: RetryRule = Device.retry()
  ) throws -> StoreClient {
    if self == .ofTheClient { return try StoreClient(address: address, session: session, retry: retry) }
    return try StoreClient(address: address, session: session, retry: retry, connections: URLSessionConnections(retry))
  }
}

/// A device with its folder, and a client of the server.
final class Device: Sendable {
  let folder: TemporaryFolder
  let store: ChaosStore
  let client: StoreClient
  private let session: StoreSession

  static let account = AccountDetails(id: "a", appAccountToken: "t")

  init(
    _ store: ChaosStore, folder: TemporaryFolder? = nil, idleMax: Double = 20, credentials: Credentials? = nil,
    over connections: Connections = .ofTheClient
  ) throws {
    self.folder = try folder ?? TemporaryFolder()
    self.store = store
    session = StoreSession(
      SessionDetails(token: "first", expiresAt: .max, account: Self.account), credentials: { credentials })
    client = try connections.client(store.address, session, Self.retry(idleMax: idleMax))
  }

  static func retry(idleMax: Double = 20) -> RetryRule {
    var retry = RetryRule()
    retry.firstDelay = 0.002
    retry.delayMax = 0.02
    retry.idleMax = idleMax
    retry.connectMax = min(max(idleMax, 2), retry.connectMax)
    return retry
  }

  static func options(_ change: (inout OfflineRegionOptions) -> Void = { _ in }) -> OfflineRegionOptions {
    var options = OfflineRegionOptions()
    options.pieceBytes = 16 << 10
    options.reserveBytes = 0
    options.retry = retry()
    change(&options)
    return options
  }

  /// Opens the folder, which is released with the last reference.
  func manager(_ change: (inout OfflineRegionOptions) -> Void = { _ in }) throws -> OfflineRegionManager {
    // The last user of an earlier one may be a task that is just ending.
    try OfflineRegionManager(folder: folder.path, options: Self.options(change), grants: .init(), waiting: .seconds(2))
  }

  /// The edition of the installed bundle, by its bytes; nil when there is none, an empty text when it is no published
  /// edition.
  func edition(_ region: String, of editions: [Catalog.Region]) throws -> String? {
    guard folder.names.contains("\(region).mbtiles") else { return nil }
    let sha256 = try FileHash.sha256(ofFile: folder.file("\(region).mbtiles"))
    return editions.first { $0.sha256 == sha256 }?.edition ?? ""
  }

  /// The files in the download folder besides state and lock.
  var remains: [String] {
    ((try? TemporaryFolderNames.names(folder.file(".mapstore"))) ?? []).filter {
      !$0.hasPrefix("state.sqlite") && $0 != "lock"
    }
  }
}
