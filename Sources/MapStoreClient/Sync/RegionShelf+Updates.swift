import MapStoreWire
import RegionCatalog
import TileIndex

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
