import MapStoreWire

#if canImport(FoundationEssentials)
  public import FoundationEssentials
#else
  public import Foundation
#endif

/// What is in a folder of regions, for processes that only read it: widgets, extensions, a second window.
///
/// It takes no lock, so it works while an ``OfflineRegionManager`` of any process has the folder, and sees what that
/// records. Each call reads the folder's database on the caller's thread.
public struct OfflineRegionReader: Sendable {
  let state: RegionDatabase
  let files: OfflineRegionFiles
  let grants: OfflineGrants
  let clock: DeviceClock

  /// Opens a folder of regions for reading.
  ///
  /// - Parameter grants: as for the manager; a reader stores no new keys.
  /// - Throws: ``MapStoreError`` `.unknown` if no manager has ever opened the folder, `.storage` if it cannot be read.
  public init(folder: URL, grants: OfflineGrants.Rule = OfflineGrants.Rule()) throws {
    guard folder.isFileURL else {
      throw MapStoreError(.storage, folder.absoluteString, "is not a folder of this device", remedy: "name one")
    }
    let files = OfflineRegionFiles(folder: folder.path)
    let state = try RegionDatabase(reading: files.state)
    self.init(state: state, files: files, grants: OfflineGrants(state: state, rule: grants), clock: DeviceClock())
  }

  init(state: RegionDatabase, files: OfflineRegionFiles, grants: OfflineGrants, clock: DeviceClock) {
    (self.state, self.files, self.grants, self.clock) = (state, files, grants, clock)
  }

  /// As ``OfflineRegionManager/regions()``.
  ///
  /// - Throws: ``MapStoreError`` `.storage`.
  public func regions() throws -> [OfflineRegion] { try regions(told: try state.library()) }

  func regions(told: [LibraryRegion]) throws -> [OfflineRegion] {
    let installed = Dictionary(grouping: try state.installed(), by: \.part.region)
    let downloads = Dictionary(grouping: try state.downloads(), by: \.wanted.part.region)
    let known = Set(told.map(\.id))
    let others = Set(installed.keys).union(downloads.keys).subtracting(known).sorted()
    return try (told.map { ($0.id, $0) } + others.map { ($0, nil) }).map { (id: String, told: LibraryRegion?) in
      let files = installed[id] ?? []
      let whole = files.first { $0.part.pack == nil }
      return OfflineRegion(
        id: id, title: told?.title, productId: try told?.productId ?? state.product(of: id),
        status: told.map { OfflineRegion.status($0, installed: whole) }, isForSale: told?.isForSale ?? false,
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
  ///
  /// - Throws: ``MapStoreError`` `.storage`.
  public func installed() throws -> [InstalledFile] { try state.installed() }

  /// The path of an installed file.
  func path(of part: RegionPart) -> String { files.installed(part) }

  /// The file of an installed part.
  public func url(of part: RegionPart) -> URL { URL(filePath: path(of: part)) }

  /// Whether a region may be opened at a time, according to the stored grants.
  ///
  /// - Parameter time: milliseconds since 1970; nil for now.
  /// - Throws: ``MapStoreError`` `.storage`.
  public func usability(of region: String, at time: Int64? = nil) throws -> Usability {
    try grants.usability(of: region, now: time ?? clock.now())
  }
}
