public import TileIndex

extension CutOptions {
  /// Takes what a region of a manifest says: its sources, title, description and attribution.
  ///
  /// - Parameter folder: where the manifest lies; its paths are relative to it.
  public mutating func apply(_ region: RegionManifest.Region, folder: String) {
    sources = region.sources.map { $0.hasPrefix("/") || folder.isEmpty ? $0 : "\(folder)/\($0)" }
    name = region.title
    description = region.description
    attribution = region.attribution
  }
}
