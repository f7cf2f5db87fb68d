import ArgumentParser
import CommandSupport
import RegionCatalog
import Support
import TileCut
import TileImage
import TileIndex

/// `tilecut cut`
struct CutCommand: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "cut",
    abstract: "Cuts rasters into a bundle.",
    discussion: """
      SOURCE is a GeoTIFF, a JPEG 2000 with its position inside, a VRT, or a PNG, JPEG or WebP with a world file and \
      .prj beside it; also its URL (http, https), or - for standard input. Several are drawn one over the other. \
      A region manifest (.json with one region) stands for all that it says of it; options go over it.

      Examples:
        tilecut cut usa.tif -o usa.mbtiles --dry-run
        tilecut cut usa.tif city.tif -o usa.pmtiles --zoom 0-12 --format jpeg
        tilecut cut subway.png -o subway.mbtiles --flat
      """)

  @Argument(help: ArgumentHelp("Rasters to cut, or one region manifest.", valueName: "source"), completion: .file())
  var sources: [String] = []
  @OptionGroup(title: "Output and work") var work: WorkOptions
  @OptionGroup(title: "Sources") var source: SourceOptions
  @OptionGroup(title: "Area and grid") var area: AreaOptions
  @OptionGroup(title: "Tiles") var tiles: TileOptions
  @OptionGroup(title: "Metadata") var metadata: MetadataOptions
  @OptionGroup(title: "One of many processes") var shards: ShardOptions

  func validate() throws {
    if shards.plan != nil {
      guard shards.shard != nil, sources.isEmpty, source.srcList == nil, work.outputOption == nil, work.append == nil,
        !work.resume, !work.dryRun, !work.force
      else { throw ValidationError("--plan goes with --shard, and sources, options and output are the plan's") }
      return
    }
    if !shards.isEmpty { throw ValidationError("--shard and --shard-list need --plan") }
    if work.output.isEmpty { throw ValidationError("Missing expected argument '--output <output>'") }
    if work.append != nil { try checkAppending() }
    try requireFolder(work.output, for: tiles.scheme)
    if sources.isEmpty, source.srcList == nil { throw ValidationError("name a source to cut, or --src-list") }
    let hasManifest = sources.contains(where: isManifest)
    if sources.count > 1 || source.srcList != nil, hasManifest {
      throw ValidationError("a region manifest goes alone, without other sources")
    }
    if area.buffer != nil, area.clip == nil, !hasManifest { throw ValidationError("--buffer needs --clip") }
  }

  private func checkAppending() throws {
    if source.flat || area.hasGrid {
      throw ValidationError(
        "--append takes the grid of the bundle: leave --matrix, --tile-size, --scale-factor and --flat out")
    }
    if area.settings.texts["variableDepth"] != nil {
      throw ValidationError("--append draws at all zooms of the bundle: leave --variable-depth out")
    }
    if work.resume { throw ValidationError("--resume is for new bundles, not for --append") }
  }

  func run() throws {
    let resources = CutResources(threads: work.threads, memoryBytes: work.memory.bytes)
    if let plan = shards.plan, let number = ShardNumber(shards) {
      return try ShardRun(
        plan: plan, number: number, resources: resources, progress: work.progress.style, json: work.json,
        cutter: Self.cutter
      ).run()
    }
    try cancellable { try cut(resources, $0) }
  }

  /// - Parameter begin: from here on a signal cancels the cut.
  private func cut(_ resources: CutResources, _ begin: () -> CutCancellation) throws {
    let options = try makeOptions()
    try BundleFile.check(output: work.output, hashes: options.tileHashes)
    if work.dryRun {
      if work.append == nil { try BundleFile.check(output: work.output, grid: options.matrixSet) }
    } else {
      // Checked before a large source is unpacked, which takes minutes.
      try OutputFile.protect(
        sources + options.sources + options.drawing.flatMap(\.files) + metadata.gazetteer
          + [area.clip, source.srcList].compactMap { $0 },
        from: work.output)
      let isDone = work.resume && CutCheckpoints.isPublishing(work.output)
      try BundleFile.check(output: work.output, replacing: work.force || work.outputOption == nil || isDone)
      if !work.resume { try dropLeftover() }
    }
    let folder = FileSystem.split(work.output).folder
    let addition = try work.append.map { bundle in
      try BundleAppend(
        to: bundle, options: options, encoding: encoding(over: bundle), resources: resources, scratchDirectory: folder)
    }
    let cutter = try addition?.cutter ?? Cutter(options, resources: resources, scratchDirectory: folder)
    let zoomWarning = BundleFile.zoomWarning(cutter.plan.zooms.upperBound, output: work.output)
    let warnings = cutter.warnings + [zoomWarning].compactMap(\.self)
    for taken in cutter.givenCRS where source.settings.texts["crs"] != nil {
      printError("tilecut: --crs \(taken.source.map { "of \($0) " } ?? "")is \(taken.title)")
    }
    for warning in warnings { printError("tilecut: warning: \(warning)") }
    if let version = metadata.version, Double(version)?.isFinite != true {
      printError(
        "tilecut: warning: --version \(version) is not a number, as MBTiles 1.3 wants it; some readers may object")
    }
    if let scale = cutter.automaticScale {
      printError("tilecut: the values \(scale.low) to \(scale.high) become 0 to 255 (--scale auto)")
    }
    if work.dryRun {
      let report = DryRunReport(
        cutter, estimate: addition == nil ? try cutter.estimate(for: work.output) : nil,
        addition: try addition?.estimate())
      if work.json { printText(try prettyJSON(report)) } else { report.lines.forEach(printLine) }
      return
    }
    // Until here no named file was written, so a signal may kill the process.
    let cancellation = begin()
    let printer = ProgressPrinter(style: work.progress.style)
    do {
      let show: (CutProgress) -> Void = { printer.show($0) }
      let replacing = work.force || work.outputOption == nil
      let summary =
        try addition?.write(to: work.output, replacing: replacing, cancellation: cancellation, onProgress: show)
        ?? cutter.cut(
          to: work.output, replacing: replacing,
          checkpoints: work.resume ? try checkpoints() : nil, cancellation: cancellation, onProgress: show)
      printer.finish()
      // Some damage is found only when pixels are decoded.
      for warning in summary.warnings where !warnings.contains(warning) { printError("tilecut: warning: \(warning)") }
      try WrittenBundle(summary, work.output, warnings: warnings).show(json: work.json)
      if !work.json, let traffic = cutter.traffic {
        printLine("fetched \(formatted(bytes: traffic.bytes)) in \(counted(traffic.requests, "request"))")
      }
    } catch {
      printer.finish()
      let isRefused = (error as? CutError)?.code == .invalidOption
      if work.resume, !isRefused, let left = CutCheckpoints.leftover(of: work.output), !left.isInUse {
        let needs = (error as? BundleError)?.code == .writeFailed ? left.bytesToFree : nil
        printError(
          "tilecut: \(left.tilesDone) of \(counted(left.tilesTotal, "tile")) are kept; --resume continues"
            + (needs.map { ", and needs about \(formatted(bytes: $0)) of free space" } ?? ""))
      }
      throw error
    }
  }

  private func checkpoints() throws -> CutCheckpoints {
    var checkpoints = CutCheckpoints(toolVersion: try ToolVersion.ofBuild())
    checkpoints.onContinuing = { done, total in
      printError("tilecut: \(done) of \(counted(total, "tile")) are there from before")
    }
    return checkpoints
  }

  /// The work of a stopped cut is neither used nor removed unless the user says so.
  private func dropLeftover() throws {
    guard let left = CutCheckpoints.leftover(of: work.output) else { return }
    let done = "\(left.tilesDone) of \(counted(left.tilesTotal, "tile"))"
    guard !left.isInUse else {
      throw BundleError(
        .busy, path: work.output, "another tilecut cuts it with --resume",
        remedy: "wait for that one, or choose another name")
    }
    guard work.force else {
      throw BundleError(
        .exists, path: work.output, "a cut of it was stopped after \(done), which are in \(left.folder)",
        remedy: "continue with --resume, or start anew with --force")
    }
    CutCheckpoints.removeLeftover(of: work.output)
    printError("tilecut: the \(done) that a stopped cut of \(work.output) left were removed")
  }
}

