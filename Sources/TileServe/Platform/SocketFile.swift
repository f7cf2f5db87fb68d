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

  /// What lies at the path now; nil for what is no socket.
  init?(_ path: String) {
    guard let status = try? FileSystem.status(path, followingLinks: false), status.kind == .socket else { return nil }
    (self.path, identity) = (path, status.identity)
  }

  /// Removes the file unless another one lies there by now. While its socket is open no other file gets its number.
  func remove() {
    if SocketFile(path)?.identity == identity { unlink(path) }
  }

  /// The same under another name; nil when it cannot be renamed.
  func moved(to other: String) -> SocketFile? {
    guard rename(path, other) == 0 else { return nil }
    var moved = self
    moved.path = other
    return moved
  }

  /// A name that no other process takes, in the folder of a file.
  static func ownName(besides path: String) -> String {
    let folder = path.lastIndex(of: "/").map { path[...$0] } ?? ""
    return "\(folder).\(getpid())"
  }

  /// True for the error of a connection to a socket that nobody listens on any more.
  static func isAbandoned(errno number: Int32) -> Bool { number == ECONNREFUSED }
  /// True for the error of a connection to a file that is not there.
  static func isMissing(errno number: Int32) -> Bool { number == ENOENT }
}

/// Who starts to listen in a folder takes turns with others that do: between finding a socket abandoned and taking its place nobody else may do so. Leaves no
/// file behind, and ends with the process.
final class FolderTurn: Sendable {
  private let descriptor: Int32

  /// - Parameter path: of a file in the folder. Where the folder cannot be locked, or somebody has it for five seconds, there is no turn to wait for.
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
