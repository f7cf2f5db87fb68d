import RegionCatalog
import Support
import TileIndex

/// Publishes finished files and the catalogue that lists them. At every moment, even after a power failure, each file
/// in the catalogue exists and has the listed hash.
///
/// 1. Record the names of all files that are or will be published.
/// 2. If a new file replaces one that the present catalogue lists (a region changed within an edition), first write a
///    catalogue without that region.
/// 3. Rename the files into the folder.
/// 4. Replace the catalogue.
/// 5. Remove files that are no longer listed; bundles of whole regions only if ``prunes`` is set.
struct CatalogPublisher {
  let folder: CatalogFolder
  /// Whether bundles that the catalogue does not list are removed as well.
  let prunes: Bool
  /// False if only some regions were built; then finished files of the others are kept.
  let isWhole: Bool

  /// What a builder has published and may still exist. Other files in the folder are not touched.
  private struct Published: Codable, Equatable {
    /// Bundles of whole regions.
    var bundles: [String] = []
    var others: [String] = []
  }

  /// The published catalogue; nil if there is none.
  ///
  /// - Throws: ``BundleError`` if it cannot be read: it may belong to something else or to a newer version.
  func present() throws -> Catalog? {
    guard CatalogFiles.exists(folder.catalogue) else { return nil }
    do {
      return try Catalog(path: folder.catalogue)
    } catch let error as BundleError {
      throw BundleError(
        error.code, path: error.path, error.message,
        remedy: "remove it, and the build writes it anew, or build into another folder")
    }
  }

  /// Steps 1 to 5.
  ///
  /// - Parameter moves: the catalogue's files that are finished but not published yet.
  /// - Returns: the names of the removed files.
  func publish(_ catalogue: Catalog, moving moves: [Catalog.File], over present: Catalog?) throws -> [String] {
    let files = catalogue.regions.flatMap(\.files)
    let names = Set(files.map(\.file))
    try checkNames(files)

    let before = (try? JSONFile.read(folder.published).decoded(as: Published.self)) ?? Published()
    let bundles = Set(before.bundles + (present?.regions ?? []).map(\.file) + catalogue.regions.map(\.file))
    let own = Set(before.bundles + before.others + (present?.regions ?? []).flatMap(\.files).map(\.file))
    try checkPlaces(of: moves, own: own)
    let all = own.union(names)
    try write(Published(bundles: bundles.sorted(), others: all.subtracting(bundles).sorted()), unless: before)

    if let present, !moves.isEmpty {
      let changed = Dictionary(moves.map { ($0.file, $0.sha256) }, uniquingKeysWith: { $1 })
      let untouched = present.regions.filter { region in
        region.files.allSatisfy { file in changed[file.file].map { $0 == file.sha256 } ?? true }
      }
      if untouched.count < present.regions.count { try write(Catalog(regions: untouched)) }
    }
    for file in moves {
      let target = folder.file(file.file)
      // `metadata set` may be changing the present edition.
      try ChangeLock.publishing(target) { try CatalogFiles.move(folder.finished(file.file), to: target) }
    }
    if !moves.isEmpty { try CatalogFiles.synchronise(folder.path) }
    if (try? JSONFile.bytes(folder.catalogue)) != catalogue.bytes { try write(catalogue) }

    let unlisted = all.subtracting(names).filter { prunes || !bundles.contains($0) }
    // Only files: a folder that has got such a name is somebody else's.
    let removed = unlisted.filter { FileSystem.kind(folder.file($0)) == .file }.sorted()
    for name in removed { FileSystem.remove(folder.file(name)) }
    // Finished files that no longer belong to a region.
    if isWhole {
      for name in CatalogFiles.names(in: folder.finished("")) { CatalogFiles.remove(folder.finished(name)) }
    }
    let rest = all.subtracting(unlisted)
    try write(
      Published(bundles: rest.intersection(bundles).sorted(), others: rest.subtracting(bundles).sorted()), unless: nil)
    return removed
  }

  private func write(_ catalogue: Catalog) throws {
    try OutputFile.write(catalogue.bytes, to: folder.catalogue, replacing: true)
  }

  private func write(_ published: Published, unless before: Published?) throws {
    let before = before ?? (try? JSONFile.read(folder.published).decoded(as: Published.self))
    guard published != before else { return }
    try OutputFile.write(JSONValue(encoding: published).bytes, to: folder.published, replacing: true)
  }

  /// Refuses to replace what no build has published, unless it has the same bytes.
  private func checkPlaces(of moves: [Catalog.File], own: Set<String>) throws {
    for file in moves where !own.contains(file.file) && CatalogFiles.exists(folder.file(file.file)) {
      let path = folder.file(file.file)
      if let sha256 = try? FileHash.sha256(ofFile: path), sha256 == file.sha256 { continue }
      throw CatalogBuildError(
        .unwritableOutput, path: path, "is in the way: no build has published it",
        remedy: "move it away, then build again, which makes nothing twice")
    }
  }

  private func checkNames(_ files: [Catalog.File]) throws {
    var seen: Set<String> = [Catalog.fileName]
    for file in files where !seen.insert(file.file.lowercased()).inserted {
      throw CatalogBuildError(
        .invalidOption, path: folder.file(file.file), "would be the file of two regions",
        remedy: "change the id or the edition of one of them")
    }
  }
}
