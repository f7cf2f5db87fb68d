import RegionCatalog
import Support

/// What to build and how. Only the manifest, ``packBytesMax`` and ``patchesFrom`` affect the content of the
/// catalogue.
package struct CatalogBuildOptions: Sendable {
  package var manifest: RegionManifest
  /// The catalogue's folder; created if it does not exist.
  package var output: String
  /// Ids of the regions to build; nil means all. Other regions stay in the catalogue unchanged.
  package var only: [String]?
  /// The maximum size of a tile pack in bytes; overrides the manifest.
  package var packBytesMax: Int?
  /// A folder with bundles of earlier editions, `id-EDITION.mbtiles`, for patches.
  package var patchesFrom: String?
  /// Regions to cut at the same time; nil means as many as cores and memory allow.
  package var jobs: Int?
  /// Threads for all regions together; nil means one for each core.
  package var threads: Int?
  /// Budget in bytes for decoded pixels and for tiles in progress, for all regions together.
  package var memoryBytes = 512_000_000
  /// Also builds regions that have not changed.
  package var rebuilds = false
  /// Removes bundles of earlier editions and of regions that are no longer in the manifest.
  package var prunes = false
  /// Publishes a catalogue also if it lacks names of the published one, so that owners lose maps (``OwnerCheck``).
  package var orphansOwners = false
  /// The tool's version; a different one rebuilds everything.
  package var toolVersion: String

  package init(manifest: RegionManifest, output: String, toolVersion: String) {
    (self.manifest, self.output, self.toolVersion) = (manifest, output, toolVersion)
  }

  /// The minimum memory of one cut.
  private static let jobBytesMin = 32_000_000

  /// The number of regions to cut at the same time, and the resources of each cut.
  func shares(regions: Int) -> (jobs: Int, resources: CutResources) {
    let cores = threads ?? Processors.count
    let jobs = max(min(jobs ?? cores, regions, memoryBytes / Self.jobBytesMin), 1)
    return (jobs, CutResources(threads: max(cores / jobs, 1), memoryBytes: memoryBytes / jobs))
  }
}
