import ArgumentParser
import CommandSupport
import RegionCatalog
import Support
import Synchronization
import TileCut
import TileIndex

/// `tilecut build`
struct BuildCommand: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "build",
    abstract: "Builds the catalogue of a manifest: a bundle for each region, and catalogue.json.",
    discussion: """
      What has not changed since the last build is kept, also when that one was killed. The catalogue changes only \
      when every \
      region is there: catalogue.json never names a file that is missing or not whole. Bundles of earlier editions \
      stay \
      until --prune; whatever else the catalogue no longer names is removed. A region or product that was published \
      stays known: formerIds and formerProductIds name what it became, or the build is refused.

      On many machines: plan --catalogue makes a plan, build --plan PLAN --shard N the files of one region, and build \
      --plan PLAN publishes the catalogue, with the bytes of an undivided build.
      """)

  @Argument(
    help: ArgumentHelp("The regions (docs/reference/region-manifest.md).", valueName: "manifest"), completion: .file())
  var manifest: String?
  @Option(name: [.short, .long], help: "The folder of the catalogue; made if it is not there.", completion: .directory)
  var output: String?
  @Option(help: ArgumentHelp("Regions cut at the same time; by cores and memory unless given.", valueName: "n"))
  var jobs: Int?
  @Option(
    parsing: .upToNextOption,
    help: ArgumentHelp("Build these regions; the others stay in the catalogue as they are.", valueName: "id"))
  var region: [String] = []
  @Option(
    help: ArgumentHelp(
      "Split regions into packs of at most this size, whatever the manifest says.", valueName: "bytes"))
  var packBytes: BytesArgument?
  @Option(
    help: ArgumentHelp(
      """
      A folder with bundles of earlier editions (id-EDITION.mbtiles): make patches from them; may be the catalogue \
      itself.
      """,
      valueName: "folder"), completion: .directory)
  var patchesFrom: String?
  @Option(help: ArgumentHelp("Worker threads for all regions together; one a core unless given.", valueName: "n"))
  var threads: Int?
  @Option(help: ArgumentHelp("Memory that all regions together may take, such as 2GB.", valueName: "bytes"))
  var memory = BytesArgument(bytes: 512_000_000)
  @Flag(help: "Build also what has not changed.")
  var rebuild = false
  @Flag(help: "Remove bundles of earlier editions and of regions that are gone.")
  var prune = false
  @Flag(
    help: """
      Publish although regions or products of the published catalogue are gone, so that their owners lose them.
      """)
  var orphanOwners = false
  @Flag(
    help: """
      Say which regions would be made, and about how many tiles, bytes and seconds their bundles take, and stop.
      """)
  var dryRun = false
  @Flag(help: "Print JSON: the report of the build, of a region with --shard, or of --dry-run.")
  var json = false
  @OptionGroup var progress: ProgressOption
  @OptionGroup var shards: ShardOptions

  func validate() throws {
    if shards.plan != nil {
      guard manifest == nil, output == nil, jobs == nil, region.isEmpty, packBytes == nil, patchesFrom == nil, !rebuild,
        !dryRun
      else { throw ValidationError("--plan has manifest, output and options of the build: leave them out") }
      if shards.shard != nil, prune || orphanOwners {
        throw ValidationError("--shard publishes nothing: leave \(prune ? "--prune" : "--orphan-owners") out")
      }
    } else {
      if shards.shard != nil { throw ValidationError("--shard needs --plan") }
      if manifest == nil { throw ValidationError("Missing expected argument '<manifest>'") }
      if output == nil { throw ValidationError("Missing expected argument '--output <output>'") }
    }
    try checkResources(threads: threads, memory: memory)
    if let jobs, !(1...256).contains(jobs) { throw ValidationError("--jobs goes from 1 to 256") }
    if let packBytes, !RegionSettings.packBytesLimits.contains(packBytes.bytes) {
      throw ValidationError(
        "--pack-bytes must be at least \(formatted(bytes: RegionSettings.packBytesLimits.lowerBound))")
    }
    if output?.isEmpty == true { throw ValidationError("--output is empty") }
    if shards.shard == nil, !shards.isEmpty { throw ValidationError("--shard-list needs --shard") }
  }

  func run() throws {
    if let plan = shards.plan, let number = ShardNumber(shards) {
      return try attempt { try make(number, of: FileSystem.absolutePath(plan), $0) }
    }
    try cancellable { try build($0()) }
  }

  private func build(_ cancellation: CutCancellation) throws {
    let path = shards.plan.map(FileSystem.absolutePath)
    let opened = try path.map(open)
    let builder = try opened?.builder ?? self.builder()
    if dryRun {
      let printer = ProgressPrinter(style: progress.style)
      defer { printer.finish() }
      let estimate = try builder.estimate(cancellation: cancellation) { printer.show(.reading($0)) }
      printer.finish()
      return printText(json ? try prettyJSON(estimate) : Self.text(estimate, output ?? ""))
    }
    let printer = BuildProgressPrinter(style: progress.style, regionCount: builder.regionCount)
    defer { printer.finish() }
    let report =
      if let path, let opened {
        try builder.publish(opened.plan, path: path, cancellation: cancellation) { printer.show($0) }
      } else {
        try builder.build(cancellation: cancellation) { printer.show($0) }
      }
    printer.finish()
    printText(json ? try prettyJSON(report) : Self.text(report))
  }

  /// One attempt at one region.
  private func make(_ number: ShardNumber, of path: String, _ cancellation: CutCancellation) throws {
    let number = try number.value()
    let (plan, builder) = try open(path)
    let printer = ProgressPrinter(style: progress.style)
    defer { printer.finish() }
    let region = try builder.make(shard: number, of: plan, path: path, cancellation: cancellation) {
      printer.show($0)
    }
    printer.finish()
    for warning in region.warnings { printError("tilecut: warning: \(warning)") }
    if json {
      let members: [JSONValue.Member] = [
        .init("shard", .number(number)), .init("shards", .number(plan.shards.count)),
        .init("region", try JSONValue(encoding: region)),
      ]
      return printText(JSONValue.object(members).indentedText)
    }
    printLine("shard \(number) of \(plan.shards.count): \(BuildProgressPrinter.text(region))")
  }

  /// A plan, and its build with this command's resources. Relative paths count from the folder of the plan's making,
  /// where that exists.
  private func open(_ path: String) throws -> (plan: BuildPlan, builder: CatalogBuilder) {
    let plan = try BuildPlan(path: path, toolVersion: ToolVersion.text)
    _ = FileSystem.enter(plan.folder)
    var options = try Self.parse(plan.arguments + ["--output", plan.output]).makeOptions()
    (options.memoryBytes, options.threads, options.prunes) = (memory.bytes, threads, prune)
    options.orphansOwners = orphanOwners
    return (plan, try CatalogBuilder(options))
  }

  /// The build that this command line asks for.
  func builder() throws -> CatalogBuilder { try CatalogBuilder(makeOptions()) }

  private func makeOptions() throws -> CatalogBuildOptions {
    var options = CatalogBuildOptions(
      manifest: try RegionManifest(path: manifest ?? "", crsLookup: CoordinateReferenceSystem.forGrid),
      output: output ?? "", toolVersion: ToolVersion.text)
    options.only = region.isEmpty ? nil : region
    options.packBytesMax = packBytes?.bytes
    options.patchesFrom = patchesFrom
    options.jobs = jobs
    options.threads = threads
    options.memoryBytes = memory.bytes
    options.rebuilds = rebuild
    options.prunes = prune
    options.orphansOwners = orphanOwners
    return options
  }

  private static func text(_ estimate: CatalogBuildEstimate, _ output: String) -> String {
    func about(_ tiles: Int, _ bytes: Int, _ seconds: Double) -> String {
      "about \(counted(tiles, "tile")), \(formatted(bytes: bytes)), \(formatted(seconds: seconds))"
    }
    let lines = estimate.regions.map { region in
      "\(region.id) \(region.edition): \(region.outcome.rawValue)"
        + (region.estimate.map { ", " + about($0.tiles, $0.bytes, $0.seconds) } ?? "")
        + (region.reason.map { " (\($0))" } ?? "")
    }
    let made = estimate.regions.count { $0.outcome != .unchanged }
    let cut = estimate.tiles > 0 ? ", " + about(estimate.tiles, estimate.bytes, estimate.seconds) : ""
    let sum = "\(output.escapedForTerminal()): \(counted(estimate.regions.count, "region")), \(made) to make\(cut)"
    return (lines + [sum]).joined(separator: "\n")
  }

  private static func text(_ report: CatalogBuildReport) -> String {
    let made = report.regions.count { $0.outcome != .unchanged }
    let packs = report.regions.reduce(0) { $0 + $1.packCount }
    let patches = report.regions.reduce(0) { $0 + $1.patchCount }
    var facts = [counted(report.regions.count, "region"), "\(made) made", "\(report.regions.count - made) unchanged"]
    if packs > 0 { facts.append(counted(packs, "pack")) }
    if patches > 0 { facts.append(patches == 1 ? "1 patch" : "\(patches) patches") }
    if !report.removed.isEmpty { facts.append("\(counted(report.removed.count, "old file")) removed") }
    facts += [formatted(bytes: report.catalogBytes), formatted(seconds: report.seconds)]
    return "\(report.catalogue.escapedForTerminal()): \(facts.joined(separator: ", "))"
  }
}

