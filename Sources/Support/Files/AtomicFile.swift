package import LibC
import Synchronization

/// A file or folder that is published atomically: written beside its target, fsynced, renamed, and the folder that it
/// lies in fsynced.
///
/// Under the target's name there is a whole file at any moment, the old one or the new one, also after a power cut.
/// Whoever writes the file does so under ``path``, which is `.NAME.PID-N.partial` in the target's folder: a database is
/// written by SQLite, other files by ``FileSystem``.
package struct AtomicFile: Sendable {
  /// The temporary file.
  package let path: String
  private let target: String
  private let folder: String

  /// The temporary files of this process.
  private static let unfinished = Mutex<Set<String>>([])
  /// Suffixes of the files that SQLite keeps beside a database.
  package static let sideFiles = ["-wal", "-shm", "-journal"]

  /// Creates an empty temporary file. Removes those that dead processes left for the same target.
  ///
  /// - Throws: ``FileSystem/SystemError``.
  package init(target: String, mode: mode_t = 0o666) throws {
    try self.init(target: target) { try FileSystem.createExclusively($0, mode: UInt32(mode)) }
  }

  /// Creates an empty temporary folder, which ``publish(by:)`` gives its name.
  ///
  /// - Throws: ``FileSystem/SystemError``.
  package init(folder target: String) throws {
    try self.init(target: target) { try FileSystem.makeFolder($0) }
  }

  private init(target: String, create: (String) throws -> Void) throws {
    self.target = target
    let (folder, name) = FileSystem.split(target)
    self.folder = folder
    let stem = Self.stem(name)
    Self.removeStale(stem: stem, folder: folder)
    var number = 0
    while true {
      let path = "\(folder)/\(stem).\(FileSystem.processID)-\(number).partial"
      do {
        try Self.unfinished.withLock { unfinished in
          try create(path)
          unfinished.insert(path)
        }
        self.path = path
        return
      } catch let error as FileSystem.SystemError {
        // Another writer of this process has that number.
        guard error.isExisting, number < 1000 else { throw error }
        number += 1
      }
    }
  }

  /// Writes a small file in one call.
  ///
  /// - Throws: ``FileSystem/SystemError``.
  package static func write(_ bytes: [UInt8], to target: String, replacing: Bool = true, mode: mode_t = 0o666) throws {
    let file = try AtomicFile(target: target, mode: mode)
    do {
      try FileSystem.write(bytes, to: file.path)
      try file.publish(replacing: replacing)
    } catch {
      file.remove()
      throw error
    }
  }

  /// Gives the finished file the target's name. Everything that writes to it must be closed.
  ///
  /// - Parameter replacing: whether the target may exist.
  /// - Throws: ``FileSystem/SystemError``, `isExisting` for a target that may not exist.
  package func publish(replacing: Bool) throws {
    try FileSystem.synchronise(path)
    try Self.unfinished.withLock { unfinished in
      if replacing {
        try FileSystem.rename(path, replacing: target)
      } else {
        try FileSystem.rename(path, toNew: target)
      }
      unfinished.remove(path)
    }
    try FileSystem.synchronise(folder)
  }

  /// Gives the finished file or folder its name in another way.
  ///
  /// - Parameter rename: gets the temporary path and the target.
  package func publish(by rename: (String, String) throws -> Void) throws {
    try Self.unfinished.withLock { unfinished in
      try rename(path, target)
      unfinished.remove(path)
    }
    try FileSystem.synchronise(folder)
  }

  /// Removes the temporary file and what SQLite keeps beside it. Does nothing after ``publish(replacing:)``.
  package func remove() {
    Self.unfinished.withLock { unfinished in
      if unfinished.remove(path) != nil { Self.remove(path) }
    }
  }

  /// Makes a file that is not published, and that ``abandonAll(_:)`` removes from the moment on when it is there.
  ///
  /// - Parameter make: nil when the file is not this process's.
  package static func makeTemporary<Result: Sendable>(
    _ path: String, _ make: () throws -> Result?
  ) rethrows -> Result? {
    try unfinished.withLock { unfinished in
      let made = try make()
      if made != nil { unfinished.insert(path) }
      return made
    }
  }

  /// Removes such a file.
  package static func removeTemporary(_ path: String, _ remove: () -> Void) {
    unfinished.withLock { unfinished in
      remove()
      unfinished.remove(path)
    }
  }

  /// Removes all temporary files of this process and ends it. No file is published and none begun in between.
  package static func abandonAll(_ end: () -> Never) -> Never {
    unfinished.withLock { unfinished -> Never in
      for path in unfinished { remove(path) }
      end()
    }
  }

  private static func remove(_ path: String) {
    if let status = try? FileSystem.status(path, followingLinks: false), status.kind == .folder {
      // Under another name first, so that a thread that still writes into it finds no folder.
      let gone = path.dropLast(".partial".count) + "000.partial"
      let isMoved = (try? FileSystem.rename(path, replacing: String(gone))) != nil
      FileSystem.removeTree(isMoved ? String(gone) : path)
      return
    }
    for suffix in [""] + sideFiles { FileSystem.remove(path + suffix) }
  }

  /// The part of the temporary name that belongs to the target. Most file systems limit names to 255 bytes, so a long
  /// name is hashed (FNV-1a).
  package static func stem(_ name: String) -> String {
    if name.utf8.count <= 200 { return ".\(name)" }
    let hash = name.utf8.reduce(0xcbf2_9ce4_8422_2325 as UInt64) { ($0 ^ UInt64($1)) &* 0x100_0000_01b3 }
    return ".file-\(String(hash, radix: 16))"
  }

  private static func removeStale(stem: String, folder: String) {
    for name in FileSystem.names(in: folder) where name.hasPrefix(stem + ".") && name.hasSuffix(".partial") {
      let numbers = name.dropFirst(stem.count + 1).dropLast(".partial".count).split(separator: "-")
      guard numbers.count == 2, let process = Int(numbers[0]), Int(numbers[1]) != nil else { continue }
      guard process != FileSystem.processID, !FileSystem.isAlive(processID: process) else { continue }
      // A process in another container has an id that means nothing here. Its database is locked.
      let path = "\(folder)/\(name)"
      guard !FileSystem.isLockedByAnother(path) else { continue }
      remove(path)
    }
  }
}
