import RegionCatalog
import Support
import TileIndex

/// A catalogue's folder and the builder's state in it: `.tilecut/` with the lock, the hashes of inputs, a record for
/// each region, and files that are finished but not published.
///
/// One builder of the whole catalogue uses the folder at a time, or any number of builders of one region each; the
/// system releases the locks when a process ends, however it ends.
final class CatalogFolder: Sendable {
  /// What a process does with the folder.
  enum Use: Equatable {
    case publish
    case plan
    /// Makes the files of a region, which others do not make meanwhile.
    case make(region: String)
    case look
    /// Only reads the builder's state, if there is one.
    case estimate
  }

  let path: String
  private let locks: [FolderLock]

  /// Opens the folder and locks it, but for an estimate. To publish or to plan, it is created.
  ///
  /// - Throws: ``CatalogBuildError``: `.busy` if another build uses it; `.unwritableOutput`; `.unreadableInput` if the
  ///   folder of a plan is not there.
  init(_ path: String, to use: Use = .publish) throws {
    let path = path.withoutSlashes
    self.path = path
    guard use != .estimate else {
      locks = []
      return
    }
    if use == .publish || use == .plan {
      try CatalogFiles.makeFolder(path)
      try CatalogFiles.makeFolder("\(path)/.tilecut")
      for name in ["records", "finished", "work", "locks"] { try CatalogFiles.makeFolder("\(path)/.tilecut/\(name)") }
    } else if !CatalogFiles.exists("\(path)/.tilecut/locks") {
      // Nothing is made where the disk of the catalogue belongs.
      throw CatalogBuildError(
        .unreadableInput, path: path, "the catalogue of the plan is not there",
        remedy: "check that its disk is mounted, or make a new plan")
    }
    var locks = [try Self.lock("\(path)/.tilecut/lock", of: path, sharing: use != .publish)]
    if case .make(let region) = use {
      locks.append(try Self.lock("\(path)/.tilecut/locks/\(region)", of: path, sharing: false))
    }
    self.locks = locks
    guard use == .publish else { return }
    // Left over from a process that no longer runs, since the lock is free.
    for name in CatalogFiles.names(in: "\(path)/.tilecut/work") { CatalogFiles.remove("\(path)/.tilecut/work/\(name)") }
    let partial = ".\(Catalog.fileName)."
    for name in CatalogFiles.names(in: path) where name.hasPrefix(partial) && name.hasSuffix(".partial") {
      CatalogFiles.remove("\(path)/\(name)")
    }
  }

  private static func lock(_ file: String, of path: String, sharing: Bool) throws -> FolderLock {
    do {
      if let lock = try FolderLock(file, sharing: sharing) { return lock }
      throw CatalogBuildError(
        .busy, path: path, "another tilecut build is at work in it", remedy: "wait until it is done, then try again")
    } catch let error as FileSystem.SystemError {
      throw CatalogFiles.unwritable(file, "cannot be locked", error)
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
