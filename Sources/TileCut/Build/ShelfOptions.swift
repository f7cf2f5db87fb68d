import Foundation
public import RegionCatalog

/// What to build and how. Of these only ``parcelBytesMax`` and ``patchesFrom`` can change what is on the shelf.
public struct ShelfOptions: Sendable {
  public var manifest: RegionManifest
  /// The folder of the shelf; made when it is not there.
  public var output: String
  /// Ids of the regions to build; nil for all. Others stay on the shelf as they are.
  public var only: [String]?
  /// The most bytes that a parcel may have, over what the manifest says.
  public var parcelBytesMax: Int?
  /// A folder with bundles of earlier editions, `id-EDITION.mbtiles`.
  public var patchesFrom: String?
  /// Regions that are cut at the same time; chosen from cores and memory when nil.
  public var jobs: Int?
  /// Budget for decoded pixels and tiles under way in all regions, in bytes.
  public var memoryBytes = 512_000_000
  /// Builds also what has not changed.
  public var rebuilds = false
  /// Removes bundles of earlier editions and of regions that are gone.
  public var prunes = false
  /// The tool's version: another one builds everything anew.
  public var toolVersion: String

  public init(manifest: RegionManifest, output: String, toolVersion: String) {
    (self.manifest, self.output, self.toolVersion) = (manifest, output, toolVersion)
  }

  /// The least that a cut works with.
  private static let jobBytesMin = 32_000_000

  /// How many regions go at once, and what each may use.
  func shares(regions: Int) -> (jobs: Int, resources: CutResources) {
    let cores = ProcessInfo.processInfo.activeProcessorCount
    let jobs = max(min(jobs ?? cores, regions, memoryBytes / Self.jobBytesMin), 1)
    return (jobs, CutResources(threads: max(cores / jobs, 1), memoryBytes: memoryBytes / jobs))
  }
}
