import CSQLite
import Support

/// MBTiles 1.3, "Metadata", "Schema".
struct MetadataTableRule: BundleRule {
  static let rule = VerificationRule(
    "metadata-table", .must, "metadata has exactly two text columns, name and value, in UTF-8, and no name twice")
  private let reader: MBTilesReader

  init(_ reader: MBTilesReader) { self.reader = reader }

  mutating func begin(_ findings: inout Findings) throws {
    let connection = reader.connection
    try reader.reading {
      let columns = try connection.columns(of: "metadata")
      guard !columns.isEmpty else {
        findings.error(
          "there is no table or view called metadata", remedy: "add one: CREATE TABLE metadata (name text, value text)")
        return
      }
      guard Set(columns.keys) == ["name", "value"] else {
        findings.error(
          "its columns are \(columns.keys.sorted().joined(separator: ", "))", remedy: "make them name and value")
        return
      }
      for (column, type) in columns.sorted(by: { $0.key < $1.key }) {
        let type = type.uppercased()
        // Columns of views often have no declared type.
        guard !type.isEmpty, !["TEXT", "CHAR", "CLOB"].contains(where: type.contains) else { continue }
        findings.error("the column \(column) is \(type)", remedy: "declare it as text")
      }
      let encoding = try connection.prepare("PRAGMA encoding")
      if try encoding.step(), let name = encoding.optionalText(0), name != "UTF-8" {
        findings.error("the database's text is \(name)", remedy: "write it with PRAGMA encoding = 'UTF-8'")
      }
      try checkRows(connection, &findings)
    }
  }

  private func checkRows(_ connection: SQLiteConnection, _ findings: inout Findings) throws {
    var seen = Set<String>()
    let rows = try connection.prepare("SELECT name, value FROM metadata")
    while try rows.step() {
      let isText = rows.type(0) == .text && rows.type(1) == .text
      let isUTF8 = (0..<2).allSatisfy { String(validating: rows.bytes($0), as: UTF8.self) != nil }
      let name = rows.optionalText(0) ?? "NULL"
      if !isText { findings.error("the row \"\(name)\" is not text", remedy: "store name and value as text") }
      if !isUTF8 { findings.error("the row \"\(name)\" is not UTF-8", remedy: "store the text in UTF-8") }
      if !seen.insert(name).inserted {
        findings.error("\"\(name)\" is there twice", remedy: "keep one row, readers take either")
      }
    }
  }
}

/// MBTiles 1.3, "Metadata", "Content": required rows.
struct RequiredMetadataRule: BundleRule {
  static let rule = VerificationRule(
    "required-metadata", .must, "name and format are given, format as png, jpg, webp, pbf or a media type")
  private let metadata: StoredMetadata

  init(_ bundle: VerifiedBundle) { metadata = bundle.metadata }

  mutating func begin(_ findings: inout Findings) throws {
    if metadata.name?.isEmpty ?? true {
      findings.error("the tileset has no name", remedy: "add it to the metadata")
    }
    guard let word = metadata["format"], !word.isEmpty else {
      findings.error(
        "the format of the tiles is not given", remedy: "add format to the metadata: png, jpg, webp or pbf")
      return
    }
    if TileFormat(rawValue: word) == nil, !TileFormat.isMediaType(word) {
      let meant =
        TileFormat(lenient: word).map { "write \($0.rawValue)" } ?? "write png, jpg, webp, pbf or a media type"
      findings.error("\"\(word)\" is not a format that MBTiles knows", remedy: meant)
    }
    if metadata.format == .pbf, metadata.json?.contains("\"vector_layers\"") != true {
      findings.error(
        "vector tiles need a json row with vector_layers", remedy: "add the layers and their fields as JSON")
    }
  }
}

/// MBTiles 1.3, "Metadata": optional rows, and common mistakes in them.
struct DescriptiveMetadataRule: BundleRule {
  static let rule = VerificationRule(
    "descriptive-metadata", .practice,
    "type is overlay or baselayer, version counts the tileset, nothing names its maker's disk")
  private let metadata: StoredMetadata

  init(_ bundle: VerifiedBundle) { metadata = bundle.metadata }

  mutating func begin(_ findings: inout Findings) throws {
    if let type = metadata["type"], BundleMetadata.Kind(rawValue: type) == nil {
      findings.error("type \"\(type)\" is neither overlay nor baselayer", remedy: "write one of the two")
    }
    if let version = metadata.version {
      if Double(version) == nil {
        findings.warning("version \"\(version)\" is not a number", remedy: "number the revisions of the tileset")
      } else if ["1.1", "1.2", "1.3"].contains(version) {
        findings.warning(
          "version \"\(version)\" looks like that of the MBTiles specification",
          remedy: "give the revision of this tileset instead")
      }
    }
    for name in ["name", "description"] {
      guard let value = metadata[name], value.hasPrefix("/"), value.dropFirst().contains("/"), !value.contains(" ")
      else { continue }
      findings.warning("\(name) is a path on its maker's disk", remedy: "say what the tileset shows")
    }
  }
}
