import RegionCatalog
import Support
import TileImage
import TileIndex

/// Builds the files of one region.
///
/// 1. Cut the bundle (``Cutter``), unless the existing one was made from the same inputs (``RegionFingerprints``).
/// 2. Draw the preview (``BundlePreview``), split the bundle into tile packs (``TilePackWriter``) and make patches
///    (``PatchWriter``), each unless its inputs are unchanged.
/// 3. Move new files to the folder of finished files, then write the ``RegionRecord``.
///
/// Step 3 also follows the cut, so that a failure in step 2 does not lose it. A killed build repeats the current step.
struct RegionBuilder {
  let region: RegionManifest.Region
  let options: CatalogBuildOptions
  let folder: CatalogFolder
  let hashes: InputHashes
  let resources: CutResources
  /// True for a region that was made as planned, maybe on a machine with other libraries and fonts.
  var isMade = false
  /// Refuses what is not as planned; its second parameter is the hash of what the patches depend on.
  var check: ((RegionFingerprints, String) throws -> Void)?

  /// The result of one region's build.
  struct Result {
    let record: RegionRecord
    let report: RegionReport
  }

  func build(cancellation: CutCancellation, onProgress: @escaping (RegionProgress) -> Void) throws -> Result {
    let start = ContinuousClock.now
    func read(_ files: [String]) throws { try hashes.read(files, cancellation) { onProgress(.reading($0)) } }
    try read(RegionFingerprints.files(of: region, options))
    let work = folder.work(region.id)
    CatalogFiles.remove(work)
    let before = options.rebuilds ? nil : RegionRecord(path: folder.record(region.id))
    var open: Cutter?
    func cutter() throws -> Cutter {
      if let open { return open }
      try CatalogFiles.makeFolder(work)
      var options = CutOptions(of: region, in: self.options.manifest)
      try options.readPlaces(of: region, in: self.options.manifest)
      let cutter = try Cutter(options, resources: resources, scratchDirectory: work)
      open = cutter
      return cutter
    }
    let fingerprints =
      if isMade, let made = before?.identity {
        try RegionFingerprints(region, options, hashes, libraries: made.libraries)
      } else {
        try RegionFingerprints(region, options, hashes, known: before, cutter: cutter)
      }
    if let check {
      let patches = try PatchWriter(region: region, bundle: "", folder: "", editionsFolder: options.patchesFrom)
      try read(patches.files)
      try check(fingerprints, try patches.fingerprint(fingerprints.bundle, hashes))
    }
    var warnings: [String] = []

    var record: RegionRecord
    var isCut = false
    if let before, let intact = before.bundle.intact(fingerprints.bundle, in: folder) {
      record = before
      record.bundle = intact
    } else {
      record = try cut(cutter(), fingerprints, in: work, &warnings, cancellation, onProgress)
      try keep(record, from: work)
      isCut = true
    }
    if fingerprints.identity.libraries.contains(where: \.isFont), !isMade {
      record.installedFonts = LibraryIdentity.installedFonts
    }
    // In the folder of finished files or already published.
    let bundle = record.bundle.files[0]
    guard let path = folder.place(of: bundle) else { throw Self.gone(folder.finished(bundle.file.file)) }
    var isUpdated = false
    func make(
      _ step: RegionStep, _ piece: inout RegionRecord.Piece?, _ fingerprint: String, _ body: () throws -> [Catalog.File]
    ) throws {
      if cancellation.isCancelled {
        throw CutError(.cancelled, "the build was stopped", remedy: "build again to go on")
      }
      if let old = piece?.intact(fingerprint, in: folder) {
        piece = old
        return
      }
      onProgress(.making(step))
      try CatalogFiles.makeFolder(work)
      piece = RegionRecord.Piece(fingerprint: fingerprint, files: try made(try body(), in: work))
      isUpdated = true
    }

    try make(.preview, &record.preview, fingerprints.preview) {
      let name = "\(region.stem).png"
      let png = try BundlePreview(region, of: record.facts).png(of: BundleFile.open(path))
      try OutputFile.write(png, to: "\(work)/\(name)", replacing: true)
      return [
        Catalog.File(file: name, bytes: png.count, sha256: try FileHash.sha256(ofFile: "\(work)/\(name)"))
      ]
    }
    try make(.packs, &record.packs, fingerprints.packs) {
      record.packEntries = []
      if let bytesMax = options.packBytesMax ?? region.settings.packBytesMax {
        record.packEntries = try TilePackWriter(
          bundle: BundleFile.open(path), container: region.settings.container, bytesMax: bytesMax, folder: work,
          stem: region.stem
        ).write()
      }
      return record.packEntries.map { Catalog.File(file: $0.file, bytes: $0.bytes, sha256: $0.sha256) }
    }
    let patches = try PatchWriter(region: region, bundle: path, folder: work, editionsFolder: options.patchesFrom)
    warnings += patches.warnings
    try read(patches.files)
    try make(.patches, &record.patches, try patches.fingerprint(fingerprints.bundle, hashes)) {
      record.patchEntries = try patches.write(bundleBytes: bundle.file.bytes, &warnings)
      return record.patchEntries.map { Catalog.File(file: $0.file, bytes: $0.bytes, sha256: $0.sha256) }
    }
    if isUpdated {
      try keep(record, from: work)
    } else if record != before {
      try record.write(to: folder.record(region.id))
    }
    CatalogFiles.remove(work)
    return Result(
      record: record,
      report: record.report(
        region, isCut ? .built : isUpdated ? .updated : .unchanged,
        reason: isCut ? fingerprints.reason(after: before) : nil, seconds: (ContinuousClock.now - start) / .seconds(1),
        warnings: warnings))
  }

