import RegionCatalog
import Support
import TileIndex

/// A catalogue's folder and the builder's state in it: `.tilecut/` with the lock, the hashes of inputs, a record for
/// each region, and files that are finished but not published.
///
/// One builder uses the folder at a time; the system releases the lock when the process ends, however it ends.
final class CatalogFolder: Sendable {
  let path: String
  private let lock: FolderLock

  /// Opens or creates the folder and locks it.
  ///
  /// - Throws: ``CatalogBuildError``: `.busy` if another build uses it, `.unwritableOutput`.
  init(_ path: String) throws {
    let path = path.withoutSlashes
    self.path = path
    try CatalogFiles.makeFolder(path)
    try CatalogFiles.makeFolder("\(path)/.tilecut")
    let name = "\(path)/.tilecut/lock"
    do {
      guard let lock = try FolderLock(name) else {
        throw CatalogBuildError(
          .busy, path: path, "another tilecut build is at work in it", remedy: "wait until it is done, then try again")
      }
      self.lock = lock
    } catch let error as FileSystem.SystemError {
      throw CatalogFiles.unwritable(name, "cannot be locked", error)
    }
    for folder in ["records", "finished", "work"] { try CatalogFiles.makeFolder("\(path)/.tilecut/\(folder)") }
    // Left over from a process that no longer runs, since the lock is free.
    for name in CatalogFiles.names(in: "\(path)/.tilecut/work") { CatalogFiles.remove("\(path)/.tilecut/work/\(name)") }
    let partial = ".\(Catalog.fileName)."
    for name in CatalogFiles.names(in: path) where name.hasPrefix(partial) && name.hasSuffix(".partial") {
      CatalogFiles.remove("\(path)/\(name)")
    }
  }

  var catalogue: String { file(Catalog.fileName) }
  /// A published file.
  func file(_ name: String) -> String { "\(path)/\(name)" }
  /// A file that is finished but not published yet.
  func finished(_ name: String) -> String { "\(path)/.tilecut/finished/\(name)" }
  /// The folder in which a region's files are made.
  func work(_ region: String) -> String { "\(path)/.tilecut/work/\(region)" }
  func record(_ region: String) -> String { "\(path)/.tilecut/records/\(region).json" }
  var hashes: String { "\(path)/.tilecut/hashes.json" }
  /// The names of all files that were published and may still exist.
  var published: String { "\(path)/.tilecut/published.json" }
}
