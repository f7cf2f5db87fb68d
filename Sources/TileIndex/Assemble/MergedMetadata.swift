import Support

/// What several bundles say about themselves, as the words of one.
struct MergedMetadata {
  let metadata: BundleMetadata

  /// - Parameter name: the title; nil for the first bundle's.
  init(_ bundles: [any BundleReader], name: String?) {
    let all = bundles.map { BundleMetadata($0.metadata, fallbackName: $0.path.fileStem) }
    var merged = all[0]
    if let name { merged.name = name }
    merged.description = all.lazy.compactMap(\.description).first
    merged.attribution = Self.credits(all.compactMap(\.attribution))
    merged.type = all.contains { $0.type == .baselayer } ? .baselayer : .overlay
    // One without bounds reaches as far as its tiles do, which the writer knows.
    let bounds = all.compactMap(\.bounds)
    merged.bounds = bounds.count == all.count ? bounds.dropFirst().reduce(bounds[0]) { $0.union($1) } : nil
    merged.center = all.count == 1 ? merged.center : nil
    merged.json = Self.layers(all.compactMap(\.json))
    for other in all.dropFirst() { merged.extra.merge(other.extra) { own, _ in own } }
    // Parcels that were put together are none any more.
    if all.count > 1 { merged.extra[RegionMetadata.parcelKey] = nil }
    metadata = merged
  }

  /// All attributions, each once; one that others contain is named already.
  private static func credits(_ attributions: [String]) -> String? {
    var credits: [String] = []
    for credit in attributions where !credit.isEmpty {
      let parts = credit.components(separatedBy: separator)
      for part in parts where !credits.contains(part) { credits.append(part) }
    }
    return credits.isEmpty ? nil : credits.joined(separator: separator)
  }

  private static let separator = " | "

  /// The first document, with those vector layers of the others that it does not have; without its statistics, which are those of one bundle.
  private static func layers(_ documents: [String]) -> String? {
    guard let first = documents.first, documents.contains(where: { $0 != first }) else { return documents.first }
    let parsed = documents.compactMap { try? JSONValue(parsing: Array($0.utf8), duplicates: .lastWins) }
    guard let members = parsed.first?.members, parsed.count == documents.count else { return first }
    var layers: [JSONValue] = []
    var ids: Set<JSONValue> = []
    for layer in parsed.flatMap({ $0["vector_layers"]?.array ?? [] }) where ids.insert(layer["id"] ?? .null).inserted {
      layers.append(layer)
    }
    var rest = members.filter { $0.name != "vector_layers" && $0.name != "tilestats" }
    if !layers.isEmpty { rest.append(JSONValue.Member("vector_layers", .array(layers))) }
    return JSONValue.object(rest).text
  }
}

extension String {
  /// The parts between occurrences of a text.
  fileprivate func components(separatedBy separator: String) -> [String] {
    var parts: [String] = []
    var rest = self[...]
    while let range = rest.firstRange(of: separator) {
      parts.append(String(rest[..<range.lowerBound]))
      rest = rest[range.upperBound...]
    }
    return parts + [String(rest)]
  }
}
