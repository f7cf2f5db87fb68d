import Support
import TileIndex

/// The regions on a device: a folder of bundles that are always whole, and a small file that remembers what is owned and on its way.
///
/// One process has a shelf at a time. A kill at any instant leaves each region in its old or its new edition; downloads go on from the bytes on the disk.
public actor RegionShelf {
  /// Where the bundles lie, each under its region's id with `.mbtiles`.
  public nonisolated let folder: String
  nonisolated let state: ShelfState
  nonisolated let files: ShelfFiles
  nonisolated let options: ShelfOptions
  nonisolated let grants: OfflineGrants
  private let lock: FolderLock
  private let slots: TransferSlots
  private var running: [ShelfPart: SharedWork<InstalledFile>] = [:]
  private var pausing: Set<ShelfPart> = []

  /// Opens a shelf, or makes one, and carries out what a kill has cut off.
  ///
  /// - Parameter grants: how ownership is judged without network.
  /// - Throws: ``MapStoreError`` `.busy` when another process has it, `.shelf` when the folder cannot be written, `.noSpace`.
  /// - Complexity: looks at each installed file's size, and reads the files whose switch was cut off.
  public init(folder: String, options: ShelfOptions = ShelfOptions(), grants: OfflineGrants.Rule = .init()) throws {
    let files = ShelfFiles(folder: folder.hasSuffix("/") ? String(folder.dropLast()) : folder)
    do {
      try FileSystem.makeFolders(files.work)
      guard let lock = try FolderLock(files.lock) else {
        throw MapStoreError(
          .busy, folder, "another process has this shelf", remedy: "wait until it is done, or end it")
      }
      self.lock = lock
      state = try ShelfState(path: files.state)
      try ShelfRecovery(state: state, files: files, now: options.clock.now()).run()
    } catch let error as FileSystem.SystemError {
      throw InstallJob.failure(error, folder)
    }
    (self.folder, self.files, self.options) = (files.folder, files, options)
    self.grants = OfflineGrants(state: state, rule: grants)
    slots = TransferSlots(options.downloadsMax)
  }

  /// Installs a region, brings it to the shop's edition, or goes on with that. Returns when it is done; cancelling the task leaves it to be gone on with, unless others wait for it too.
  ///
  /// - Throws: ``MapStoreError``; `CancellationError`. The region is then as it was, and what was loaded stays.
  @discardableResult
  public func install(
    _ region: String, from client: StoreClient, onProgress: @escaping ProgressHandler = { _ in }
  ) async throws -> InstalledFile {
    let file = try await install(ShelfPart(region: region), from: client, onProgress: onProgress)
    // The whole has all that its parcels had.
    try removeFiles { $0.region == region && $0.parcel != nil }
    await vouch(for: region, from: client)
    return file
  }

  @discardableResult
  func install(
    _ part: ShelfPart, from client: StoreClient, onProgress: @escaping ProgressHandler
  ) async throws -> InstalledFile {
    try belong(to: client)
    // One that everybody has left is not joined any more.
    while let work = running[part], work.isCancelled {
      _ = await work.task.result
      if running[part] === work { running[part] = nil }
    }
    let work = running[part] ?? begin(part, from: client, onProgress: onProgress)
    do {
      let file = try await work.value()
      if running[part] === work { running[part] = nil }
      return file
    } catch {
      if work.isOver, running[part] === work { running[part] = nil }
      if error is CancellationError, try pausing.contains(part) || state.download(part)?.state == .paused {
        throw MapStoreError(.paused, part.description, "was paused", remedy: "install it again to go on")
      }
      throw error
    }
  }

  private func begin(
    _ part: ShelfPart, from client: StoreClient, onProgress: @escaping ProgressHandler
  ) -> SharedWork<InstalledFile> {
    let job = InstallJob(
      part: part, client: client, state: state, files: files, options: options, onProgress: onProgress)
    let slots = slots
    let work = SharedWork { try await slots.run { try await job.run() } }
    running[part] = work
    return work
  }

  /// Stops a region's downloads until ``install(_:from:onProgress:)`` is called again; a sync does not go on with them.
  ///
  /// - Throws: ``MapStoreError`` `.shelf`.
  public func pause(_ region: String) async throws {
    let parts = Set(try state.downloads().map(\.wanted.part) + running.keys).filter { $0.region == region }
    pausing.formUnion(parts)
    defer { pausing.subtract(parts) }
    for part in parts { await stop(part) }
    for download in try state.downloads() where parts.contains(download.wanted.part) && download.state == .fetching {
      try state.set(.paused, of: download)
    }
  }

  /// How many callers wait for a part's install; tests wait for them.
  func waiting(for part: ShelfPart) -> Int { running[part]?.waitingCount ?? 0 }

  private func stop(_ part: ShelfPart) async {
    guard let work = running[part] else { return }
    work.cancel()
    _ = await work.task.result
  }

  /// Removes a region's files and downloads. It stays owned, and is listed as owned, not installed. Works on a full disk too: it is what makes room.
  ///
  /// - Throws: ``MapStoreError`` `.shelf`.
  public func uninstall(_ region: String) async throws {
    for part in running.keys where part.region == region { await stop(part) }
    for download in try state.downloads() where download.wanted.part.region == region {
      let isDropped = try ShelfState.ifRoom { try state.drop(download) }
      files.removeParts(of: download)
      // Its pieces would be looked for in vain.
      if !isDropped { try ShelfState.ifRoom { try state.drop(download) } }
    }
    try removeFiles { $0.region == region }
  }

  /// Removes files in three steps, of which a kill may cut off the last two: the intention is noted, the file goes, the note goes. Where there is no room for a note the file goes first: what is
  /// noted as installed and not there is forgotten at the next opening.
  func removeFiles(where isGoing: (ShelfPart) -> Bool) throws {
    for file in try state.installed() where isGoing(file.part) {
      try ShelfState.ifRoom { try state.noteRemoval(of: file.part) }
      do {
        try files.remove(file.part)
      } catch let error as FileSystem.SystemError {
        throw InstallJob.failure(error, folder)
      }
      try ShelfState.ifRoom { try state.forget(file.part) }
    }
  }
}