/// From flags and manifests to the options of a cut.
extension CutCommand {
  /// Flags take precedence over the manifest, and the manifest over defaults.
  func makeOptions() throws -> CutOptions {
    var options = CutOptions(sources: sources)
    if let srcList = source.srcList { options.sources += try SourceList.paths(inFile: srcList) }
    let path = sources.first
    if let path, isManifest(path) {
      let manifest = try RegionManifest(path: path, crsLookup: CoordinateReferenceSystem.forGrid)
      guard manifest.regions.count == 1 else {
        throw CutError(
          .invalidOption, path: path, "holds \(manifest.regions.count) regions",
          remedy: "give a manifest with the one region to cut, or use tilecut build")
      }
      options = CutOptions(of: manifest.regions[0], in: manifest)
      try options.readPlaces(of: manifest.regions[0], in: manifest)
    }
    for texts in [area.settings.texts, source.settings.texts, tiles.settings.texts, metadata.settings.texts] {
      // Those of a bundle that is added to go over its own encoding.
      try options.take(work.append == nil ? texts : texts.filter { !CutSetting.encodingNames.contains($0.key) })
    }
    try area.apply(to: &options, path: path)
    try source.apply(to: &options)
    options.scheme = tiles.scheme ?? .xyz
    try metadata.apply(to: &options)
    return options
  }

  /// The encoding of new tiles in a bundle that is added to; nil for the bundle's own.
  private func encoding(over bundle: String) throws -> TileEncoding? {
    guard !tiles.encoding.isEmpty, let own = try TileEncoding(of: BundleFile.open(bundle)) else { return nil }
    var options = CutOptions(sources: [])
    options.encoding = own
    try options.take(tiles.encoding)
    return options.encoding
  }

  func isManifest(_ source: String) -> Bool { source.lowercased().hasSuffix(".json") }

  // MARK: Plans

  /// The cut that words of a command line ask for.
  static func cutter(_ words: [String], _ resources: CutResources) throws -> Cutter {
    // The output's name has no influence on what is planned.
    try Cutter(Self.parse(words + ["--output", "plan.mbtiles"]).makeOptions(), resources: resources)
  }

  /// The cut of a plan. Relative paths count from the folder of the plan's making, where that exists.
  static func cutter(_ plan: ShardPlan, _ resources: CutResources) throws -> Cutter {
    _ = FileSystem.enter(plan.folder)
    return try cutter(plan.arguments, resources)
  }
}
