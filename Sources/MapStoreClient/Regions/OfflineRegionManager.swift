import MapStoreWire
public import RegionCatalog
import Support
import TileIndex

#if canImport(FoundationEssentials)
  public import FoundationEssentials
#else
  public import Foundation
#endif

/// The regions on a device: a folder of complete bundles, and a small database of what is owned and being downloaded.
///
/// One manager uses a folder at a time, until the last reference to it is gone. A kill at any moment leaves each region
/// in its old or its new edition; downloads continue from the bytes on the disk.
public actor OfflineRegionManager {
  /// The folder of the bundles, each with its region's id and `.mbtiles` as its name.
  public nonisolated let folder: String
  nonisolated let state: RegionDatabase
  nonisolated let files: OfflineRegionFiles
  nonisolated let options: OfflineRegionOptions
  nonisolated let grants: OfflineGrants
  nonisolated let reader: OfflineRegionReader
  nonisolated let hub: InstallProgressHub
  nonisolated let budget: TransferBudget
  private let lock: FolderLock
  private let slots: TransferSlots
  private var running: [RegionPart: SharedTask<InstalledFile>] = [:]
  private var pausing: Set<RegionPart> = []

  /// Opens a folder of regions, or creates it, and completes what a kill has interrupted.
  ///
  /// Blocks its thread while it reads the folder's database, and a tenth of a second where somebody else has the
  /// folder; ``open(folder:options:grants:)`` waits for that without a thread. ``OfflineRegionReader`` needs no folder
  /// of its own.
  ///
  /// - Parameter grants: which keys prove ownership without network. A rule without keys and without
  ///   ``OfflineGrants/Rule/keysChanged`` allows to open no region.
  /// - Throws: ``MapStoreError`` `.busy` if another process or another manager of this one uses the folder, `.storage`
  ///   if it cannot be written, `.noSpace`.
  /// - Complexity: checks each installed file's size, and reads files whose replacement was interrupted.
  public init(
    folder: String, options: OfflineRegionOptions = OfflineRegionOptions(), grants: OfflineGrants.Rule
  ) throws {
    // Longer than a child takes between fork and exec, which still has the lock for a moment.
    try self.init(folder: folder, options: options, grants: grants, waiting: .milliseconds(100))
  }

  /// - Parameter waiting: how long to block the thread while somebody else has the folder.
  package init(
    folder: String, options: OfflineRegionOptions, grants: OfflineGrants.Rule, waiting: Duration
  ) throws {
    let options = options.limited
    let files = OfflineRegionFiles(folder: folder.hasSuffix("/") ? String(folder.dropLast()) : folder)
    do {
      try FileSystem.makeFolders(files.work)
      guard let lock = try FolderLock(files.lock, until: .now + waiting) else {
        if FolderLock.isHeldHere(files.lock) {
          throw MapStoreError(
            .busy, folder, "another manager in this process has this folder open",
            remedy: "use that one everywhere, or release it before")
        }
        throw MapStoreError(
          .busy, folder, "another process uses this folder", remedy: "wait until it is done, or end it")
      }
      self.lock = lock
      let hub = InstallProgressHub()
      self.hub = hub
      state = try RegionDatabase(path: files.state) { hub.regionsChanged() }
      try InstallRecovery(state: state, files: files, now: options.clock.now()).run()
    } catch let error as FileSystem.SystemError {
      throw MapStoreError(error, folder)
    }
    (self.folder, self.files, self.options) = (files.folder, files, options)
    self.grants = OfflineGrants(state: state, rule: grants)
    reader = OfflineRegionReader(state: state, files: files, grants: self.grants, clock: options.clock)
    budget = TransferBudget(state: state, control: options.transfers, clock: options.clock)
    slots = TransferSlots(options.downloadsMax)
  }

  /// Opens a folder of regions, as by its path.
  ///
  /// - Parameter folder: of this device. An app excludes it from backups (`isExcludedFromBackup`), since all of it can
  ///   be downloaded again.
  /// - Throws: as by its path; ``MapStoreError`` `.storage` for a URL that is no file's.
  public init(
    folder: URL, options: OfflineRegionOptions = OfflineRegionOptions(), grants: OfflineGrants.Rule
  ) throws {
    guard folder.isFileURL else {
      throw MapStoreError(.storage, folder.absoluteString, "is not a folder of this device", remedy: "name one")
    }
    try self.init(folder: folder.path, options: options, grants: grants)
  }

  /// Opens a folder of regions as the initialisers do, and waits up to two seconds for a process that has the folder
  /// and is just ending, or for the last user of another manager.
  ///
  /// - Throws: as the initialisers; `CancellationError`.
  public static func open(
    folder: URL, options: OfflineRegionOptions = OfflineRegionOptions(), grants: OfflineGrants.Rule
  ) async throws -> OfflineRegionManager {
    for _ in 0..<40 {
      do {
        return try OfflineRegionManager(folder: folder, options: options, grants: grants)
      } catch let error as MapStoreError where error.code == .busy {
        try await Task.sleep(for: .milliseconds(50))
      }
    }
    return try OfflineRegionManager(folder: folder, options: options, grants: grants)
  }

  /// Installs a region or updates it to the server's edition; continues an interrupted install. Cancelling the task
  /// stops the install, unless other tasks wait for it too; it can be continued later.
  ///
  /// A region that is installed in that edition is compared with its SHA-256, and downloaded again if it is damaged.
  ///
  /// - Throws: ``MapStoreError``; `CancellationError`. The region is then unchanged, and what was downloaded stays.
  @discardableResult
  public func install(
    _ region: String, from client: StoreClient, onProgress: @escaping ProgressHandler = { _ in }
  ) async throws -> InstalledFile {
    let file = try await install(RegionPart(region: region), from: client, onProgress: onProgress)
    // The whole region contains its tile packs.
    try removeFiles { $0.region == region && $0.pack != nil }
    await vouch(for: region, from: client)
    return file
  }

  @discardableResult
  func install(
    _ part: RegionPart, from client: StoreClient, onProgress: @escaping ProgressHandler
  ) async throws -> InstalledFile {
    try belong(to: client)
    // A cancelled install cannot be joined.
    while let work = running[part], work.isCancelled {
      _ = await work.task.result
      if running[part] === work { running[part] = nil }
    }
    let work = running[part] ?? begin(part, from: client)
    do {
      let file = try await hub.following(part, onProgress) { try await work.value() }
      if running[part] === work { running[part] = nil }
      return file
    } catch {
      if work.isOver, running[part] === work { running[part] = nil }
      if error is CancellationError, try pausing.contains(part) || state.download(part)?.state == .paused {
        throw MapStoreError(.paused, part.description, "was paused", remedy: "install it again to continue")
      }
      throw error
    }
  }

  private func begin(_ part: RegionPart, from client: StoreClient) -> SharedTask<InstalledFile> {
    let (slots, hub) = (slots, hub)
    let job = InstallJob(
      part: part, client: client, state: state, files: files, options: options, budget: budget,
      onProgress: { hub.report($0) })
    let work = SharedTask {
      defer { hub.end(part) }
      return try await slots.run { try await job.run() }
    }
    running[part] = work
    return work
  }

  /// Stops a region's downloads until ``install(_:from:onProgress:)`` is called again; a sync does not continue them.
  ///
  /// - Throws: ``MapStoreError`` `.storage`.
  public func pause(_ region: String) async throws {
    let parts = Set(try state.downloads().map(\.wanted.part) + running.keys).filter { $0.region == region }
    pausing.formUnion(parts)
    defer { pausing.subtract(parts) }
    for part in parts { await stop(part) }
    for download in try state.downloads() where parts.contains(download.wanted.part) && download.state == .fetching {
      try state.set(.paused, of: download)
    }
  }

  /// Whether a part of the region is being installed.
  func isBusy(_ region: String) -> Bool { running.contains { $0.key.region == region && !$0.value.isOver } }

  /// The number of callers that wait for an install; for tests.
  func waiting(for part: RegionPart) -> Int { running[part]?.waitingCount ?? 0 }

  private func stop(_ part: RegionPart) async {
    guard let work = running[part] else { return }
    work.cancel()
    _ = await work.task.result
  }

  /// Removes a region's files and downloads. It stays owned. Works on a full disk too, since it frees space.
  ///
  /// - Throws: ``MapStoreError`` `.storage`.
  public func uninstall(_ region: String) async throws {
    for part in running.keys where part.region == region { await stop(part) }
    for download in try state.downloads() where download.wanted.part.region == region {
      let isDropped = try RegionDatabase.ifRoom { try state.drop(download) }
      files.removeParts(of: download)
      // The deleted file may have made room for the record.
      if !isDropped { try RegionDatabase.ifRoom { try state.drop(download) } }
    }
    try removeFiles { $0.region == region }
  }

  /// Removes files in three steps, which recovery completes after a kill: the intention is recorded, the file is
  /// deleted, the record is deleted. If a full disk has no room for the record, the file is deleted first: recovery
  /// drops records without a file.
  func removeFiles(where isGoing: (RegionPart) -> Bool) throws {
    for file in try state.installed() where isGoing(file.part) {
      try RegionDatabase.ifRoom { try state.noteRemoval(of: file.part) }
      do {
        try files.remove(file.part)
      } catch let error as FileSystem.SystemError {
        throw MapStoreError(error, folder)
      }
      try RegionDatabase.ifRoom { try state.forget(file.part) }
    }
  }
}