  private func cut(
    _ cutter: Cutter, _ fingerprints: RegionFingerprints, in work: String, _ warnings: inout [String],
    _ cancellation: CutCancellation,
    _ onProgress: @escaping (RegionProgress) -> Void
  ) throws -> RegionRecord {
    let name = region.bundleName
    let summary = try cutter.cut(
      to: "\(work)/\(name)", replacing: true, cancellation: cancellation
    ) { onProgress(.cutting($0)) }
    onProgress(.making(.hashes))
    warnings += summary.warnings + [BundleFile.zoomWarning(summary.zoomMax, output: name)].compactMap(\.self)
    let now = try RegionFingerprints(region, options, hashes, libraries: fingerprints.identity.libraries)
    guard now.bundle == fingerprints.bundle else {
      throw CutError(
        .badSource, path: cutter.options.sources[0], "a source of \(region.id) changed while it was being cut",
        remedy: "build again when nobody writes to it")
    }
    let reader = try BundleFile.open("\(work)/\(name)")
    let bounds = reader.metadata.bounds ?? .world
    let facts = Catalog.BundleFacts(
      bounds: [bounds.west, bounds.south, bounds.east, bounds.north], zooms: summary.zoomMin...summary.zoomMax,
      format: cutter.plan.encoding.format, tileCount: summary.tileCount, tilesHash: try TilesHash.of(reader).description
    )
    let file = Catalog.File(
      file: name, bytes: summary.fileBytes, sha256: try FileHash.sha256(ofFile: "\(work)/\(name)"))
    return RegionRecord(
      bundle: RegionRecord.Piece(fingerprint: fingerprints.bundle, files: try made([file], in: work)),
      identity: fingerprints.identity, facts: facts)
  }

  /// Moves new files to the finished files, then records them.
  private func keep(_ record: RegionRecord, from work: String) throws {
    for made in record.files where CatalogFiles.exists("\(work)/\(made.file.file)") {
      try CatalogFiles.move("\(work)/\(made.file.file)", to: folder.finished(made.file.file))
    }
    try CatalogFiles.synchronise(folder.finished(""))
    try record.write(to: folder.record(region.id))
  }

  private func made(_ files: [Catalog.File], in work: String) throws -> [RegionRecord.MadeFile] {
    try files.map { file in
      let path = "\(work)/\(file.file)"
      guard let stamp = FileStamp(path) else { throw Self.gone(path) }
      return RegionRecord.MadeFile(file: file, stamp: stamp)
    }
  }

  private static func gone(_ path: String) -> CatalogBuildError {
    CatalogBuildError(
      .unwritableOutput, path: path, "has gone while the catalogue was being built",
      remedy: "leave the folder to the build"
    )
  }
}

extension RegionManifest.Region {
  /// The name of the bundle's file.
  var bundleName: String { "\(stem).\(settings.container.fileExtension)" }
}
