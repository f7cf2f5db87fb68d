public import MapStoreWire
import RegionCatalog
import TileIndex

extension OfflineRegionManager {
  /// Synchronises app store, server and device:
  ///
  /// 1. Unfinished transactions are posted to the server, and finished with the app store once the server has recorded
  ///    them: until then the app store keeps them.
  /// 2. The library is fetched: all that the account owns, also by purchases on other devices. Installed regions that
  ///    have got another id take it.
  /// 3. The signed grants are fetched, for the time without network.
  /// 4. Interrupted downloads continue, except paused ones and those of regions that are not owned any more.
  ///
  /// A sync that is interrupted at any step is completed by the next one, which does nothing twice.
  ///
  /// - Parameter queue: nil on devices without an app store.
  /// - Throws: ``MapStoreError`` of steps 1 and 2; the queue's errors; `CancellationError`. Failures of grants and
  ///   downloads are in the report.
  public func sync(
    with client: StoreClient, queue: (any StoreQueue)? = nil, onProgress: @escaping ProgressHandler = { _ in }
  ) async throws -> SyncReport {
    var report = SyncReport()
    if let queue { report.purchases = try await handIn(queue, to: client) }
    report.renamed = try await takeLibrary(from: client).renames.map {
      SyncReport.Renamed(from: $0.from, to: $0.to)
    }
    do {
      try await refreshGrants(from: client)
    } catch let error where !(error is CancellationError) {
      report.grantsError = error
    }
    report.resumed = try await resumeDownloads(from: client, onProgress: onProgress)
    report.regions = try regions()
    return report
  }

  /// Transactions in one request.
  private static let batchMax = 100

  /// Step 1 alone: after a purchase, or for a restore. If something was recorded, step 3 follows with one attempt, so
  /// that the purchase opens without network; if that fails, the next sync repeats it.
  ///
  /// - Throws: as ``sync(with:queue:onProgress:)``.
  public func submit(_ queue: any StoreQueue, to client: StoreClient) async throws -> [SyncReport.Purchase] {
    let purchases = try await handIn(queue, to: client)
    if purchases.contains(where: { $0.isFinished }) { await tryGrants(from: client) }
    return purchases
  }

  private func handIn(_ queue: any StoreQueue, to client: StoreClient) async throws -> [SyncReport.Purchase] {
    try belong(to: client)
    var purchases: [SyncReport.Purchase] = []
    var rest = try await queue.outstanding()[...]
    while !rest.isEmpty {
      let batch = Array(rest.prefix(Self.batchMax))
      rest = rest.dropFirst(batch.count)
      let answer = try await client.submit(PurchaseSubmission(transactions: batch.map(\.signed)))
      for (transaction, result) in zip(batch, answer.results) {
        let isDone = result.shouldFinish && (result.outcome == .booked || result.outcome == .alreadyOwned)
        if isDone { try await queue.finish(transaction.id) }
        purchases.append(SyncReport.Purchase(id: transaction.id, result: result, isFinished: isDone))
      }
    }
    return purchases
  }

  /// Step 2 alone.
  ///
  /// - Returns: what ``regions()`` returns from now on; on a full disk, the only result.
  /// - Throws: ``MapStoreError``; `CancellationError`.
  @discardableResult
  public func refreshLibrary(from client: StoreClient) async throws -> [OfflineRegion] {
    try await takeLibrary(from: client).regions
  }

  private func takeLibrary(
    from client: StoreClient
  ) async throws -> (regions: [OfflineRegion], renames: [RegionRename]) {
    try belong(to: client)
    let editions = try state.installed().filter { $0.part.pack == nil }.map { ($0.part.region, $0.edition) }
    let told = try await client.library(installed: editions).regions
    let renames = try followNames(told)
    try RegionDatabase.ifRoom { try state.replaceLibrary(told) }
    return (try reader.regions(told: told), renames)
  }

  /// Step 4 alone.
  ///
  /// - Returns: each interrupted download with what came of it.
  /// - Throws: ``MapStoreError`` `.storage`; `CancellationError`.
  public func resumeDownloads(
    from client: StoreClient, onProgress: @escaping ProgressHandler = { _ in }
  ) async throws -> [SyncReport.Resumed] {
    let told = Dictionary(try state.library().map { ($0.id, $0.status) }, uniquingKeysWith: { $1 })
    var parts: [RegionPart] = []
    for download in try state.downloads() where download.state != .paused {
      switch told[download.wanted.part.region] {
      case .forSale?, .pendingApproval?, .revoked?:
        try state.drop(download)
        files.removeParts(of: download)
      case .ownedInstalled?, .ownedNotInstalled?, .updateAvailable?, nil: parts.append(download.wanted.part)
      }
    }
    return try await withThrowingTaskGroup(of: SyncReport.Resumed.self) { group in
      for part in parts {
        group.addTask {
          do {
            return SyncReport.Resumed(
              part: part, result: .success(try await self.install(part, from: client, onProgress: onProgress)))
          } catch is CancellationError {
            throw CancellationError()
          } catch {
            return SyncReport.Resumed(part: part, result: .failure(error))
          }
        }
      }
      var resumed: [SyncReport.Resumed] = []
      for try await one in group { resumed.append(one) }
      return resumed
    }
  }
}

// MARK: - Updates

