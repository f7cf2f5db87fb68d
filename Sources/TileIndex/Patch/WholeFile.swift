import Support

/// A bundle's file as a whole, where it is one.
enum WholeFile {
  /// The file's SHA-256; nil for a folder, and for a database whose log or journal holds changes.
  static func hash(_ path: String) throws -> String? {
    guard (try? FileSystem.status(path))??.kind == .file, let real = try? FileSystem.realPath(path),
      FileSystem.size(real + "-wal") == 0, FileSystem.size(real + "-journal") == 0
    else { return nil }
    return try FileHash.sha256(ofFile: path)
  }

  /// Where a database's header has the version of the SQLite that wrote it last (SQLite file format, section 1.3.22),
  /// the highest byte first.
  private static let versionOffset = 96

  static func sqliteVersion(_ path: String) -> Int? {
    guard let head = try? ReadOnlyFile(path).bytes(at: 0, count: versionOffset + 4), head.count == versionOffset + 4,
      head.starts(with: BundleMagic.sqlite)
    else { return nil }
    return head[versionOffset...].reduce(0) { $0 << 8 | Int($1) }
  }

  /// Sets the SQLite version in a database's header. Readers ignore the number; it is set so that equal contents give
  /// equal files with any version of SQLite.
  static func setSQLiteVersion(_ version: Int, _ path: String) throws {
    let bytes = (0..<4).reversed().map { UInt8(truncatingIfNeeded: version >> (8 * $0)) }
    try FileSystem.write(bytes, to: path, at: versionOffset)
  }
}
