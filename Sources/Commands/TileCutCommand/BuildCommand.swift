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
      until --prune; whatever else the catalogue no longer names is removed.

      On many machines: plan --catalogue makes a plan, build --plan PLAN --shard N the files of one region, and build \
      --plan PLAN publishes the catalogue, with the bytes of an undivided build.
      """)

  @Argument(help: ArgumentHelp("The regions (docs/reference/region-manifest.md).", valueName: "manifest"))
  var manifest: String?
  @Option(name: [.short, .long], help: "The folder of the catalogue; made if it is not there.")
  var output: String?
  @Option(help: ArgumentHelp("Regions cut at the same time; by cores and memory unless given.", valueName: "n"))
  var jobs: Int?
  @Option(
    parsing: .upToNextOption,
    help: ArgumentHelp("Build these regions; the others stay in the catalogue as they are.", valueName: "id"))
  var only: [String] = []
  @Option(
    help: ArgumentHelp(
      "Split regions into packs of at most this size, whatever the manifest says.", valueName: "bytes"))
  var maxBytes: BytesArgument?
  @Option(
    help: ArgumentHelp(
      """
      A folder with bundles of earlier editions (id-EDITION.mbtiles): make patches from them; may be the catalogue \
      itself.
      """,
      valueName: "folder"))
  var patchesFrom: String?
  @Option(help: ArgumentHelp("Worker threads for all regions together; one a core unless given.", valueName: "n"))
  var threads: Int?
  @Option(help: ArgumentHelp("Memory that all regions together may take, such as 2GB.", valueName: "bytes"))
  var memory = BytesArgument(bytes: 512_000_000)
  @Flag(help: "Build also what has not changed.")
  var rebuild = false
  @Flag(help: "Remove bundles of earlier editions and of regions that are gone.")
  var prune = false
  @Option(
    help: ArgumentHelp(
      "Publish the catalogue of a plan whose regions are all made, or make one with --shard; manifest and output are "
        + "the plan's.",
      valueName: "plan"))
  var plan: String?
  @Option(
    help: ArgumentHelp(
      """
      The region to make, without publishing it: its number in the plan, or auto for that in \
      \(ShardNumber.variables.joined(separator: ", ")).
      """,
      valueName: "n|auto"))
  var shard: ShardArgument?
  @OptionGroup var shardOptions: ShardListOptions
  @Flag(
    help: """
      Say which regions would be made, and about how many tiles, bytes and seconds their bundles take, and stop.
      """)
  var dryRun = false
  @Flag(help: "Print JSON: the report of the build, or of --dry-run.")
  var json = false
  @Option(help: "\(ProgressStyle.help)")
  var progress: ProgressStyle = .auto

  func validate() throws {
    if plan != nil {
      guard manifest == nil, output == nil, jobs == nil, only.isEmpty, maxBytes == nil, patchesFrom == nil, !rebuild,
        !dryRun
      else { throw ValidationError("--plan has manifest, output and options of the build: leave them out") }
      if shard != nil, prune || json {
        throw ValidationError("--shard publishes nothing: leave --prune and --json out")
      }
    } else {
      if shard != nil { throw ValidationError("--shard needs --plan") }
      if manifest == nil { throw ValidationError("Missing expected argument '<manifest>'") }
      if output == nil { throw ValidationError("Missing expected argument '--output <output>'") }
    }
    if let threads, !(1...1024).contains(threads) { throw ValidationError("--threads goes from 1 to 1024") }
    if let jobs, !(1...256).contains(jobs) { throw ValidationError("--jobs goes from 1 to 256") }
    if memory.bytes < 32_000_000 { throw ValidationError("--memory must be at least 32MB") }
    if let maxBytes, !RegionSettings.packBytesLimits.contains(maxBytes.bytes) {
      throw ValidationError(
        "--max-bytes must be at least \(formatted(bytes: RegionSettings.packBytesLimits.lowerBound))")
    }
    if output?.isEmpty == true { throw ValidationError("--output is empty") }
    if shard == nil, !shardOptions.isEmpty {
      throw ValidationError("--shard-offset and --shard-list need --shard")
    }
  }

  func run() throws {
    if let plan, let shard {
      let number = ShardNumber(shard: shard, options: shardOptions)
      return try attempt { try make(number, of: FileSystem.absolutePath(plan), $0) }
    }
    let signals = SignalWatch()
    defer { signals.stop() }
    let cancellation = CutCancellation()
    signals.whenStopped { cancellation.cancel() }
    let path = plan.map(FileSystem.absolutePath)
    let opened = try path.map(open)
    let builder = try opened?.builder ?? self.builder()
    if dryRun {
      let estimate = try builder.estimate(cancellation: cancellation)
      return printText(json ? try prettyJSON(estimate) : Self.text(estimate, output ?? ""))
    }
    let printer = BuildProgressPrinter(style: progress, regionCount: builder.regionCount)
    do {
      let report =
        if let path, let opened {
          try builder.publish(opened.plan, path: path, cancellation: cancellation) { printer.show($0) }
        } else {
          try builder.build(cancellation: cancellation) { printer.show($0) }
        }
      printer.finish()
      print(json ? try prettyJSON(report) : Self.text(report))
    } catch {
      printer.finish()
      if let signal = signals.received { throw ExitCode(.signal(signal)) }
      throw error
    }
  }

  /// One attempt at one region.
  private func make(_ number: ShardNumber, of path: String, _ cancellation: CutCancellation) throws {
    let number = try number.value()
    let (plan, builder) = try open(path)
    let printer = ProgressPrinter(style: progress)
    defer { printer.finish() }
    let region = try builder.make(shard: number, of: plan, path: path, cancellation: cancellation) {
      printer.show($0)
    }
    printer.finish()
    for warning in region.warnings { printError("tilecut: warning: \(warning)") }
    print("shard \(number) of \(plan.shards.count): \(BuildProgressPrinter.text(region))")
  }

  /// A plan, and its build with this command's resources. Relative paths count from the folder of the plan's making,
  /// where that exists.
  private func open(_ path: String) throws -> (plan: BuildPlan, builder: CatalogBuilder) {
    let plan = try BuildPlan(path: path, toolVersion: ToolVersion.text)
    _ = FileSystem.enter(plan.folder)
    var options = try Self.parse(plan.arguments + ["--output", plan.output]).makeOptions()
    (options.memoryBytes, options.threads, options.prunes) = (memory.bytes, threads, prune)
    return (plan, try CatalogBuilder(options))
  }

  /// The build that this command line asks for.
  func builder() throws -> CatalogBuilder { try CatalogBuilder(makeOptions()) }

  private func makeOptions() throws -> CatalogBuildOptions {
    var options = CatalogBuildOptions(
      manifest: try RegionManifest(path: manifest ?? "", crsLookup: CoordinateReferenceSystem.forGrid),
      output: output ?? "", toolVersion: ToolVersion.text)
    options.only = only.isEmpty ? nil : only
    options.packBytesMax = maxBytes?.bytes
    options.patchesFrom = patchesFrom
    options.jobs = jobs
    options.threads = threads
    options.memoryBytes = memory.bytes
    options.rebuilds = rebuild
    options.prunes = prune
    return options
  }

  private static func text(_ estimate: CatalogBuildEstimate, _ output: String) -> String {
    func about(_ tiles: Int, _ bytes: Int, _ seconds: Double) -> String {
      "about \(counted(tiles, "tile")), \(formatted(bytes: bytes)), \(formatted(seconds: seconds))"
    }
    let lines = estimate.regions.map { region in
      "\(region.id) \(region.edition): \(region.outcome.rawValue)"
        + (region.estimate.map { ", " + about($0.tiles, $0.bytes, $0.seconds) } ?? "")
    }
    let made = estimate.regions.count { $0.outcome != .unchanged }
    let cut = estimate.tiles > 0 ? ", " + about(estimate.tiles, estimate.bytes, estimate.seconds) : ""
    let sum = "\(output): \(counted(estimate.regions.count, "region")), \(made) to make\(cut)"
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
    return "\(report.catalogue): \(facts.joined(separator: ", "))"
  }
}

/// Shows a build's progress: a line for each finished region, and on a terminal one with those in progress.
private final class BuildProgressPrinter: Sendable {
  private struct State {
    /// Regions in progress, in the order in which they were started, with the tiles and the fraction that are done.
    var running: [(id: String, tiles: Int, part: Double)] = []
    let total: Int
    var done = 0
    /// Of those done, the ones that took time, and their tiles.
    var made = 0
    var tiles = 0

    /// Tiles a second, and the time that is left if the other regions take as long as those so far. Whether they are
    /// unchanged shows later.
    func pace(seconds: Double) -> WorkPace {
      let work = running.reduce(Double(made)) { $0 + $1.part }
      let left = Double(total - done) - running.reduce(0) { $0 + $1.part }
      return WorkPace(
        done: running.reduce(tiles) { $0 + $1.tiles }, fraction: work + left > 0 ? work / (work + left) : 1,
        seconds: seconds)
    }
  }

  private let printer: ProgressPrinter
  private let state: Mutex<State>

  // A finished region's line is a result, which a log wants.
  init(style: ProgressStyle, regionCount: Int) {
    printer = ProgressPrinter(style: style, unseen: .plain)
    state = Mutex(State(total: regionCount))
  }

  func show(_ progress: CatalogBuildProgress) {
    state.withLock { state in
      switch progress {
      case .started(let id):
        state.running.append((id, 0, 0))
        printer.showStatus(Self.status(state, printer.seconds), always: true)
      case .cutting(let id, let cut):
        if let index = state.running.firstIndex(where: { $0.id == id }), cut.tilesTotal > 0 {
          state.running[index] = (id, cut.tilesDone, Double(cut.tilesDone) / Double(cut.tilesTotal))
        }
        printer.showStatus(Self.status(state, printer.seconds))
      case .finished(let region, let done, let total):
        state.running.removeAll { $0.id == region.id }
        state.done = done
        if region.outcome != .unchanged {
          state.made += 1
          state.tiles += region.tileCount
        }
        printer.finish()
        switch printer.style {
        case .bar, .plain:
          for warning in region.warnings { printError("tilecut: warning: \(warning)") }
          printError("[\(done)/\(total)] \(Self.text(region))")
          if !state.running.isEmpty { printer.showStatus(Self.status(state, printer.seconds), always: true) }
        case .json: printError(Self.json(region, done: done, total: total, state, printer.seconds))
        case .auto, .none:
          // A failure is printed in every style.
          if region.error != nil { printError("tilecut: \(Self.text(region))") }
        }
      }
    }
  }

  /// Removes the line of regions in progress from the terminal.
  func finish() { printer.finish() }

  private static func status(_ state: State, _ seconds: Double) -> String {
    let regions = state.running.map { "\($0.id) \(Int($0.part * 100))%" }.joined(separator: ", ")
    let pace = state.pace(seconds: seconds)
    let rate = "\(Int(pace.perSecond)) tiles/s\(pace.leftText)"
    return String("\(state.done) of \(state.total) done, \(rate); \(regions)".prefix(100))
  }

  static func text(_ region: RegionReport) -> String {
    if let error = region.error { return "\(region.id): failed: \(error)" }
    var facts = ["\(region.id) \(region.edition): \(region.outcome.rawValue)", counted(region.tileCount, "tile")]
    facts.append(formatted(bytes: region.bytes))
    if region.packCount > 0 { facts.append(counted(region.packCount, "pack")) }
    if region.patchCount > 0 { facts.append(region.patchCount == 1 ? "1 patch" : "\(region.patchCount) patches") }
    if region.outcome != .unchanged { facts.append(formatted(seconds: region.seconds)) }
    return facts.joined(separator: ", ")
  }

  private static func json(
    _ region: RegionReport, done: Int, total: Int, _ state: State, _ seconds: Double
  ) -> String {
    struct Line: Encodable {
      let done: Int
      let total: Int
      let region: RegionReport
      let seconds: Double
      let tilesPerSecond: Double
      let secondsLeft: Double?
    }
    let pace = state.pace(seconds: seconds)
    let line = Line(
      done: done, total: total, region: region, seconds: seconds, tilesPerSecond: pace.perSecond,
      secondsLeft: pace.secondsLeft)
    return (try? JSONValue(encoding: line).sorted.text) ?? ""
  }
}
