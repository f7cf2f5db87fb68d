import Foundation

extension Ledger {
  /// Whether a path names the ledger itself or what SQLite keeps beside it, also by another name or through links.
  package func owns(_ file: String) -> Bool {
    let file = Self.resolved(file)
    return ["", "-wal", "-shm", "-journal"].contains { suffix in
      let own = Self.resolved(path + suffix)
      // What is not there yet has no number.
      return own == file || Self.identity(own).map { $0 == Self.identity(file) } ?? false
    }
  }

  /// Device and inode, which all names of a file share; nil of what is not there.
  private static func identity(_ resolved: String) -> [String]? {
    guard let attributes = try? FileManager.default.attributesOfItem(atPath: resolved),
      let device = attributes[.systemNumber], let inode = attributes[.systemFileNumber]
    else { return nil }
    return ["\(device)", "\(inode)"]
  }

  /// Without links, also where the last part is not there yet.
  static func resolved(_ path: String) -> String {
    let url = URL(fileURLWithPath: path)
    return url.deletingLastPathComponent().resolvingSymlinksInPath().appendingPathComponent(url.lastPathComponent)
      .resolvingSymlinksInPath().path
  }
}