/// Shows a build's progress: a line for each finished region, and how far those in progress are.
private final class BuildProgressPrinter: Sendable {
  private struct State {
    /// Regions in progress, in the order in which they were started.
    var running: [(id: String, step: RegionProgress?)] = []
    let total: Int
    var done = 0
    /// Of those done, the ones that took time, and their tiles.
    var made = 0
    var tiles = 0

    /// With those of the regions in progress.
    var tilesMade: Int { running.reduce(tiles) { $0 + ($1.step?.tiles ?? 0) } }

    func tilesPerSecond(_ seconds: Double) -> Double {
      WorkPace(done: tilesMade, fraction: nil, seconds: seconds).perSecond
    }

    /// The regions, with the time that is left if the others take as long as those so far. Whether they are unchanged
    /// shows later.
    func progress(seconds: Double, _ region: RegionReport? = nil) -> WorkProgress {
      let parts = running.reduce(0) { $0 + ($1.step?.part ?? 0) }
      let (work, left) = (Double(made) + parts, Double(total - done) - parts)
      let fraction = work + left > 0 ? work / (work + left) : 1
      var more: [JSONValue.Member] = [
        .init("tiles", .number(tilesMade)),
        .init("tilesPerSecond", .number(DecimalText.fixed(tilesPerSecond(seconds), 3))),
        .init("running", .array(running.map { RegionProgress.json($0.step, of: $0.id) })),
      ]
      if let report = region.flatMap({ try? JSONValue(encoding: $0) }) { more.append(.init("region", report)) }
      return WorkProgress(
        done: done, of: total, unit: "regions", seconds: seconds, fraction: fraction, more: more)
    }

