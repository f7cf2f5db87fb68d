import Support

/// A bundle is one file: what lies beside it is lost when it is copied.
struct SideFileRule: BundleRule {
  static let rule = VerificationRule("side-files", .practice, "no -wal, -shm or -journal file is left over beside it")
  private let path: String

  init(_ bundle: VerifiedBundle) { path = bundle.reader.path }

  /// True when a log or journal with something in it lies there.
  static func hasChanges(beside path: String) -> Bool {
    ["-wal", "-journal"].contains { FileSystem.size(path + $0) > 0 }
  }

  mutating func begin(_ findings: inout Findings) throws {
    let remedy = "close the program that writes it, then run: sqlite3 '\(path)' 'PRAGMA journal_mode = DELETE'"
    for suffix in ["-wal", "-journal", "-shm"] {
      guard let status = try? FileSystem.status(path + suffix) else { continue }
      if status.bytes > 0, suffix != "-shm" {
        findings.error("changes that are not in the bundle lie in \(path)\(suffix)", remedy: remedy)
      } else {
        findings.warning("\(path)\(suffix) is left over", remedy: remedy)
      }
    }
  }
}
