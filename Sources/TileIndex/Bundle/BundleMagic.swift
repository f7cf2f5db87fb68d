import Support

/// The bytes that a bundle's file begins with, by its format.
enum BundleMagic {
  /// Of every SQLite database, and so of MBTiles (SQLite file format, section 1.3.1).
  static let sqlite = Array("SQLite format 3\0".utf8)
  /// PMTiles v3, section 3; the version follows.
  static let pmtiles = Array("PMTiles".utf8)

  /// The first bytes of a plain file, fewer where it ends.
  ///
  /// Not for a database with a log or journal: closing a file drops the POSIX locks that SQLite's connections in this process hold on it.
  /// - Throws: ``FileSystem/SystemError`` or ``ReadOnlyFile/NotAFile``.
  static func head(_ path: String) throws -> [UInt8] { try ReadOnlyFile(path).bytes(at: 0, count: 16) }
}
