public import MapStoreWire
import TileIndex

extension RegionShelf {
  /// Brings store, server and device together. An interrupted purchase and an interrupted download are different things, and come in this order:
  ///
  /// 1. What the store holds outstanding goes to our server. Only what the server says is booked, or was, is finished with the store: until then the store is the one that remembers.
  /// 2. The server says what is owned, which is more than this device ever bought.
  /// 3. The server signs what is owned, for the time without network.
  /// 4. Downloads that were interrupted go on, except those that were paused, and those of regions that are owned no more.
  ///
  /// Whatever step it is cut off at, the next sync does the rest, and nothing twice.
  ///
  /// - Parameter queue: nil where there is no store, as on a second device.
  /// - Throws: ``MapStoreError`` of steps 1 and 2; what the queue throws; `CancellationError`. Grants and downloads that fail are in the report.
  public func sync(
    with client: StoreClient, queue: (any StoreQueue)? = nil, onProgress: @escaping ProgressHandler = { _ in }
  ) async throws -> SyncReport {
    var report = SyncReport()
    if let queue { report.purchases = try await handIn(queue, to: client) }
    try await refreshLibrary(from: client)
    do {
      try await refreshGrants(from: client)
    } catch let error where !(error is CancellationError) {
      report.grantsError = error
    }
    report.resumed = try await resumeDownloads(from: client, onProgress: onProgress)
    report.regions = try regions()
    return report
  }

  /// The most transactions in one request.
  private static let batchMax = 100

  /// Step 1 alone: after a purchase, or for a restore. Step 3 follows where something was booked, so that what was bought opens without network too; one try, and that it fails is no fault of
  /// the purchase's: the next sync does it.
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
  /// - Returns: what ``regions()`` gives from now on; on a full disk from here alone.
  @discardableResult
  public func refreshLibrary(from client: StoreClient) async throws -> [ShelfRegion] {
    try belong(to: client)
    let editions = try state.installed().filter { $0.part.parcel == nil }.map { ($0.part.region, $0.edition) }
    let told = try await client.library(installed: editions).regions
    try ShelfState.ifRoom { try state.replaceLibrary(told) }
    return try regions(told: told)
  }

  /// Step 4 alone.
  public func resumeDownloads(
    from client: StoreClient, onProgress: @escaping ProgressHandler = { _ in }
  ) async throws -> [SyncReport.Resumed] {
    let told = Dictionary(try state.library().map { ($0.id, $0.status) }, uniquingKeysWith: { $1 })
    var parts: [ShelfPart] = []
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

extension RegionShelf {
  /// Brings what is installed to the shop's editions, and installs nothing else: whole regions by patch where there is one, parcels by those that have the same ground in the new edition.
  /// The old parcels of a region go when all of the new ones are there. What is paused stays paused. Asks for the library first if that was not done (``refreshLibrary(from:)``).
  ///
  /// - Returns: what was installed, and what failed; that stays in its old edition.
  /// - Throws: ``MapStoreError`` `.shelf`; `CancellationError`.
  public func update(
    from client: StoreClient, onProgress: @escaping ProgressHandler = { _ in }
  ) async throws -> [SyncReport.Resumed] {
    var results: [SyncReport.Resumed] = []
    for region in try regions() {
      guard let edition = region.edition, !region.downloads.contains(where: \.isPaused) else { continue }
      let whole = ShelfPart(region: region.id)
      if region.status == .updateAvailable {
        results.append(
          try await attempt(whole) { try await self.install(region.id, from: client, onProgress: onProgress) })
      } else if region.status == .ownedNotInstalled, region.parcels.contains(where: { $0.edition != edition }) {
        do {
          results += try await updateParcels(of: region.id, from: client, onProgress: onProgress)
        } catch let error where !(error is CancellationError) {
          results.append(SyncReport.Resumed(part: whole, result: .failure(error)))
        }
      }
    }
    return results
  }

  private func updateParcels(
    of id: String, from client: StoreClient, onProgress: @escaping ProgressHandler
  ) async throws -> [SyncReport.Resumed] {
    let region = try await client.region(id).region
    let names = Set(region.parcels.map(\.file))
    let old = try state.installed().filter {
      $0.part.region == id && $0.part.parcel.map { !names.contains($0) } ?? false
    }
    // A region that is not split any more would have to be loaded as a whole, which nobody asked for.
    guard !old.isEmpty, !names.isEmpty else { return [] }
    let paths = old.map { files.installed($0.part) }
    let wanted = try await Blocking.run {
      let index = ParcelIndex(region)
      var wanted: Set<Int> = []
      for path in paths {
        try MBTilesReader(path: path).forEachTile { tile, _ in
          if let parcel = index.parcel(of: tile) { wanted.insert(parcel) }
        }
      }
      return wanted.sorted()
    }
    var results: [SyncReport.Resumed] = []
    for parcel in wanted {
      let part = ShelfPart(region: id, parcel: region.parcels[parcel].file)
      results.append(try await attempt(part) { try await self.install(part, from: client, onProgress: onProgress) })
    }
    let isComplete = results.allSatisfy { if case .success = $0.result { true } else { false } }
    if isComplete { try removeFiles { part in old.contains { $0.part == part } } }
    return results
  }

  /// - Throws: `CancellationError`.
  private func attempt(
    _ part: ShelfPart, _ install: () async throws -> InstalledFile
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

/// What a sync has done.
public struct SyncReport: Sendable {
  public struct Purchase: Sendable, Hashable {
    public let id: String
    public let result: PurchaseResult
    /// The store was told that it is done with.
    public let isFinished: Bool

    /// Whether something is left to do for this account: it waits, or was refused and is no other account's.
    public var isOpen: Bool { !isFinished && !result.isAnotherAccounts }
  }

  public struct Resumed: Sendable {
    public let part: ShelfPart
    public let result: Result<InstalledFile, any Error>
  }

  public var purchases: [Purchase] = []
  /// All regions afterwards.
  public var regions: [ShelfRegion] = []
  /// Why there is no new grant document, where that failed.
  public var grantsError: (any Error)?
  /// Downloads that had been interrupted.
  public var resumed: [Resumed] = []
}

/// The app store's list of transactions that the app has not finished yet: StoreKit's `Transaction.unfinished`, Google Play's purchases that are not acknowledged.
public protocol StoreQueue: Sendable {
  /// The oldest first.
  func outstanding() async throws -> [OutstandingTransaction]
  /// Tells the store that the buyer has what was paid for. From then on the store does not name the transaction again.
  func finish(_ id: String) async throws
}

/// Something that was paid, or is to be, and that our server may not know yet.
public struct OutstandingTransaction: Hashable, Sendable, Codable {
  /// The store's.
  public let id: String
  /// What the store signed, as its library gave it.
  public let signed: String

  public init(id: String, signed: String) { (self.id, self.signed) = (id, signed) }
}