    func text(_ progress: WorkProgress) -> String {
      let regions = running.map { region in region.id + (region.step.map { " \($0.text)" } ?? "") }
      let rate =
        tilesMade > 0 ? ", \(Int(tilesPerSecond(progress.seconds))) tiles/s\(progress.pace.leftText)" : ""
      return String("\(done) of \(total) done\(rate); \(regions.joined(separator: ", "))".prefix(100))
    }
  }

  private let style: ProgressStyle
  private let printer: ProgressPrinter
  private let state: Mutex<State>

  init(style: ProgressStyle, regionCount: Int) {
    self.style = style
    printer = ProgressPrinter(style: style)
    state = Mutex(State(total: regionCount))
  }

  func show(_ progress: CatalogBuildProgress) {
    state.withLock { state in
      switch progress {
      case .reading(let reading): printer.show(.reading(reading))
      case .started(let id):
        state.running.append((id, nil))
        draw(state)
      case .working(let id, let step):
        if let index = state.running.firstIndex(where: { $0.id == id }) { state.running[index].step = step }
        draw(state)
      case .finished(let region, let done, let total):
        state.running.removeAll { $0.id == region.id }
        state.done = done
        if region.outcome != .unchanged {
          state.made += 1
          state.tiles += region.tileCount
        }
        printer.finish()
        switch style {
        // A finished region's line is a result, which a log wants without being asked.
        case .auto, .bar, .plain:
          for warning in region.warnings { printError("tilecut: warning: \(warning)") }
          printError("[\(done)/\(total)] \(Self.text(region))")
          if !state.running.isEmpty { draw(state, redraws: true) }
        case .json: printError(state.progress(seconds: printer.seconds, region).json.text)
        case .none:
          // A failure is printed in every style.
          if region.error != nil { printError("tilecut: \(Self.text(region))") }
        }
      }
    }
  }

