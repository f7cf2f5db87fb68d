extension BundleMetadata {
  /// What a bundle says about itself, for a new bundle that is made from it. Bounds and center come along, format and zooms do not: the new tiles say them.
  ///
  /// - Parameter fallbackName: the title where the bundle has none.
  package init(_ stored: StoredMetadata, fallbackName: String) {
    self.init(
      name: stored.name.flatMap { $0.isEmpty ? nil : $0 } ?? fallbackName, description: stored.description,
      attribution: stored.attribution, type: stored.type ?? .baselayer,
      version: stored.version.flatMap { $0.isEmpty ? nil : $0 } ?? "1", bounds: stored.bounds, center: stored.center,
      json: stored.json,
      extra: stored.values.filter { !$0.key.isEmpty && !MBTilesSchema.ownKeys.contains($0.key) })
  }
}
