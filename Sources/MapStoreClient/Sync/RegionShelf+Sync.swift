import MapStoreWire

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
