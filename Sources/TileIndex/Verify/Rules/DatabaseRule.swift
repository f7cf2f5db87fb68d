import Support

/// MBTiles 1.3, "Database".
struct DatabaseRule: BundleRule {
  static let rule = VerificationRule(
    "database", .must, "the file is a whole SQLite 3 database whose tiles need no extension")
  private let reader: any DatabaseReader

  init(_ reader: any DatabaseReader) { self.reader = reader }

  mutating func begin(_ findings: inout Findings) throws {
    let connection = reader.connection
    // An unreadable page ends the check with an error, which is reported like its other findings.
    do {
      let check = try connection.prepare("PRAGMA integrity_check(\(Findings.keptMax + 1))")
      while try check.step() {
        guard let text = check.optionalText(0), text != "ok" else { continue }
        findings.error(
          "integrity_check: \(text)", remedy: "make or copy the bundle again; sqlite3's .recover may save a part")
      }
    } catch let error as SQLiteError {
      findings.error("integrity_check: \(error)", remedy: "make or copy the bundle again")
    }
    // A virtual table has no pages of its own. The index of places is SQLite's own FTS5, and only searching needs it.
    let virtual = try reader.reading {
      try connection.prepare("SELECT name, sql FROM sqlite_master WHERE type = 'table' AND rootpage = 0")
    }
    while try reader.reading({ try virtual.step() }) {
      if virtual.text(0) == PlaceTables.index, virtual.text(1).lowercased().contains(" using fts5(") { continue }
      findings.error(
        "the table \(virtual.text(0)) needs an SQLite extension", remedy: "drop it, readers may not have it")
    }
  }
}

/// A bundle is one file: side files are lost when it is copied.
struct SideFileRule: BundleRule {
  static let rule = VerificationRule("side-files", .practice, "no -wal, -shm or -journal file is left over beside it")
  private let path: String

  init(_ reader: any BundleReader) { path = reader.path }

  /// True when a log or journal with changes exists.
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
