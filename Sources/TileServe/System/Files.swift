import Support
import TileIndex

#if canImport(Darwin)
  import Darwin
#elseif canImport(Musl)
  import Musl
#else
  import Glibc
#endif

/// The status of a file or folder: enough to detect changes.
struct FileStatus: Hashable, Sendable {
  let signature: FileSignature
  var device: UInt64 { signature.device }
  var inode: UInt64 { signature.inode }
  /// Seconds since 1970.
  var modified: Int { signature.modified }
  var modifiedNanoseconds: Int { signature.modifiedNanoseconds }
  /// The ctime, which cannot be set back. Seconds since 1970.
  var changed: Int { signature.changed }
  var isFolder: Bool { signature.kind == .folder }
  var isFile: Bool { signature.kind == .file }

  /// Follows symbolic links; nil if the file does not exist.
  ///
  /// - Throws: ``Unseen`` if that is unknown: no file descriptors left, an unreachable network drive.
  init?(looking path: String) throws(Unseen) {
    do {
      signature = try FileSignature(lookingAt: path)
    } catch {
      if error.isMissing || [ELOOP, EACCES, EPERM].contains(error.number) { return nil }
      throw Unseen()
    }
  }
}

/// The status of a file could not be read.
struct Unseen: Error {}

extension FileStatus {
  /// True if a folder cannot be listed for lack of permissions, which is a permanent failure.
  static func isForbidden(_ folder: String) -> Bool { access(folder, R_OK | X_OK) != 0 && errno == EACCES }

  /// The same if the reason does not matter.
  init?(_ path: String) {
    guard let status = (try? FileStatus(looking: path)) ?? nil else { return nil }
    self = status
  }
}

enum Folder {
  /// The last part of a path.
  static func name(_ path: String) -> String {
    let last = path.split(separator: "/").last.map(String.init) ?? path
    guard last == "." || last == ".." else { return last }
    // Neither can be an id in a URL.
    return realPath(path).split(separator: "/").last.map(String.init) ?? last
  }

  /// The absolute path without symbolic links; the path itself when it cannot be resolved.
  static func realPath(_ path: String) -> String { (try? FileSystem.realPath(path)) ?? path }

  /// The names in a folder without `.` and `..`, sorted by their bytes.
  static func names(_ path: String) throws(FileSystem.SystemError) -> [String] {
    guard let directory = opendir(path) else { throw FileSystem.SystemError(number: errno) }
    defer { closedir(directory) }
    var names: [String] = []
    while let entry = readdir(directory) {
      let name = withUnsafePointer(to: &entry.pointee.d_name) { pointer in
        pointer.withMemoryRebound(to: CChar.self, capacity: 1) { String(cString: $0) }
      }
      if name != ".", name != ".." { names.append(name) }
    }
    return names.sorted { $0.utf8.lexicographicallyPrecedes($1.utf8) }
  }
}

/// Checks whether files exist.
enum FileProbe {
  /// True for a file or folder that this process may read.
  static func isReadable(_ path: String) -> Bool { access(path, R_OK) == 0 }
}
