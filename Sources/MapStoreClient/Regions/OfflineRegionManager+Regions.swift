import MapStoreWire

#if canImport(FoundationEssentials)
  public import FoundationEssentials
#else
  public import Foundation
#endif

extension OfflineRegionManager {
  /// All regions of the library, in its order, then other installed regions. Needs no network.
  ///
  /// Like all methods of the manager that are not asynchronous, it reads the folder's database on the caller's thread,
  /// usually for less than a millisecond. Any thread may call them.
  ///
  /// - Throws: ``MapStoreError`` `.storage`.
  public nonisolated func regions() throws -> [OfflineRegion] { try reader.regions() }

  /// All installed files, including tile packs.
  ///
  /// - Throws: ``MapStoreError`` `.storage`.
  public nonisolated func installed() throws -> [InstalledFile] { try reader.installed() }

  /// The path of an installed file.
  public nonisolated func path(of part: RegionPart) -> String { reader.path(of: part) }

  /// The file of an installed part.
  public nonisolated func url(of part: RegionPart) -> URL { reader.url(of: part) }

  /// Whether a region may be opened at a time, according to the stored grants.
  ///
  /// - Parameter time: milliseconds since 1970; nil for now.
  /// - Throws: ``MapStoreError`` `.storage`.
  public nonisolated func usability(of region: String, at time: Int64? = nil) throws -> Usability {
    try reader.usability(of: region, at: time)
  }

  /// Whether ``usability(of:at:)`` allows to open a region.
  ///
  /// - Throws: ``MapStoreError`` `.storage`.
  public nonisolated func isUsable(_ region: String, at time: Int64? = nil) throws -> Bool {
    try usability(of: region, at: time).isUsable
  }

  /// Records that a region is in use; the least recently used ones are suggested for removal first. Waits until the
  /// record is on the disk, so it runs on the manager, and not on the caller's thread.
  ///
  /// - Throws: ``MapStoreError`` `.storage`, `.noSpace`.
  public func noteUse(of region: String) throws {
    for file in try state.installed() where file.part.region == region {
      try state.noteUse(of: file.part, at: options.clock.now())
    }
  }

  /// The regions to remove to free so many bytes, least recently used first; empty if all would not be enough.
  ///
  /// - Throws: ``MapStoreError`` `.storage`.
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
    for file in try state.installed() where file.part.region == region {
      let found = try await FileDigest.sha256(waitingFor: files.installed(file.part)) { [before] in
        onProgress(before + $0)
      }
      before += file.bytes
      if found == file.sha256 { continue }
      isWhole = false
      try removeFiles { $0 == file.part }
    }
    return isWhole
  }
}
