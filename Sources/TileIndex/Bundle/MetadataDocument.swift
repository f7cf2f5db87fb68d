import Support

/// The metadata documents of PMTiles archives and tile folders: an object whose members are strings, as in MBTiles' table, or values of their own kind,
/// as in TileJSON.
enum MetadataDocument {
  /// Members that MBTiles keeps together in its `json` row.
  private static let jsonMembers = ["vector_layers", "tilestats"]

  /// The members as rows of an MBTiles metadata table.
  ///
  /// Arrays of numbers become lists with commas; `vector_layers` and `tilestats` become the row `json` unless there is one; other arrays and objects
  /// become their JSON text; null is left out.
  static func entries(_ members: [JSONValue.Member]) -> [StoredMetadata.Entry] {
    var entries: [StoredMetadata.Entry] = []
    var inner: [JSONValue.Member] = []
    for member in members {
      if jsonMembers.contains(member.name), case .array = member.value {
        inner.append(member)
      } else if jsonMembers.contains(member.name), case .object = member.value {
        inner.append(member)
      } else if let value = text(member.value) {
        entries.append(StoredMetadata.Entry(name: member.name, value: value))
      }
    }
    if !inner.isEmpty, !entries.contains(where: { $0.name == "json" }) {
      entries.append(StoredMetadata.Entry(name: "json", value: JSONValue.object(inner).text))
    }
    return entries
  }

  private static func text(_ value: JSONValue) -> String? {
    switch value {
    case .null: nil
    case .string(let text), .number(let text): text
    case .bool, .object: value.text
    case .array(let values):
      values.allSatisfy { if case .number = $0 { true } else { false } } && !values.isEmpty
        ? values.map(\.text).joined(separator: ",") : value.text
    }
  }
}
