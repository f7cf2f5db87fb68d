import Support

/// What the metadata of a bundle may take, whatever its container: all of it is in memory as long as the bundle is
/// open, and is parsed again and again. Real metadata have kilobytes.
enum MetadataLimits {
  static let rowsMax = 1000
  /// Of a name and its value.
  static let rowBytesMax = 1 << 20
  /// Of all rows.
  static let bytesMax = 4 << 20

  /// Refuses what is above the limits.
  ///
  /// - Throws: ``BundleError`` with `.malformed`.
  static func check(_ rows: [StoredMetadata.Entry], path: String) throws {
    guard rows.count <= rowsMax else { throw tooMany(path) }
    var bytes = 0
    for row in rows {
      let count = row.name.utf8.count + row.value.utf8.count
      guard count <= rowBytesMax else { throw tooLong(path, "the row \"\(row.name.prefix(100))\" has \(count) bytes") }
      bytes += count
    }
    guard bytes <= bytesMax else { throw tooLong(path, "all rows have \(bytes) bytes", max: bytesMax) }
  }

  static func tooMany(_ path: String) -> BundleError {
    BundleError(
      .malformed, path: path, "its metadata have more than \(rowsMax) rows", remedy: "delete those that nobody reads")
  }

  static func tooLong(_ path: String, _ what: String, max: Int = rowBytesMax) -> BundleError {
    BundleError(
      .malformed, path: path, "its metadata are too long: \(what), more than \(max)",
      remedy: "shorten them, such as the statistics in the row json")
  }
}