// MARK: - Tile packs

extension OfflineRegionManager {
  /// Installs what an area needs of a region: tile packs one by one, the overview first; or the whole region if it is
  /// not split.
  ///
  /// - Parameter onInstalled: called for each tile pack once it is installed, also if it was before.
  /// - Returns: all of them; empty if the region does not cover the area.
  /// - Throws: as ``install(_:from:onProgress:)``. Tile packs that were installed before the error stay.
  @discardableResult
  public func install(
    _ region: String, around ground: MapGround, from client: StoreClient,
    onProgress: @escaping ProgressHandler = { _ in }, onInstalled: @Sendable (InstalledFile) -> Void = { _ in }
  ) async throws -> [InstalledFile] {
    let details = try await client.region(region).region
    // An installed whole region contains all tile packs.
    if let whole = try state.installed(RegionPart(region: region)), whole.edition == details.edition {
      let whole = try await install(whole.part, from: client, onProgress: onProgress)
      onInstalled(whole)
      return [whole]
    }
    var installed: [InstalledFile] = []
    for file in details.files(covering: ground) {
      let part = RegionPart(region: region, pack: file.kind == .whole ? nil : file.file)
      let done = try await install(part, from: client, onProgress: onProgress)
      installed.append(done)
      onInstalled(done)
    }
    await vouch(for: region, from: client)
    return installed
  }
}

