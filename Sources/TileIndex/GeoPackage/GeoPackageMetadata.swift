import Support

/// The metadata of a table of tiles, in the tables of GeoPackage's metadata extension (OGC 12-128r18, section F.8): all
/// rows under the names of MBTiles as one JSON object, and the places as GeoJSON.
enum GeoPackageMetadata {
  /// The standards that name the two documents.
  private static let rowsStandard = "https://github.com/mapbox/mbtiles-spec/blob/master/1.3/spec.md"
  private static let placesStandard = "https://www.rfc-editor.org/rfc/rfc7946"

  /// Writes both documents; the second only if there are places.
  static func write(
    _ rows: [StoredMetadata.Entry], places: [Place], of table: String, to connection: SQLiteConnection
  ) throws {
    try write(
      JSONValue.object(MetadataDocument.members(rows)).text, rowsStandard, "application/json", of: table, to: connection
    )
    guard !places.isEmpty else { return }
    try write(
      PlaceDocument.json(places.sorted(by: Place.precedes)).text, placesStandard, "application/geo+json", of: table,
      to: connection)
  }

  private static func write(
    _ text: String, _ standard: String, _ mediaType: String, of table: String, to connection: SQLiteConnection
  ) throws {
    let insert = try connection.prepare(
      "INSERT INTO gpkg_metadata (md_scope, md_standard_uri, mime_type, metadata) VALUES ('dataset', ?1, ?2, ?3)")
    insert.bind(1, standard)
    insert.bind(2, mediaType)
    insert.bind(3, text)
    try insert.run()
    let number = connection.lastInsertedRowID
    let refer = try connection.prepare(
      """
      INSERT INTO gpkg_metadata_reference (reference_scope, table_name, timestamp, md_file_id) \
      VALUES ('table', ?1, '\(GeoPackageSchema.date)', ?2)
      """)
    refer.bind(1, table)
    refer.bind(2, number)
    try refer.run()
  }

  /// Replaces the rows of a table in a copy of a GeoPackage, of whatever maker, and what other programs show of them.
  static func replace(_ rows: [StoredMetadata.Entry], of table: String, in connection: SQLiteConnection) throws {
    if let number = try number(of: rowsStandard, table, connection) {
      let update = try connection.prepare("UPDATE gpkg_metadata SET metadata = ?1 WHERE id = ?2")
      update.bind(1, JSONValue.object(MetadataDocument.members(rows)).text)
      update.bind(2, number)
      try update.run()
    } else {
      for statement in [GeoPackageSchema.extensionTable] + GeoPackageSchema.metadataTables {
        try connection.execute("CREATE TABLE IF NOT EXISTS" + statement.dropFirst("CREATE TABLE".count))
      }
      for table in ["gpkg_metadata", "gpkg_metadata_reference"] {
        try connection.execute(
          """
          INSERT INTO gpkg_extensions SELECT '\(table)', NULL, '\(GeoPackageSchema.metadata.name)', \
          '\(GeoPackageSchema.metadata.url)', 'read-write' WHERE NOT EXISTS (SELECT 1 FROM gpkg_extensions \
          WHERE table_name = '\(table)' AND extension_name = '\(GeoPackageSchema.metadata.name)')
          """)
      }
      try write(
        JSONValue.object(MetadataDocument.members(rows)).text, rowsStandard, "application/json", of: table,
        to: connection)
    }
    let stored = StoredMetadata(rows)
    let show = try connection.prepare(
      "UPDATE gpkg_contents SET identifier = ?1, description = ?2 WHERE lower(table_name) = lower(?3)")
    show.bind(1, stored.name ?? table)
    show.bind(2, stored.description ?? "")
    show.bind(3, table)
    try show.run()
  }

  /// The rows of a table; nil when there are none of ours.
  static func rows(
    of table: String, _ connection: SQLiteConnection, path: String
  ) throws -> [StoredMetadata.Entry]? {
    guard let members = try document(of: rowsStandard, table, connection, path: path)?.members else { return nil }
    return MetadataDocument.entries(members)
  }

  /// The places of a table.
  static func places(of table: String, _ connection: SQLiteConnection, path: String) throws -> StoredPlaces {
    let json = try document(of: placesStandard, table, connection, path: path)
    return try PlaceDocument.places(json, of: path) ?? StoredPlaces(of: path)
  }

  private static func document(
    of standard: String, _ table: String, _ connection: SQLiteConnection, path: String
  ) throws -> JSONValue? {
    guard let number = try number(of: standard, table, connection) else { return nil }
    let select = try connection.prepare("SELECT metadata FROM gpkg_metadata WHERE id = ?1")
    select.bind(1, number)
    let max = MetadataLimits.documentBytesMax
    let text = try MetadataLimits.reading("a document in gpkg_metadata", of: path, max: max, connection) {
      try select.first { $0.text(0) }
    }
    do {
      return try text.map { try MetadataLimits.document(Array($0.utf8), path: path) }
    } catch let error as JSONValue.SyntaxError {
      throw BundleError(
        .malformed, path: path, "the document \(number) in gpkg_metadata is not JSON: \(error)",
        remedy: "correct or delete its row")
    }
  }

  private static func number(of standard: String, _ table: String, _ connection: SQLiteConnection) throws -> Int64? {
    guard try connection.columns(of: "gpkg_metadata")["md_standard_uri"] != nil,
      try connection.columns(of: "gpkg_metadata_reference")["md_file_id"] != nil
    else { return nil }
    let select = try connection.prepare(
      """
      SELECT gpkg_metadata.id FROM gpkg_metadata JOIN gpkg_metadata_reference ON md_file_id = gpkg_metadata.id \
      WHERE md_standard_uri = ?1 AND lower(table_name) = lower(?2) AND reference_scope = 'table' \
      ORDER BY gpkg_metadata.id LIMIT 1
      """)
    select.bind(1, standard)
    select.bind(2, table)
    return try select.first { $0.int64(0) }
  }
}
