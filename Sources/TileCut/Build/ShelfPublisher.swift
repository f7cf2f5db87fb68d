import Foundation
import Support
import TileIndex

/// Puts finished files on the shelf and the catalogue that names them in place, so that at every moment, also that of a power cut, each file that the catalogue
/// names is there and has the hash that it says.
///
/// 1. All names that are or will be on the shelf are written down. 2. Where a new file takes the name of another that the present catalogue names, which happens
/// when a region changes within an edition, the catalogue is first replaced by one without that region. 3. The files get their names. 4. The new catalogue takes the
/// place of the old. 5. What it does not name any more is removed; bundles of whole regions stay unless they are to be pruned.
struct ShelfPublisher {
  let folder: ShelfFolder
  /// True when bundles that the catalogue does not name go too.
  let prunes: Bool
  /// False when only some regions were built: finished files of the others wait on.
  let isWhole: Bool

  /// What was ever put on the shelf by a builder and may still be there. Other files in the folder are somebody else's.
  private struct Shelved: Codable, Equatable {
    /// Bundles of whole regions.
    var bundles: [String] = []
    var others: [String] = []
  }

  /// The catalogue that is there; nil when there is none.
  ///
  /// - Throws: ``BundleError`` when it cannot be read: it may be somebody else's, or a newer tool's.
  func present() throws -> Catalogue? {
    guard ShelfFiles.exists(folder.catalogue) else { return nil }
    do {
      return try Catalogue(path: folder.catalogue)
    } catch let error as BundleError {
      throw BundleError(
        error.code, path: error.path, error.message,
        remedy: "remove it, and the build writes it anew, or build into another folder")
    }
  }

  /// - Parameter moves: the files of the catalogue that are finished but not yet on the shelf.
  /// - Returns: the names of the files that were removed.
  func publish(_ catalogue: Catalogue, moving moves: [Catalogue.File], over present: Catalogue?) throws -> [String] {
    let files = catalogue.regions.flatMap(\.files)
    let names = Set(files.map(\.file))
    try checkNames(files)

    let before = (try? JSONFile.read(folder.shelved).decoded(as: Shelved.self)) ?? Shelved()
    let bundles = Set(before.bundles + (present?.regions ?? []).map(\.file) + catalogue.regions.map(\.file))
    let all = Set(before.bundles + before.others + (present?.regions ?? []).flatMap(\.files).map(\.file)).union(names)
    try write(Shelved(bundles: bundles.sorted(), others: all.subtracting(bundles).sorted()), unless: before)

    if let present, !moves.isEmpty {
      let changed = Dictionary(moves.map { ($0.file, $0.sha256) }, uniquingKeysWith: { $1 })
      let untouched = present.regions.filter { region in
        region.files.allSatisfy { file in changed[file.file].map { $0 == file.sha256 } ?? true }
      }
      if untouched.count < present.regions.count { try write(Catalogue(regions: untouched)) }
    }
    for file in moves { try ShelfFiles.move(folder.finished(file.file), to: folder.file(file.file)) }
    if !moves.isEmpty { try ShelfFiles.synchronise(folder.path) }
    if (try? JSONFile.bytes(folder.catalogue)) != catalogue.bytes { try write(catalogue) }

    let goes = all.subtracting(names).filter { prunes || !bundles.contains($0) }
    let removed = goes.filter { ShelfFiles.exists(folder.file($0)) }.sorted()
    for name in removed { ShelfFiles.remove(folder.file(name)) }
    // What is finished but belongs to no region any more.
    if isWhole {
      for name in ShelfFiles.names(in: folder.finished("")) { ShelfFiles.remove(folder.finished(name)) }
    }
    let rest = all.subtracting(goes)
    try write(
      Shelved(bundles: rest.intersection(bundles).sorted(), others: rest.subtracting(bundles).sorted()), unless: nil)
    return removed
  }

  private func write(_ catalogue: Catalogue) throws {
    try OutputFile.write(catalogue.bytes, to: folder.catalogue, replacing: true)
  }

  private func write(_ shelved: Shelved, unless before: Shelved?) throws {
    let before = before ?? (try? JSONFile.read(folder.shelved).decoded(as: Shelved.self))
    guard shelved != before else { return }
    try OutputFile.write(JSONValue(encoding: shelved).bytes, to: folder.shelved, replacing: true)
  }

  private func checkNames(_ files: [Catalogue.File]) throws {
    var seen: Set<String> = [Catalogue.fileName]
    for file in files where !seen.insert(file.file.lowercased()).inserted {
      throw ShelfError(
        .invalidOption, path: folder.file(file.file), "would be the file of two regions",
        remedy: "change the id or the edition of one of them")
    }
  }
}
