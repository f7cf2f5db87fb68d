import Foundation

extension Ledger {
  /// Whether a path names the ledger itself or what SQLite keeps beside it, also by another name or through links.
  package func owns(_ file: String) -> Bool {
    ["", "-wal", "-shm", "-journal"].contains { suffix in
      let own = path + suffix
      var (a, b) = (stat(), stat())
      if stat(own, &a) == 0, stat(file, &b) == 0 { return a.st_dev == b.st_dev && a.st_ino == b.st_ino }
      // What is not there yet has no number.
      return Self.resolved(own) == Self.resolved(file)
    }
  }

  private static func resolved(_ path: String) -> String {
    let url = URL(fileURLWithPath: path)
    return url.deletingLastPathComponent().resolvingSymlinksInPath().appendingPathComponent(url.lastPathComponent)
      .resolvingSymlinksInPath().path
  }
}