// MARK: - The account

extension OfflineRegionManager {
  /// Sets the account that has signed in. The library and grants of another account are deleted; installed files stay,
  /// and can be used by accounts that own them.
  ///
  /// Calls with a ``StoreClient`` do this too, so only apps that make no call after signing in need it.
  ///
  /// - Parameter accountID: `AccountDetails.id`.
  /// - Throws: ``MapStoreError`` `.storage`, `.noSpace`.
  public func belong(to accountID: String) throws {
    guard try grants.accountID() != accountID else { return }
    // First, so that after a kill in between, nothing is valid for the wrong account.
    try grants.setAccount(accountID)
    try state.replaceLibrary([])
    try grants.forget()
  }

  func belong(to client: StoreClient) throws {
    if let account = client.session.details?.account.id { try belong(to: account) }
  }

  /// Deletes library and grants at sign-out. Installed files stay, and can be used by accounts that own them.
  ///
  /// - Throws: ``MapStoreError`` `.storage`.
  public func forgetAccount() throws {
    try grants.forget()
    try state.replaceLibrary([])
    try grants.setAccount(nil)
  }
}

// MARK: - Grants

extension OfflineRegionManager {
  /// Fetches the signed grants, for the time without network: step 3 of ``sync(with:queue:onProgress:)``.
  ///
  /// - Throws: ``MapStoreError`` `.grant` for a document that does not verify; the stored one stays.
  public func refreshGrants(from client: StoreClient) async throws {
    try await refreshGrants(from: client, attemptsMax: nil)
  }

  private func refreshGrants(from client: StoreClient, attemptsMax: Int?) async throws {
    try belong(to: client)
    let signed = try await client.grants(attemptsMax: attemptsMax)
    let newKeys = grants.mayBeOfANewKey(signed) ? try await client.grantKeys().keys : nil
    try grants.accept(
      signed, newKeys: newKeys, accountID: client.session.details?.account.id, now: options.clock.now())
  }

  /// Fetches the grants with one attempt, ignoring errors: after operations that are complete without them. Does
  /// nothing if no key is trusted.
  func tryGrants(from client: StoreClient) async {
    guard grants.trustsSomebody else { return }
    try? await refreshGrants(from: client, attemptsMax: 1)
  }

  /// Fetches the grants if they do not cover a region that was just installed, as on a new phone, so that it opens
  /// without network.
  func vouch(for region: String, from client: StoreClient) async {
    if (try? usability(of: region).isUsable) != true { await tryGrants(from: client) }
  }
}
