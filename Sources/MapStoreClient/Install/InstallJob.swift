import MapStoreWire
import RegionCatalog
import Support
import Synchronization
import TileIndex

/// Installs the server's current edition of a region or tile pack.
///
/// 1. The server is asked for the current edition; the installed one decides whether a patch will do. If it is
///    installed under an id that the server no longer lists, it gets its new one, and nothing is downloaded.
/// 2. The download is recorded in the state, before its file is created.
/// 3. The file is downloaded piece by piece and verified (``FileTransfer``).
/// 4. A patch is applied to the old edition, and the result verified. If that fails, the whole bundle is downloaded
///    instead.
/// 5. The replacement is recorded: from here on it is carried out, also after a kill.
/// 6. One rename replaces the old edition; the folder is flushed to the disk.
/// 7. One transaction records the new edition as installed and deletes the download.
/// 8. The remains of a patch are deleted.
struct InstallJob: Sendable {
  let part: RegionPart
  let client: StoreClient
  let state: RegionDatabase
  let files: OfflineRegionFiles
  let options: OfflineRegionOptions
  let budget: TransferBudget
  let onProgress: ProgressHandler
  private let pace = Pace()

  init(
    part: RegionPart, client: StoreClient, state: RegionDatabase, files: OfflineRegionFiles,
    options: OfflineRegionOptions, budget: TransferBudget, onProgress: @escaping ProgressHandler
  ) {
    (self.part, self.client, self.state, self.files) = (part, client, state, files)
    (self.options, self.budget, self.onProgress) = (options, budget, onProgress)
  }

  /// How often the server's file may change while it is downloaded.
  private static let roundsMax = 5

  func run() async throws -> InstalledFile {
    do {
      return try await rounds()
    } catch let error as FileSystem.SystemError {
      throw MapStoreError(error, files.folder)
    } catch let error as MapStoreError {
      try? giveUp(after: error)
      throw error
    }
  }

  /// Drops a download that a later sync could not complete: if the region is not owned or does not exist; if it was
  /// refused for another reason, only while nothing of it was received.
  private func giveUp(after error: MapStoreError) throws {
    guard let download = try state.download(part) else { return }
    let isOver =
      switch error.code {
      case .notOwned, .unknown: true
      case .refused, .signedOut: try state.pieces(of: download).isEmpty
      default: false
      }
    if isOver { drop(download) }
  }

  private func rounds() async throws -> InstalledFile {
    guard part.isSafe else {
      throw MapStoreError(
        .unknown, part.description, "no region or pack has this name", remedy: "check it against the catalogue",
        repair: .listLibrary)
    }
    var allowsPatch = part.pack == nil
    for _ in 0..<Self.roundsMax {
      let region = try await client.region(part.region, waits: { reportWait($0) }).region
      let installed = try state.installed(part)
      guard let whole = part.pack.map({ InstallPlan.pack(region, file: $0) }) ?? InstallPlan.whole(region) else {
        throw MapStoreError(
          .unknown, part.description, "the server has no such pack in its edition \(region.edition)",
          remedy: "look up the packs again", repair: .listLibrary)
      }
      try checkPlace()
      try state.note(product: region.productId, of: part.region)
      if let installed, installed.sha256 == whole.resultSHA256, try await isWhole(installed) {
        try dropDownload()
        return installed
      }
      if installed == nil, let adopted = try await adopt(whole) { return adopted }
      let download = try plan(
        whole, patch: allowsPatch ? installed.flatMap { InstallPlan.patch(region, from: $0) } : nil)
      do {
        try await receive(download)
        if download.wanted.kind == .patch { try await apply(download) }
      } catch TransferFault.changed {
        // The next round's plan keeps what was received, or drops it for another file.
        continue
      } catch let error as PatchFailed {
        report(download, .retrying, 0, "the patch cannot be used: \(error.why); the whole bundle is downloaded instead")
        drop(download)
        allowsPatch = false
        continue
      }
      return try await putInPlace(download)
    }
    throw MapStoreError(
      .damaged, part.description, "the server's file changed at every attempt", remedy: "try again later")
  }

  /// Whether an installed file is as it was installed. One that is damaged stays until the new one replaces it.
  private func isWhole(_ installed: InstalledFile) async throws -> Bool {
    try await FileDigest.sha256(waitingFor: files.installed(installed.part)) == installed.sha256
  }

  /// Takes over an installed bundle with the same bytes (SHA-256), whose region the server does not list any more.
  private func adopt(_ whole: WantedFile) async throws -> InstalledFile? {
    let listed = Set(try state.library().map(\.id))
    guard part.pack == nil, !listed.isEmpty,
      let orphan = try state.installed().first(where: {
        $0.part.pack == nil && $0.sha256 == whole.resultSHA256 && !listed.contains($0.part.region)
      })
    else { return nil }
    let (state, files, part) = (state, files, part)
    guard try await isWhole(orphan) else { return nil }
    try dropDownload()
    return try await Blocking.run {
      try RegionRenaming(state: state, files: files).run([RegionRename(from: orphan.part.region, to: part.region)])
      return try state.installed(part)
    }
  }

  // MARK: Steps 1 and 2

