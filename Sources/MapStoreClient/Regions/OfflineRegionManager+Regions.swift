public import MapStoreWire

#if canImport(FoundationEssentials)
  public import FoundationEssentials
#else
  public import Foundation
#endif

extension OfflineRegionManager {
  /// All regions of the library, in its order, then other installed regions. Needs no network.
  ///
  /// - Throws: ``MapStoreError`` `.storage`.
  public nonisolated func regions() throws -> [OfflineRegion] { try regions(told: try state.library()) }

  nonisolated func regions(told: [LibraryRegion]) throws -> [OfflineRegion] {
    let installed = Dictionary(grouping: try state.installed(), by: \.part.region)
    let downloads = Dictionary(grouping: try state.downloads(), by: \.wanted.part.region)
    let known = Set(told.map(\.id))
    let others = Set(installed.keys).union(downloads.keys).subtracting(known).sorted()
    return try (told.map { ($0.id, $0) } + others.map { ($0, nil) }).map { (id: String, told: LibraryRegion?) in
      let files = installed[id] ?? []
      let whole = files.first { $0.part.pack == nil }
      return OfflineRegion(
        id: id, status: told.map { OfflineRegion.status($0, installed: whole) }, isForSale: told?.isForSale ?? false,
        edition: told?.edition, bytes: told?.bytes,
        patchBytes: told?.installedEdition == whole?.edition ? told?.patchBytes : nil, installed: whole,
        packs: files.filter { $0.part.pack != nil },
        downloads: try (downloads[id] ?? []).map { download in
          OfflineRegion.OnTheWay(
            part: download.wanted.part, edition: download.wanted.edition, isPaused: download.state == .paused,
            isPatch: download.wanted.kind == .patch,
            bytesDone: try state.pieces(of: download).reduce(0) { $0 + $1.range.count },
            bytesTotal: download.wanted.bytes)
        })
    }
  }

  /// All installed files, including tile packs.
  public nonisolated func installed() throws -> [InstalledFile] { try state.installed() }

  /// The path of an installed file.
  public nonisolated func path(of part: RegionPart) -> String { files.installed(part) }

  /// The file of an installed part.
  public nonisolated func url(of part: RegionPart) -> URL { URL(filePath: path(of: part)) }

  /// Whether a region may be opened at a time, according to the stored grants.
  ///
  /// - Parameter time: milliseconds since 1970; nil for now.
  /// - Throws: ``MapStoreError`` `.storage`.
  public nonisolated func usability(of region: String, at time: Int64? = nil) throws -> Usability {
    try grants.usability(of: region, now: time ?? options.clock.now())
  }

  /// Whether ``usability(of:at:)`` allows to open a region.
  public nonisolated func isUsable(_ region: String, at time: Int64? = nil) throws -> Bool {
    try usability(of: region, at: time).isUsable
  }

  /// Records that a region is in use; the least recently used ones are suggested for removal first.
  public nonisolated func noteUse(of region: String) throws {
    for file in try state.installed() where file.part.region == region {
      try state.noteUse(of: file.part, at: options.clock.now())
    }
  }

  /// The regions to remove to free so many bytes, least recently used first; empty if all would not be enough.
  public nonisolated func suggestions(toFree bytes: Int) throws -> [RemovalSuggestion] {
    try SpaceCheck(state: state, options: options, folder: folder).suggestions(toFree: bytes, except: "")
  }

  /// Compares an installed region's files with their SHA-256. Damaged files are removed; they can be downloaded again.
  ///
  /// - Parameter onProgress: gets the bytes of the region that were read so far, on any thread.
  /// - Returns: false if a file was damaged.
  /// - Throws: ``MapStoreError`` `.storage`; `CancellationError`.
  public func verify(
    _ region: String, onProgress: @escaping @Sendable (Int) -> Void = { _ in }
  ) async throws -> Bool {
    var isWhole = true
    var before = 0
    let stop = StopFlag()
    for file in try state.installed() where file.part.region == region {
      let path = files.installed(file.part)
      let found = try await withTaskCancellationHandler { [before] in
        try await Blocking.run {
          var done = before
          return try FileDigest.sha256(path) { bytes in
            if stop.isSet { throw CancellationError() }
            done += bytes
            onProgress(done)
          }
        }
      } onCancel: {
        stop.set()
      }
      before += file.bytes
      if found == file.sha256 { continue }
      isWhole = false
      try removeFiles { $0 == file.part }
    }
    return isWhole
  }
}

/// A region on this device: its status in the library, and its installed files.
public struct OfflineRegion: Hashable, Sendable, Codable {
  /// A download of the region.
  public struct OnTheWay: Hashable, Sendable, Codable {
    /// What is downloaded.
    public let part: RegionPart
    /// The edition that it leads to.
    public let edition: String
    /// Paused by the user; other downloads continue with the next
    /// ``OfflineRegionManager/sync(with:queue:onProgress:)``.
    public let isPaused: Bool
    /// Whether it is a patch of the installed edition.
    public let isPatch: Bool
    /// The recorded bytes on the disk.
    public let bytesDone: Int
    /// The size of the downloaded file.
    public let bytesTotal: Int
  }

  /// The name of the region.
  public let id: String
  /// The status to show; nil before the server was asked.
  public let status: LibraryStatus?
  /// Whether the store sells it now.
  public let isForSale: Bool
  /// The server's edition as of its last answer.
  public let edition: String?
  /// The size of that edition's whole bundle.
  public let bytes: Int?
  /// The size of the patch from the installed edition to that one.
  public let patchBytes: Int?
  /// The installed whole region.
  public let installed: InstalledFile?
  /// The installed tile packs.
  public let packs: [InstalledFile]
  /// What is being downloaded, or was interrupted.
  public let downloads: [OnTheWay]
}

extension OfflineRegion {
  /// Combines ownership, which the server knows, with the installed edition, which the device knows.
  static func status(_ told: LibraryRegion, installed: InstalledFile?) -> LibraryStatus {
    switch told.status {
    case .forSale, .pendingApproval, .revoked: told.status
    case .ownedInstalled, .ownedNotInstalled, .updateAvailable:
      installed.map { $0.edition == told.edition ? .ownedInstalled : .updateAvailable } ?? .ownedNotInstalled
    }
  }
}
