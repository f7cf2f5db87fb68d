import Support

/// The first bytes of a bundle's file, by format.
enum BundleMagic {
  /// Every SQLite database, and so MBTiles (SQLite file format, section 1.3.1).
  static let sqlite = Array("SQLite format 3\0".utf8)
  /// PMTiles v3, section 3; the version follows.
  static let pmtiles = Array("PMTiles".utf8)

  /// The application ids of GeoPackage 1.2 and later, 1.1 and 1.0 (OGC 12-128r18, requirement 2).
  static let geoPackage = ["GPKG", "GP11", "GP10"].map { Array($0.utf8) }
  /// Of the application id in a database's header (SQLite file format, section 1.3).
  private static let applicationIDBytes = 68..<72

  /// True for the head of a database that says to be a GeoPackage.
  static func isGeoPackage(_ head: [UInt8]) -> Bool {
    head.count >= applicationIDBytes.upperBound && geoPackage.contains(Array(head[applicationIDBytes]))
  }

  /// The head of a database with an application id.
  static func databaseHead(applicationID: Int) -> [UInt8] {
    let bytes = (0..<4).reversed().map { UInt8(truncatingIfNeeded: applicationID >> (8 * $0)) }
    return sqlite + [UInt8](repeating: 0, count: applicationIDBytes.lowerBound - sqlite.count) + bytes
  }

  /// The first 72 bytes of a regular file, fewer where it is shorter.
  ///
  /// Not for a database with a log or journal: closing a file drops the POSIX locks that SQLite connections in this
  /// process hold on it.
  /// - Throws: ``FileSystem/SystemError`` or ``ReadOnlyFile/NotAFile``.
  static func head(_ path: String) throws -> [UInt8] {
    try ReadOnlyFile(path).bytes(at: 0, count: applicationIDBytes.upperBound)
  }
}
