import LibC
import Support
import TileIndex

/// The status of a file could not be read.
struct Unseen: Error {}

extension FileSystem {
  /// The status of a file or folder; nil if there is none, or none that this process may see.
  ///
  /// - Throws: ``Unseen`` if that is unknown: no file descriptors left, an unreachable network drive.
  static func look(at path: String) throws(Unseen) -> Status? {
    do {
      return try status(path)
    } catch {
      if [ELOOP, EACCES, EPERM].contains(error.number) { return nil }
      throw Unseen()
    }
  }
}

enum Folder {
  /// True if a folder cannot be listed for lack of permissions, which is a permanent failure.
  static func isForbidden(_ path: String) -> Bool { access(path, R_OK | X_OK) != 0 && errno == EACCES }

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
        pointer.withMemoryRebound(to: CChar.self, capacity: 1) { SystemPath.text($0) }
      }
      if name != ".", name != ".." { names.append(name) }
    }
    return names.sorted { $0.utf8.lexicographicallyPrecedes($1.utf8) }
  }
}
