import Support

/// What the metadata and places of a bundle may take, whatever its container: metadata are in memory as long as the
/// bundle is open and are parsed again and again, places while they are copied. Real metadata have kilobytes.
///
/// What is above a limit is refused with ``BundleError`` `.malformed`, never cut off.
enum MetadataLimits {
  static let rowsMax = 1000
  /// Of a name and its value.
  static let rowBytesMax = 1 << 20
  /// Of all rows.
  static let bytesMax = 4 << 20
  /// Of a JSON document with metadata, places or both: about 100,000 places.
  static let documentBytesMax = 16 << 20
  /// Each takes up to a hundred bytes of memory.
  static let documentValuesMax = 2_000_000
  /// Of all places in memory: about three million.
  static let placesBytesMax = 256 << 20

  /// The rows of a bundle.
  static func stored(_ rows: [StoredMetadata.Entry], path: String) throws -> StoredMetadata {
    guard rows.count <= rowsMax else { throw tooMany(path) }
    var bytes = 0
    for row in rows {
      let count = row.name.utf8.count + row.value.utf8.count
      guard count <= rowBytesMax else { throw tooLong(path, "the row \"\(row.name.prefix(100))\" has \(count) bytes") }
      bytes += count
    }
    guard bytes <= bytesMax else { throw tooLong(path, "all rows have \(bytes) bytes", max: bytesMax) }
    return StoredMetadata(rows)
  }

  /// The rows of a database.
  ///
  /// - Parameter table: with its order, if that matters.
  /// - Throws: `SQLiteError` as well.
  static func rows(of table: String, path: String, _ connection: SQLiteConnection) throws -> StoredMetadata {
    let statement = try connection.prepare("SELECT name, value FROM \(table) LIMIT \(rowsMax + 1)")
    var entries: [StoredMetadata.Entry] = []
    func current() -> String { entries.last.map { "the row after \"\($0.name.prefix(100))\"" } ?? "the first row" }
    try reading(current(), of: path, connection) {
      while try statement.step() {
        entries.append(StoredMetadata.Entry(name: statement.text(0), value: statement.text(1)))
      }
    }
    return try stored(entries, path: path)
  }

  /// A JSON document of a bundle. Of members with one name the last counts.
  ///
  /// - Throws: ``JSONValue/SyntaxError`` as well.
  static func document(_ bytes: [UInt8], path: String) throws -> JSONValue {
    guard bytes.count <= documentBytesMax else {
      throw tooLong(path, "a JSON document has \(bytes.count) bytes", max: documentBytesMax)
    }
    return try JSONValue(parsing: bytes, duplicates: .lastWins, valuesMax: documentValuesMax)
  }

  /// Runs queries whose values may have so many bytes.
  ///
  /// - Parameter subject: what they read, for the message.
  static func reading<Result>(
    _ subject: @autoclosure () -> String, of path: String, max: Int = rowBytesMax, _ connection: SQLiteConnection,
    _ body: () throws -> Result
  ) throws -> Result {
    do {
      return try connection.limitingValues(to: max, body)
    } catch let error as SQLiteError where error.isTooBig {
      throw tooLong(path, "\(subject()) has too many bytes", max: max)
    }
  }

  static func tooMany(_ path: String) -> BundleError {
    BundleError(
      .malformed, path: path, "its metadata have more than \(rowsMax) rows", remedy: "delete those that nobody reads")
  }

  private static func tooLong(_ path: String, _ what: String, max: Int = rowBytesMax) -> BundleError {
    BundleError(
      .malformed, path: path, "its metadata are too long: \(what), more than \(max)",
      remedy: "shorten them, such as the statistics in the row json")
  }
}
