import Synchronization
import Support

/// The temporary file that a bundle is written into, beside its target: `.NAME.PID-N.partial`.
///
/// Only a rename, after everything is on the disk, gives it the target's name; so under that name there is always a whole bundle, the old or the new.
struct PartialFile {
  /// The path the caller named, for messages.
  let target: String
  /// The temporary file.
  let path: String
  private let folder: String
  private let replacing: Bool

  /// Those of this process that are being written.
  private static let living = Mutex<Set<String>>([])

  /// Sets the file up and removes those that dead processes left behind for the same target.
  ///
  /// - Throws: ``BundleError``: `.exists` when the target is there and may not be replaced, `.busy` when it has changes beside it that were never
  ///   merged, `.writeFailed` when nothing can be written there.
  init(target: String, replacing: Bool) throws {
    try Self.check(target, replacing: replacing)
    self.target = target
    self.replacing = replacing
    let (folder, name) = Self.split(target)
    self.folder = folder
    let stem = Self.stem(name)
    Self.removeStale(stem: stem, folder: folder)
    var number = 0
    while true {
      let path = "\(folder)/\(stem).\(FileSystem.processID)-\(number).partial"
      do {
        try Self.living.withLock { living in
          try FileSystem.createExclusively(path)
          living.insert(path)
        }
        self.path = path
        return
      } catch let error as FileSystem.SystemError {
        // Another writer of this process has that number.
        guard error.isExisting, number < 1000 else {
          throw BundleError(
            .writeFailed, path: target, "no file can be written in \(folder): \(error)",
            remedy: error.isDiskFull ? "free space or choose another disk" : "choose a folder you may write to")
        }
        number += 1
      }
    }
  }

  /// Puts the finished file on the disk and gives it the target's name.
  func commit() throws {
    do {
      try FileSystem.synchronise(path)
      if replacing {
        try Self.checkTarget(target, replacing: true)
        // Empty side files of the previous bundle would be taken for the new one's.
        for suffix in Self.sideFiles { FileSystem.remove(target + suffix) }
        try named { try FileSystem.rename(path, replacing: target) }
      } else {
        try named { try FileSystem.rename(path, toNew: target) }
      }
      try FileSystem.synchronise(folder)
    } catch let error as FileSystem.SystemError {
      throw error.isExisting ? Self.existing(target) : Self.writeFailed(target, error)
    }
  }

  func remove() {
    Self.living.withLock { living in
      living.remove(path)
      Self.remove(path)
    }
  }

  /// Gives the file its name, unless that is forbidden for good by now.
  private func named(_ rename: () throws -> Void) throws {
    try Self.living.withLock { living in
      try rename()
      living.remove(path)
    }
  }

  /// Removes all that is being written and ends the process before any of it could be finished, or anything new begun.
  static func abandonAll(_ end: () -> Never) -> Never {
    living.withLock { living -> Never in
      for path in living { remove(path) }
      end()
    }
  }

  private static func remove(_ path: String) {
    for suffix in [""] + sideFiles { FileSystem.remove(path + suffix) }
  }

  /// What can be said before anything is written.
  static func check(_ target: String, replacing: Bool) throws {
    guard !target.isEmpty, !target.utf8.contains(0), !target.hasSuffix("/") else {
      throw BundleError(.writeFailed, path: target, "is not the name of a file", remedy: "name the file to write")
    }
    let folder = split(target).folder
    switch Result(catching: { try FileSystem.status(folder) }) {
    case .success(.some(let status)) where status.kind == .folder: break
    case .failure(let error):
      throw BundleError(.writeFailed, path: target, "the folder \(folder) cannot be read: \(error)")
    default:
      throw BundleError(
        .writeFailed, path: target, "there is no folder \(folder)", remedy: "create it first: mkdir -p '\(folder)'")
    }
    try checkTarget(target, replacing: replacing)
  }

  private static let sideFiles = ["-wal", "-shm", "-journal"]

  static func diskFull(_ target: String) -> BundleError {
    BundleError(
      .writeFailed, path: target, "the disk is full", remedy: "free space or choose another disk, then write it again")
  }

  private static func writeFailed(_ target: String, _ error: FileSystem.SystemError) -> BundleError {
    if error.isDiskFull { return diskFull(target) }
    return BundleError(.writeFailed, path: target, "the bundle could not be written: \(error)")
  }

  private static func existing(_ target: String) -> BundleError {
    BundleError(.exists, path: target, "already exists", remedy: "choose another name, or replace it with --force")
  }

  private static func checkTarget(_ target: String, replacing: Bool) throws {
    do {
      if let status = try FileSystem.status(target) {
        guard status.kind == .file else {
          throw BundleError(
            .writeFailed, path: target, status.kind == .folder ? "is a folder" : "is not a plain file",
            remedy: "name the file to write")
        }
        guard replacing else { throw existing(target) }
      }
    } catch let error as FileSystem.SystemError {
      throw writeFailed(target, error)
    }
    // SQLite would play these back into whatever file has the target's name.
    for suffix in ["-wal", "-journal"] where FileSystem.size(target + suffix) > 0 {
      throw BundleError(
        .busy, path: target, "changes to it that were never merged lie beside it in \(target)\(suffix)",
        remedy: "close the program that writes it, merge them with: sqlite3 '\(target)' .tables")
    }
  }

  private static func split(_ path: String) -> (folder: String, name: String) {
    guard let slash = path.lastIndex(of: "/") else { return (".", path) }
    let folder = String(path[..<slash])
    return (folder.isEmpty ? "/" : folder, String(path[path.index(after: slash)...]))
  }

  /// The part of the temporary name that belongs to the target. Names may be 255 bytes long on most file systems, so a long one is hashed.
  private static func stem(_ name: String) -> String {
    if name.utf8.count <= 200 { return ".\(name)" }
    let hash = Array(name.utf8).withUnsafeBytes(ContentHash.hash)
    return ".bundle-\(String(hash, radix: 16))"
  }

  private static func removeStale(stem: String, folder: String) {
    for name in FileSystem.names(in: folder) where name.hasPrefix(stem + ".") && name.hasSuffix(".partial") {
      let numbers = name.dropFirst(stem.count + 1).dropLast(".partial".count).split(separator: "-")
      guard numbers.count == 2, let process = Int(numbers[0]), Int(numbers[1]) != nil else { continue }
      guard process != FileSystem.processID, !FileSystem.isAlive(processID: process) else { continue }
      // In another container the process may live under a number that means nothing here; its database is then locked.
      let path = "\(folder)/\(name)"
      guard !FileSystem.isLockedByAnother(path) else { continue }
      remove(path)
    }
  }
}
