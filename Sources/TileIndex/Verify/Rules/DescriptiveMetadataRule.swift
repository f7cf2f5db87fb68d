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
