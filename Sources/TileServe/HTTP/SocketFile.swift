import Support
import TileIndex

#if canImport(Darwin)
  import Darwin
#elseif canImport(Musl)
  import Musl
#else
  import Glibc
#endif

/// The file of a Unix socket that this process listens on.
struct SocketFile: Sendable {
  private var path: String
  private let identity: FileSystem.Identity

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

  /// True for the error of a connection to a socket that nobody listens on any more.
  static func isAbandoned(errno number: Int32) -> Bool { number == ECONNREFUSED }
  /// True for the error of a connection to a file that is not there.
  static func isMissing(errno number: Int32) -> Bool { number == ENOENT }
}

/// A lock on a folder while a server starts to listen there: between finding an abandoned socket and replacing it no
/// other server may do the same. Leaves no file behind, and ends with the process.
final class SocketFolderLock: Sendable {
  private let descriptor: Int32

  /// - Parameter path: a file in the folder. If the folder cannot be locked within five seconds, the server goes on
  ///   without the lock.
  init(besides path: String) async {
    let folder = path.lastIndex(of: "/").map { $0 == path.startIndex ? "/" : String(path[..<$0]) } ?? "."
    descriptor = open(folder, O_RDONLY | O_CLOEXEC)
    guard descriptor >= 0 else { return }
    for _ in 0..<250 where flock(descriptor, LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK {
      try? await Task.sleep(for: .milliseconds(20))
    }
  }

  deinit { if descriptor >= 0 { close(descriptor) } }
}
