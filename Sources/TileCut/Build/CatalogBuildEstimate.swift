import RegionCatalog
import Support
import TileIndex

/// What a build would make, and about how much.
package struct CatalogBuildEstimate: Sendable, Codable {
  package struct Region: Sendable, Codable {
    package let id: String
    package let edition: String
    /// `built`, `updated` or `unchanged`.
    package let outcome: RegionReport.Outcome
    /// Why the bundle would be cut again; nil for the first time.
    package let reason: String?
    /// Of the bundle that would be cut; nil for one that is kept.
    package let estimate: CutEstimate?
  }

  /// In the manifest's order.
  package let regions: [Region]
  /// Of all bundles that would be cut. Their previews, tile packs and patches are not in it.
  package let tiles: Int
  package let bytes: Int
  /// Time on this machine, for one region after the other.
  package let seconds: Double

  init(_ regions: [Region]) {
    self.regions = regions
    let estimates = regions.compactMap(\.estimate)
    tiles = estimates.reduce(0) { $0 + $1.tiles }
    bytes = estimates.reduce(0) { $0 + $1.bytes }
    seconds = estimates.reduce(0) { $0 + $1.seconds }
  }
}

extension CatalogBuilder {
  /// Finds out which regions a build would make, and cuts a sample of each into memory
  /// (``Cutter/estimate(for:cancellation:)``). Nothing is written, and the catalogue's folder need not exist.
  ///
  /// - Parameter onReading: called while sources are read.
  /// - Complexity: reads all sources whose hashes are not known from the last build.
  /// - Throws: as ``build(cancellation:onProgress:)``.
  package func estimate(
    cancellation: CutCancellation = CutCancellation(), onReading: ((SourceReading) -> Void)? = nil
  ) throws -> CatalogBuildEstimate {
    let folder = try CatalogFolder(options.output, to: .estimate)
    let present = try CatalogPublisher(folder: folder, prunes: options.prunes, isWhole: options.only == nil).present()
    try OwnerCheck(options, present: present).run()
    try checkInputs(selected)
    let hashes = InputHashes(file: folder.hashes)
    try read(selected, hashes, cancellation, onReading)
    let resources = CutResources(threads: options.threads, memoryBytes: options.memoryBytes)
    return CatalogBuildEstimate(
      try selected.map { region in
        var open: Cutter?
        func cutter() throws -> Cutter {
          let cutter =
            try open
            ?? Cutter(
              CutOptions(of: region, in: options.manifest), resources: resources,
              scratchDirectory: FileSystem.split(folder.path).folder)
          open = cutter
          return cutter
        }
        let record = options.rebuilds ? nil : RegionRecord(path: folder.record(region.id))
        let prints = try RegionFingerprints(region, options, hashes, known: record, cutter: cutter)
        let outcome = try outcome(of: region, record, prints, folder, hashes)
        return CatalogBuildEstimate.Region(
          id: region.id, edition: region.settings.edition, outcome: outcome,
          reason: outcome == .built ? prints.reason(after: record) : nil,
          estimate: outcome == .built
            ? try cutter().estimate(for: region.bundleName, cancellation: cancellation) : nil)
      })
  }

  private func outcome(
    of region: RegionManifest.Region, _ record: RegionRecord?, _ prints: RegionFingerprints, _ folder: CatalogFolder,
    _ hashes: InputHashes
  ) throws -> RegionReport.Outcome {
    guard let record, record.bundle.intact(prints.bundle, in: folder) != nil else { return .built }
    let patches = try PatchWriter(region: region, bundle: "", folder: "", editionsFolder: options.patchesFrom)
    let pieces = [
      (record.preview, prints.preview), (record.packs, prints.packs),
      (record.patches, try patches.fingerprint(prints.bundle, hashes)),
    ]
    return pieces.allSatisfy { $0?.intact($1, in: folder) != nil } ? .unchanged : .updated
  }
}
