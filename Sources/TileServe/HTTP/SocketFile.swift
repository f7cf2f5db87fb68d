import LibC
import Support
import TileIndex

/// The file of a Unix socket that this process listens on.
struct SocketFile: Sendable {
  private var path: String
  private let identity: FileIdentity

  /// The socket at the path; nil for any other file.
  init?(_ path: String) {
    guard let status = try? FileSystem.status(path, followingLinks: false), status.kind == .socket else { return nil }
    (self.path, identity) = (path, status.identity)
  }

  /// Removes the file unless it was replaced by another one. While its socket is open no other file gets its inode
  /// number.
  func remove() {
    if SocketFile(path)?.identity == identity { unlink(path) }
  }

  /// The file under another name; nil if it cannot be renamed.
  func moved(to other: String) -> SocketFile? {
    guard rename(path, other) == 0 else { return nil }
    var moved = self
    moved.path = other
    return moved
  }

  /// A name in the folder of a file that no other process uses.
  static func ownName(besides path: String) -> String {
    let folder = path.lastIndex(of: "/").map { path[...$0] } ?? ""
    return "\(folder).\(getpid())"
  }

  /// The folder of a file.
  static func folder(of path: String) -> String {
    path.lastIndex(of: "/").map { $0 == path.startIndex ? "/" : String(path[..<$0]) } ?? "."
  }

  /// True for the error of a connection to a socket that nobody listens on any more.
  static func isAbandoned(errno number: Int32) -> Bool { number == ECONNREFUSED }
  /// True for the error of a connection to a file that is not there.
  static func isMissing(errno number: Int32) -> Bool { number == ENOENT }
}
