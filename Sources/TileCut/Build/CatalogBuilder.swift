import RegionCatalog
import Support
import Synchronization
import TileIndex

/// Builds the catalogue of a manifest: the files of every region and the catalogue that lists them.
///
/// 1. Lock the folder (``CatalogFolder``), check that no owner loses a map (``OwnerCheck``) and that all inputs exist.
/// 2. Build regions, several at a time (``RegionBuilder``); what has not changed since the last build is kept, even if
///    that was killed.
/// 3. If all succeeded, publish the files and the catalogue atomically for its readers (``CatalogPublisher``). If a
///    region fails, the published catalogue stays unchanged.
///
/// Equal inputs give equal files and an equal catalogue on any number of threads.
package struct CatalogBuilder: Sendable {
  package let options: CatalogBuildOptions
  let selected: [RegionManifest.Region]
  /// True for regions that were made as planned, maybe on other machines.
  private var isMade = false
  /// Of those that are asked for.
  package var regionCount: Int { selected.count }

  /// - Throws: ``CatalogBuildError`` if a requested region is not in the manifest.
  package init(_ options: CatalogBuildOptions) throws {
    self.options = options
    let regions = options.manifest.regions
    for id in options.only ?? [] where !regions.contains(where: { $0.id == id }) {
      throw CatalogBuildError(
        .invalidOption, path: options.manifest.path, "has no region \"\(id)\"",
        remedy: Spelling.remedy(for: id, among: regions.map(\.id)))
    }
    selected = options.only.map { ids in regions.filter { ids.contains($0.id) } } ?? regions
  }

  /// Builds the catalogue.
  ///
  /// - Parameter onProgress: called by one thread at a time.
  /// - Throws: ``CatalogBuildError``; ``ManifestError`` for missing files; ``CatalogBuildFailure`` if regions failed;
  ///   ``CutError`` `.cancelled`.
  package func build(
    cancellation: CutCancellation = CutCancellation(), onProgress: (@Sendable (CatalogBuildProgress) -> Void)? = nil
  ) throws -> CatalogBuildReport {
    let start = ContinuousClock.now
    let folder = try CatalogFolder(options.output)
    let publisher = CatalogPublisher(folder: folder, prunes: options.prunes, isWhole: options.only == nil)
    let present = try publisher.present()
    let owners = OwnerCheck(options, present: present)
    try owners.run()
    try checkInputs(selected)
    let hashes = InputHashes(file: folder.hashes)
    let results = makeRegions(folder, hashes, owners, cancellation, onProgress)
    try hashes.save()
    if cancellation.isCancelled {
      throw CutError(.cancelled, "the build was stopped", remedy: "build again to go on where it stopped")
    }
    let reports = results.map(\.report)
    if let first = results.lazy.compactMap(\.error).first {
      throw CatalogBuildFailure(regions: reports, first: first, path: options.output)
    }
    let catalogue = Catalog(regions: entries(results, present) + owners.kept)
    let moves = results.flatMap { $0.record?.files ?? [] }.filter(folder.isWaiting).map(\.file)
    let removed = try publisher.publish(catalogue, moving: moves, over: present)
    return CatalogBuildReport(
      regions: reports, catalogue: folder.catalogue,
      catalogBytes: catalogue.regions.flatMap(\.files).reduce(0) { $0 + $1.bytes }, removed: removed,
      seconds: (ContinuousClock.now - start) / .seconds(1))
  }

  // MARK: - On many machines

  /// What a ``BuildPlan`` has of each region. `make` gets the cut, what the bundle depends on, and the hash of all that
  /// its files depend on.
  func shards<Shard>(
    _ onReading: ((SourceReading) -> Void)?,
    _ make: (RegionManifest.Region, Cutter, CutIdentity, String) throws -> Shard
  ) throws -> [Shard] {
    let folder = try CatalogFolder(options.output, to: .plan)
    try checkInputs(selected)
    let hashes = InputHashes(file: folder.hashes)
    try read(selected, hashes, CutCancellation(), onReading)
    let shards = try selected.map { region in
      let cutter = try Cutter(
        CutOptions(of: region, in: options.manifest), resources: .planning, scratchDirectory: folder.work(""))
      let prints = try RegionFingerprints(region, options, hashes, known: nil) { cutter }
      return try make(region, cutter, prints.identity, inputs(of: region, prints, hashes))
    }
    try hashes.save()
    return shards
  }

  /// Reads all that the files of regions depend on, unless it is known.
  func read(
    _ regions: [RegionManifest.Region], _ hashes: InputHashes, _ cancellation: CutCancellation,
    _ onReading: ((SourceReading) -> Void)?
  ) throws {
    let files = try regions.flatMap { region in
      try RegionFingerprints.files(of: region, options)
        + PatchWriter(region: region, bundle: "", folder: "", editionsFolder: options.patchesFrom).files
    }
    try hashes.read(files, cancellation, onReading)
  }

  private func inputs(
    of region: RegionManifest.Region, _ prints: RegionFingerprints, _ hashes: InputHashes
  ) throws -> String {
    let patches = try PatchWriter(region: region, bundle: "", folder: "", editionsFolder: options.patchesFrom)
    return prints.inputs(patches: try patches.fingerprint(prints.bundle, hashes))
  }

  /// The region of a shard.
  private func region(of shard: BuildPlan.Shard, path: String) throws -> RegionManifest.Region {
    if let region = selected.first(where: { $0.id == shard.region }) { return region }
    throw PlanFile.unfit(path, "the plan does not fit any more: the manifest has no region \"\(shard.region)\"")
  }

  /// Makes the files of one region and publishes nothing: they wait for ``publish(_:path:cancellation:onProgress:)``.
  /// Any number of processes and machines may make regions of one catalogue at the same time.
  ///
  /// - Parameters:
  ///   - index: the shard.
  ///   - path: the plan's file.
  /// - Returns: the report, also of a region that was made already.
  /// - Throws: as ``build(cancellation:onProgress:)``; `.busy` while another process makes this region; ``CutError``
  ///   `.badSource` if region, sources or libraries are not the planned ones.
  package func make(
    shard index: Int, of plan: BuildPlan, path: String, cancellation: CutCancellation = CutCancellation(),
    onProgress: ((RegionProgress) -> Void)? = nil
  ) throws -> RegionReport {
    guard plan.shards.indices.contains(index) else {
      throw CutError(
        .invalidOption, path: path, "has no shard \(index)", remedy: "its shards are 0 to \(plan.shards.count - 1)")
    }
    let shard = plan.shards[index]
    let folder = try CatalogFolder(options.output, to: .make(region: shard.region))
    let region = try region(of: shard, path: path)
    if let record = shard.record(in: folder) { return record.report(region, .unchanged, seconds: 0) }
    let hashes = InputHashes(file: folder.hashes)
    try checkInputs([region])
    let (_, resources) = options.shares(regions: 1)
    let builder = RegionBuilder(
      region: region, options: options, folder: folder, hashes: hashes, resources: resources,
      check: { prints, patches in
        try plan.check(prints.identity.libraries, path: path)
        try shard.check(prints.inputs(patches: patches), path: path)
      })
    let made = make(builder, cancellation) { onProgress?($0) }
    if let error = made.error { throw error }
    return made.report
  }

  /// Publishes the catalogue of a plan whose regions are all made.
  ///
  /// - Parameter path: the plan's file.
  /// - Throws: as ``build(cancellation:onProgress:)``; ``CutError`` `.badSource` if a region is not made, or manifest
  ///   or sources are not the planned ones.
  package func publish(
    _ plan: BuildPlan, path: String, cancellation: CutCancellation = CutCancellation(),
    onProgress: (@Sendable (CatalogBuildProgress) -> Void)? = nil
  ) throws -> CatalogBuildReport {
    let missing = try plan.missing()
    guard missing.isEmpty else {
      throw CutError(
        .badSource, path: path, "has shards whose region is not made: \(ShardFolder.text(missing))",
        remedy: "make them", repair: .buildShards(plan: path))
    }
    if let other = selected.first(where: { region in !plan.shards.contains { $0.region == region.id } }) {
      throw PlanFile.unfit(path, "the plan does not fit any more: the manifest has a region \"\(other.id)\"")
    }
    let hashes = InputHashes(file: try CatalogFolder(options.output, to: .look).hashes)
    try checkInputs(selected)
    try read(selected, hashes, cancellation) { onProgress?(.reading($0)) }
    try checkMade(plan, path: path, hashes)
    var publisher = self
    publisher.isMade = true
    return try publisher.build(cancellation: cancellation, onProgress: onProgress)
  }

  /// Refuses regions that were made of something else than manifest and sources now have.
  private func checkMade(_ plan: BuildPlan, path: String, _ hashes: InputHashes) throws {
    let folder = try CatalogFolder(options.output, to: .look)
    for shard in plan.shards {
      let region = try region(of: shard, path: path)
      guard let made = shard.record(in: folder)?.identity else {
        throw PlanFile.unfit(path, "is of an earlier build, which did not note fonts and libraries")
      }
      let prints = try RegionFingerprints(region, options, hashes, libraries: made.libraries)
      try shard.check(inputs(of: region, prints, hashes), path: path)
    }
  }

  /// The result of one region: a record, or an error.
  private struct Made: Sendable {
    let region: RegionManifest.Region
    let record: RegionRecord?
    var report: RegionReport
    let error: (any Error)?
  }

  /// Builds the regions; each free thread takes the next one.
  private func makeRegions(
    _ folder: CatalogFolder, _ hashes: InputHashes, _ owners: OwnerCheck, _ cancellation: CutCancellation,
    _ onProgress: (@Sendable (CatalogBuildProgress) -> Void)?
  ) -> [Made] {
    let (jobs, resources) = options.shares(regions: selected.count)
    let made = Mutex<[Int: Made]>([:])
    let next = Atomic(0)
    let progressLock = Mutex(())
    WorkerThread.run(count: jobs) {
      while !cancellation.isCancelled {
        let index = next.wrappingAdd(1, ordering: .relaxed).oldValue
        guard index < selected.count else { break }
        let region = selected[index]
        progressLock.withLock { _ in onProgress?(.started(id: region.id)) }
        let builder = RegionBuilder(
          region: region, options: options, folder: folder, hashes: hashes, resources: resources, isMade: isMade)
        var result = make(builder, cancellation) { progress in
          progressLock.withLock { _ in onProgress?(.working(id: region.id, progress)) }
        }
        result.report.warnings += owners.warnings(about: region)
        // After a cancellation, only finished regions are reported.
        if result.error != nil, cancellation.isCancelled { break }
        let count = made.withLock { made in
          made[index] = result
          return made.count
        }
        progressLock.withLock { _ in onProgress?(.finished(result.report, done: count, total: selected.count)) }
      }
    }
    return made.withLock { made in selected.indices.compactMap { made[$0] } }
  }

  private func make(
    _ builder: RegionBuilder, _ cancellation: CutCancellation, _ onProgress: @escaping (RegionProgress) -> Void
  ) -> Made {
    let region = builder.region
    do {
      let result = try cancellation.run { try builder.build(cancellation: cancellation, onProgress: onProgress) }
      return Made(region: region, record: result.record, report: result.report, error: nil)
    } catch {
      CatalogFiles.remove(builder.folder.work(region.id))
      let report = RegionReport(
        id: region.id, edition: region.settings.edition, outcome: .failed, reason: nil, tileCount: 0, bytes: 0,
        packCount: 0,
        patchCount: 0, seconds: 0, warnings: [], error: "\(error)")
      return Made(region: region, record: nil, report: report, error: error)
    }
  }

  /// In the manifest's order; regions that were not selected keep their entries.
  private func entries(_ results: [Made], _ present: Catalog?) -> [Catalog.Region] {
    let made = Dictionary(
      results.map { ($0.region.id, $0.record?.entry($0.region)) }, uniquingKeysWith: { $1 })
    return options.manifest.regions.compactMap { region in
      (made[region.id] ?? nil) ?? (options.only == nil ? nil : present?[region.id])
    }
  }

  /// Checks all inputs first, because a region may be reached hours later.
  func checkInputs(_ regions: [RegionManifest.Region]) throws {
    let manifest = options.manifest
    var faults: [ManifestError.Fault] = []
    for region in regions {
      let index = manifest.regions.firstIndex { $0.id == region.id } ?? 0
      let lists = [("sources", region.settings.cut.sources), ("gazetteers", region.settings.gazetteers)]
      for (key, files) in lists {
        for (number, file) in files.enumerated() where !CatalogFiles.exists(manifest.resolved(file)) {
          faults.append(
            ManifestError.Fault(
              path: manifest.path, place: "regions[\(index)].\(key)[\(number)]",
              message: "names \(manifest.resolved(file)), which is not there",
              remedy: "check the name; it is relative to the manifest"))
        }
      }
    }
    if !faults.isEmpty { throw ManifestError(.unreadable, faults) }
    if let editions = options.patchesFrom, !CatalogFiles.exists(editions) {
      throw CatalogBuildError(
        .unreadableInput, path: editions, "there is no such folder", remedy: "name the folder with earlier editions")
    }
  }
}
