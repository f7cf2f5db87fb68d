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