  /// Continues the recorded download if it leads to the same result, or begins one.
  private func plan(_ whole: WantedFile, patch: WantedFile?) throws -> Download {
    let space = SpaceCheck(state: state, options: options, folder: files.folder)
    if let known = try state.download(part) {
      let isSame = known.wanted == whole || known.wanted == patch
      if isSame {
        let received = try state.pieces(of: known).reduce(0) { $0 + $1.range.count }
        try space.run(known.wanted, received: received)
        try budget.check(known.wanted, received: received)
        try state.set(.fetching, of: known)
        return known
      }
      drop(known)
    }
    var wanted = whole
    // A patch is smaller to download, but needs more disk space for a while.
    if let patch, try space.hasRoom(patch) || !space.hasRoom(whole) { wanted = patch }
    try space.run(wanted, received: 0)
    try budget.check(wanted, received: 0)
    let download = try state.begin(wanted)
    options.onStep(.planned)
    return download
  }

  /// - Throws: ``MapStoreError`` `.damaged` if the file would replace another one: a tile pack with the file name of
  ///   another region.
  private func checkPlace() throws {
    let others = try state.installed().map(\.part) + state.downloads().map(\.wanted.part)
    // Many file systems ignore case.
    guard let other = others.first(where: { $0 != part && $0.fileName.lowercased() == part.fileName.lowercased() })
    else { return }
    throw MapStoreError(
      .damaged, part.description, "would replace \(other), which has the same file name",
      remedy: "remove that first; the publisher has to rename one of them")
  }

  private func dropDownload() throws {
    if let download = try state.download(part) { drop(download) }
  }

  /// The record is deleted first: recovery deletes files without a record.
  private func drop(_ download: Download) {
    try? state.drop(download)
    files.removeParts(of: download)
  }

  // MARK: Step 3

  private func receive(_ download: Download) async throws {
    let wanted = download.wanted
    let context = TransferContext(
      client: client, state: state, download: download, path: files.part(download), options: options,
      transport: options.transport ?? ClientTransport(client: client), budget: budget,
      report: { phase, done, complaint in report(download, phase, done, complaint) })
    try await FileTransfer(context: context, newTicket: { try await ticket(wanted, waits: $0) }).run()
  }

  private func ticket(_ wanted: WantedFile, waits: @escaping WaitHandler) async throws -> DownloadTicket {
    let request =
      switch wanted.kind {
      case .bundle: DownloadRequest(regionId: part.region, kind: .bundle, edition: wanted.edition)
      case .pack: DownloadRequest(regionId: part.region, kind: .pack, edition: wanted.edition, file: part.pack)
      case .patch:
        DownloadRequest(
          regionId: part.region, kind: .patch, edition: wanted.edition, fromEdition: wanted.fromEdition)
      }
    do {
      return try await client.ticket(request, waits: waits)
    } catch let error as MapStoreError where error.code == .editionGone {
      throw TransferFault.changed
    }
  }

  // MARK: Step 4

  private struct PatchFailed: Error { let why: String }

  private func apply(_ download: Download) async throws {
    let wanted = download.wanted
    report(download, .patching, wanted.bytes, nil)
    let (patch, base, output) = (files.part(download), files.installed(part), files.result(download))
    do {
      try await Blocking.run {
        try BundlePatch.apply(patch, to: base, output: output, replacing: true)
        guard try FileDigest.sha256(output) == wanted.resultSHA256 else {
          throw PatchFailed(why: "its result is not the new edition byte for byte")
        }
      }
    } catch let error as BundleError where error.code == .writeFailed {
      throw MapStoreError(.noSpace, part.description, error.message, remedy: error.remedy ?? "free space")
    } catch let error as BundleError {
      throw PatchFailed(why: error.message)
    }
    try Task.checkCancellation()
    options.onStep(.patched)
  }

  // MARK: Steps 5 to 8

  private func putInPlace(_ download: Download) async throws -> InstalledFile {
    let (state, files, options, part) = (state, files, options, part)
    let installed: InstalledFile? = try await Blocking.run {
      guard try state.set(.switching, of: download) else { return nil }
      options.onStep(.switchNoted)
      try files.putInPlace(download)
      options.onStep(.renamed)
      try state.finish(download, at: options.clock.now())
      options.onStep(.recorded)
      files.removeParts(of: download)
      options.onStep(.cleaned)
      return try state.installed(part)
    }
    // The download was removed meanwhile.
    guard let installed else { throw CancellationError() }
    report(download, .installed, download.wanted.bytes, nil)
    return installed
  }

  private func report(_ download: Download, _ phase: InstallProgress.Phase, _ done: Int, _ complaint: String?) {
    onProgress(
      InstallProgress(
        part: part, edition: download.wanted.edition, phase: phase, bytesDone: done, bytesTotal: download.wanted.bytes,
        bytesPerSecond: pace.rate(phase, done), complaint: complaint))
  }

  /// Reports that the server's limit keeps the job from learning what there is to install.
  private func reportWait(_ complaint: String) {
    let known = (try? state.download(part))?.wanted
    onProgress(
      InstallProgress(
        part: part, edition: known?.edition ?? "", phase: .waiting, bytesDone: 0, bytesTotal: known?.bytes ?? 0,
        complaint: complaint))
  }

  /// The rate of the download, for all phases of a job.
  private final class Pace: Sendable {
    private let pace = Mutex(TransferPace())
    private let start = ContinuousClock.now

    func rate(_ phase: InstallProgress.Phase, _ bytes: Int) -> Double? {
      let seconds = (ContinuousClock.now - start) / .seconds(1)
      return pace.withLock { pace in
        if phase == .downloading { return pace.rate(of: bytes, at: seconds) }
        pace.rest()
        return nil
      }
    }
  }
}
