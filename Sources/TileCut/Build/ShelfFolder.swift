import Foundation
import Support
import TileIndex

/// The folder of a shelf and what the builder keeps in it: `.tilecut/` with the lock, the hashes of inputs, a record for each region, and files that are finished
/// but not yet on the shelf. One builder has it at a time; the system lets go of the lock when the process ends, however it ends.
final class ShelfFolder: Sendable {
  let path: String
  private let lock: FolderLock

  /// Opens or makes the folder.
  ///
  /// - Throws: ``ShelfError``: `.busy` when another build has it, `.unwritableOutput`.
  init(_ path: String) throws {
    var path = path
    while path.count > 1, path.hasSuffix("/") { path.removeLast() }
    self.path = path
    try ShelfFiles.makeFolder(path)
    try ShelfFiles.makeFolder("\(path)/.tilecut")
    let name = "\(path)/.tilecut/lock"
    do {
      guard let lock = try FolderLock(name) else {
        throw ShelfError(
          .busy, path: path, "another tilecut build is at work in it", remedy: "wait until it is done, then try again")
      }
      self.lock = lock
    } catch let error as FileSystem.SystemError {
      throw ShelfFiles.unwritable(name, "cannot be locked", error)
    }
    for folder in ["records", "finished", "work"] { try ShelfFiles.makeFolder("\(path)/.tilecut/\(folder)") }
    // Whoever made these is dead: the lock is ours.
    for name in ShelfFiles.names(in: "\(path)/.tilecut/work") { ShelfFiles.remove("\(path)/.tilecut/work/\(name)") }
    let partial = ".\(Catalogue.fileName)."
    for name in ShelfFiles.names(in: path) where name.hasPrefix(partial) && name.hasSuffix(".partial") {
      ShelfFiles.remove("\(path)/\(name)")
    }
  }

  var catalogue: String { file(Catalogue.fileName) }
  /// A file on the shelf.
  func file(_ name: String) -> String { "\(path)/\(name)" }
  /// A file that is finished but not yet on the shelf.
  func finished(_ name: String) -> String { "\(path)/.tilecut/finished/\(name)" }
  /// A folder for the files of a region that are being made.
  func work(_ region: String) -> String { "\(path)/.tilecut/work/\(region)" }
  func record(_ region: String) -> String { "\(path)/.tilecut/records/\(region).json" }
  var hashes: String { "\(path)/.tilecut/hashes.json" }
  /// The names of all files that were put on the shelf and may still be there.
  var shelved: String { "\(path)/.tilecut/shelved.json" }
}