extension OfflineRegionManager {
  /// Updates installed files to the server's editions, and installs nothing else: whole regions by patch if there is
  /// one, tile packs by those that cover the same area in the new edition. The old tile packs of a region are removed
  /// when all new ones are installed. Paused downloads stay paused. Call ``refreshLibrary(from:)`` before.
  ///
  /// - Returns: what was installed, and what failed and keeps its old edition.
  /// - Throws: ``MapStoreError`` `.storage`; `CancellationError`.
  public func update(
    from client: StoreClient, onProgress: @escaping ProgressHandler = { _ in }
  ) async throws -> [SyncReport.Resumed] {
    var results: [SyncReport.Resumed] = []
    for region in try regions() {
      guard let edition = region.edition, !region.downloads.contains(where: \.isPaused) else { continue }
      let whole = RegionPart(region: region.id)
      if region.status == .updateAvailable {
        results.append(
          try await attempt(whole) { try await self.install(region.id, from: client, onProgress: onProgress) })
      } else if region.status == .ownedNotInstalled, region.packs.contains(where: { $0.edition != edition }) {
        do {
          results += try await updatePacks(of: region.id, from: client, onProgress: onProgress)
        } catch let error where !(error is CancellationError) {
          results.append(SyncReport.Resumed(part: whole, result: .failure(error)))
        }
      }
    }
    return results
  }

  private func updatePacks(
    of id: String, from client: StoreClient, onProgress: @escaping ProgressHandler
  ) async throws -> [SyncReport.Resumed] {
    let region = try await client.region(id).region
    let names = Set(region.packs.map(\.file))
    let old = try state.installed().filter {
      $0.part.region == id && $0.part.pack.map { !names.contains($0) } ?? false
    }
    // A region that is not split any more would have to be downloaded as a whole, which was not requested.
    guard !old.isEmpty, !names.isEmpty else { return [] }
    let paths = old.map { files.installed($0.part) }
    let wanted = try await Blocking.run {
      let index = TilePackIndex(region)
      var wanted: Set<Int> = []
      for path in paths {
        try MBTilesReader(path: path).forEachTile { tile, _ in
          if let pack = index.pack(of: tile) { wanted.insert(pack) }
        }
      }
      return wanted.sorted()
    }
    var results: [SyncReport.Resumed] = []
    for pack in wanted {
      let part = RegionPart(region: id, pack: region.packs[pack].file)
      results.append(try await attempt(part) { try await self.install(part, from: client, onProgress: onProgress) })
    }
    let isComplete = results.allSatisfy { if case .success = $0.result { true } else { false } }
    if isComplete { try removeFiles { part in old.contains { $0.part == part } } }
    return results
  }

  /// - Throws: `CancellationError`.
  private func attempt(
    _ part: RegionPart, _ install: () async throws -> InstalledFile
  ) async throws -> SyncReport.Resumed {
    do {
      return SyncReport.Resumed(part: part, result: .success(try await install()))
    } catch is CancellationError {
      throw CancellationError()
    } catch {
      return SyncReport.Resumed(part: part, result: .failure(error))
    }
  }
}

/// The result of a sync.
public struct SyncReport: Sendable {
  /// What came of a transaction.
  public struct Purchase: Sendable, Hashable {
    /// The app store's id.
    public let id: String
    /// The server's answer.
    public let result: PurchaseResult
    /// Whether the transaction was finished with the app store.
    public let isFinished: Bool

    /// Whether the transaction still concerns this account: it waits, or was refused and is not another account's.
    public var isOpen: Bool { !isFinished && !result.isAnotherAccounts }

    /// A transaction with the server's answer, also for previews and tests.
    package init(id: String, result: PurchaseResult, isFinished: Bool) {
      (self.id, self.result, self.isFinished) = (id, result, isFinished)
    }
  }

  /// What came of an interrupted download, or of an update.
  public struct Resumed: Sendable {
    /// What was downloaded.
    public let part: RegionPart
    /// The installed file, or why there is none.
    public let result: Result<InstalledFile, any Error>

    /// A download with what came of it, also for previews and tests.
    package init(part: RegionPart, result: Result<InstalledFile, any Error>) {
      (self.part, self.result) = (part, result)
    }
  }

  /// An installed region that has got another id.
  public struct Renamed: Sendable, Hashable, Codable {
    /// The id until now.
    public let from: String
    /// The id from now on.
    public let to: String

    /// A region with its ids, also for previews and tests.
    package init(from: String, to: String) { (self.from, self.to) = (from, to) }
  }

  /// The regions that have got another id; their files are installed under it.
  public var renamed: [Renamed] = []
  /// The transactions that were submitted.
  public var purchases: [Purchase] = []
  /// All regions after the sync.
  public var regions: [OfflineRegion] = []
  /// Why the grants could not be fetched.
  public var grantsError: (any Error)?
  /// The continued downloads.
  public var resumed: [Resumed] = []

  /// A report of nothing, also for previews and tests.
  public init() {}
}

/// The app store's list of transactions that the app has not finished yet: StoreKit's `Transaction.unfinished`, Google
/// Play's purchases that are not acknowledged.
public protocol StoreQueue: Sendable {
  /// The oldest first.
  func outstanding() async throws -> [OutstandingTransaction]
  /// Tells the app store that the purchase was delivered; it does not return the transaction again.
  func finish(_ id: String) async throws
}

/// A transaction that the server may not know yet.
public struct OutstandingTransaction: Hashable, Sendable, Codable {
  /// The app store's id.
  public let id: String
  /// The signed transaction, as the app store's library returns it.
  public let signed: String

  /// A transaction as the app store's library returns it.
  public init(id: String, signed: String) { (self.id, self.signed) = (id, signed) }
}
