import Foundation

extension Ledger {
  /// Whether a path names the ledger itself or what SQLite keeps beside it, also by another name or through links.
  package func owns(_ file: String) -> Bool {
    let file = Self.resolved(file)
    return ["", "-wal", "-shm", "-journal"].contains { suffix in
      let own = Self.resolved(path + suffix)
      // What is not there yet has no number.
      return own == file || FileIdentity(own).map { $0 == FileIdentity(file) } ?? false
    }
  }

  /// Without links, also where the last part is not there yet.
  package static func resolved(_ path: String) -> String {
    let url = URL(fileURLWithPath: path)
    return url.deletingLastPathComponent().resolvingSymlinksInPath().appendingPathComponent(url.lastPathComponent)
      .resolvingSymlinksInPath().path
  }
}