  private func draw(_ state: State, redraws: Bool = false) {
    printer.show(state.progress(seconds: printer.seconds), text: { state.text($0) }, redraws: redraws)
  }

  /// Removes the line of regions in progress from the terminal.
  func finish() { printer.finish() }

  static func text(_ region: RegionReport) -> String {
    if let error = region.error { return "\(region.id): failed: \(error)" }
    var facts = ["\(region.id) \(region.edition): \(region.outcome.rawValue)", counted(region.tileCount, "tile")]
    facts.append(formatted(bytes: region.bytes))
    if region.packCount > 0 { facts.append(counted(region.packCount, "pack")) }
    if region.patchCount > 0 { facts.append(region.patchCount == 1 ? "1 patch" : "\(region.patchCount) patches") }
    if region.outcome != .unchanged { facts.append(formatted(seconds: region.seconds)) }
    return facts.joined(separator: ", ") + (region.reason.map { " (\($0))" } ?? "")
  }
}

extension ProgressPrinter {
  func show(_ step: RegionProgress) {
    switch step {
    case .cutting(let cut): show(cut)
    case .reading(let reading): show(WorkProgress(reading), text: { "reading sources: \($0.text)" })
    case .making(let part):
      show(WorkProgress(part, seconds: seconds), text: { _ in "making \(part.rawValue)" }, redraws: true)
    }
  }
}

extension WorkProgress {
  init(_ reading: SourceReading, more: [JSONValue.Member] = []) {
    self.init(
      done: reading.bytesDone, of: reading.bytesTotal, unit: Self.bytes, seconds: reading.seconds,
      more: more + [.init("step", .string("sources"))])
  }

  /// Steps whose length is not known count as one.
  fileprivate init(_ step: RegionStep, seconds: Double) {
    self.init(
      done: RegionStep.allCases.firstIndex(of: step) ?? 0, of: RegionStep.allCases.count, unit: "steps",
      seconds: seconds, more: [.init("step", .string(step.rawValue))])
  }
}

extension RegionProgress {
  /// Tiles that were cut so far.
  fileprivate var tiles: Int {
    if case .cutting(let cut) = self { cut.tilesDone } else { 0 }
  }

  /// How much of the region's work is done. What follows the cut is little, but not nothing.
  fileprivate var part: Double {
    switch self {
    case .reading: 0
    case .cutting(let cut): cut.tilesTotal > 0 ? 0.99 * Double(cut.tilesDone) / Double(cut.tilesTotal) : 0
    case .making: 0.99
    }
  }

  fileprivate var text: String {
    switch self {
    case .reading(let reading): "reads its sources, \(WorkProgress(reading).text)"
    case .cutting: "\(Int(part * 100))%"
    case .making(let step): step.rawValue
    }
  }

  fileprivate static func json(_ progress: RegionProgress?, of region: String) -> JSONValue {
    let id = JSONValue.Member("region", .string(region))
    return switch progress {
    case .reading(let reading): WorkProgress(reading, more: [id]).json
    case .cutting(let cut): WorkProgress(cut, more: [id, .init("step", .string("tiles"))]).json
    case .making(let step): .object([id, .init("step", .string(step.rawValue))])
    case nil: .object([id])
    }
  }
}
