import ArgumentParser
import CommandSupport
import Support
import TileCut
import TileIndex

/// `tilecut plan`
struct PlanCommand: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "plan", abstract: "Divides a cut or a build into shards, for many processes or machines.",
    discussion: """
      Sources and options are those of cut that say what is cut. Then every shard is cut with cut --plan PLAN --shard \
      N, and merge --plan PLAN makes the bundle, with the bytes of an undivided cut. The shards lie beside the plan.

      With --catalogue a manifest and options of build take their place, and a shard is a region: build --plan PLAN \
      --shard N makes it, and build --plan PLAN publishes the catalogue.
      """)

  @Argument(
    parsing: .allUnrecognized,
    help: ArgumentHelp("Sources and options of cut, or a manifest and options of build.", valueName: "source"))
  var words: [String]
  @Option(name: [.short, .long], help: "The plan to write, a JSON file.")
  var output: String
  @Option(
    help: ArgumentHelp("The most tiles that a shard of a cut may have. (default: \(ShardPlan.tilesMaxDefault))", valueName: "n"))
  var shardTiles: Int?
  @Option(help: ArgumentHelp("Divide the build of the catalogue in this folder, not a cut.", valueName: "folder"))
  var catalogue: String?
  @Flag(help: "Replace the output if it exists.")
  var force = false

  /// Options of `cut` and `build` that say how or where to, which each shard and the merge are told.
  private static let otherOptions = [
    "--threads", "--memory", "--progress", "--resume", "--dry-run", "--json", "--append", "--scheme", "--plan",
    "--shard", "--shard-offset", "--shard-list", "--jobs", "--rebuild", "--prune",
  ]

  func validate() throws {
    for word in words where Self.otherOptions.contains(String(word.prefix { $0 != "=" })) {
      throw ValidationError("\(word) says nothing of what is made: leave it out of the plan")
    }
    if words.contains("-") { throw ValidationError("standard input cannot be read by several processes: name a file") }
    for word in words {
      guard let secret = RemoteSecrets.found(in: word) else { continue }
      throw ValidationError(
        "the address of a source has \(secret), and the plan keeps addresses: write '${NAME}' in its place, and set "
          + "NAME in the environment of plan, shards and merge")
    }
    if let shardTiles, shardTiles < 1 { throw ValidationError("--shard-tiles is a number above 0") }
    if catalogue != nil, shardTiles != nil {
      throw ValidationError("the shards of a build are its regions: leave --shard-tiles out")
    }
    if catalogue?.isEmpty == true { throw ValidationError("--catalogue is empty") }
  }

  func run() throws {
    try OutputFile.check(output, replacing: force)
    try OutputFile.protect(words, from: output)
    if let catalogue {
      try planBuild(of: catalogue)
    } else {
      try planCut()
    }
  }

  private func planCut() throws {
    let cutter = try Self.cutter(words, CutResources())
    for warning in cutter.warnings { printError("tilecut: warning: \(warning)") }
    let plan = try ShardPlan(
      cutter, toolVersion: ToolVersion.text, arguments: words, folder: FileSystem.absolutePath("."),
      tilesMax: shardTiles ?? ShardPlan.tilesMaxDefault)
    try OutputFile.write(Array(plan.json.utf8), to: output, replacing: force)
    let largest = plan.shards.map(\.tiles).max() ?? 0
    print("\(output): \(counted(plan.shards.count, "shard")) of zoom \(plan.shardZoom), up to \(largest) tiles each")
  }

  private func planBuild(of catalogue: String) throws {
    let builder = try BuildCommand.parse(words + ["--output", catalogue]).builder()
    let plan = try BuildPlan(builder, arguments: words, folder: FileSystem.absolutePath("."))
    try OutputFile.write(Array(plan.json.utf8), to: output, replacing: force)
    print(
      "\(output): \(counted(plan.shards.count, "shard")), a region each, of up to \(plan.shards[0].tiles) tiles")
  }

  /// The cut that words of a command line ask for.
  static func cutter(_ words: [String], _ resources: CutResources) throws -> Cutter {
    // The output's name has no influence on what is planned.
    try Cutter(CutCommand.parse(words + ["--output", "plan.mbtiles"]).makeOptions(), resources: resources)
  }

  /// The cut of a plan. Relative paths count from the folder of the plan's making, where that exists.
  static func cutter(of plan: ShardPlan, _ resources: CutResources) throws -> Cutter {
    _ = FileSystem.enter(plan.folder)
    return try cutter(plan.arguments, resources)
  }
}

/// `tilecut missing`
struct MissingCommand: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "missing", abstract: "Prints the shards of a plan that are not done, such as 3,7-9.")

  @Argument(help: "What tilecut plan wrote.")
  var plan: String

  func run() throws {
    let missing =
      switch try PlanKind(path: plan) {
      case .cut: ShardFolder(ofPlan: plan, try ShardPlan(path: plan, toolVersion: ToolVersion.text)).missing
      case .build: try BuildPlan(path: plan, toolVersion: ToolVersion.text).missing()
      }
    if !missing.isEmpty { print(ShardFolder.text(missing)) }
  }
}

/// A shard's number, or `auto`.
enum ShardArgument: ExpressibleByArgument {
  case number(Int)
  case automatic

  init?(argument: String) {
    if argument == "auto" {
      self = .automatic
    } else {
      guard let number = Int(argument), number >= 0 else { return nil }
      self = .number(number)
    }
  }
}

/// What schedulers with short arrays need beside a shard's number.
struct ShardListOptions: ParsableArguments {
  @Option(help: ArgumentHelp("Added to the number of the shard, where a scheduler counts from elsewhere.", valueName: "n"))
  var shardOffset: Int?
  @Option(
    help: ArgumentHelp(
      "A file that lists shards, such as 3,7-9; the number then counts the positions of that list, from 0.", valueName: "file"))
  var shardList: String?

  var isEmpty: Bool { shardOffset == nil && shardList == nil }
}

/// Which of many processes this one is.
struct ShardNumber {
  let shard: ShardArgument
  let options: ShardListOptions

  /// Where schedulers say it: any, Slurm, Kubernetes, AWS Batch.
  static let variables = [
    "TILECUT_SHARD", "SLURM_ARRAY_TASK_ID", "JOB_COMPLETION_INDEX", "AWS_BATCH_JOB_ARRAY_INDEX",
  ]

  func value() throws -> Int {
    let index = try index() + (options.shardOffset ?? 0)
    guard let list = options.shardList else { return index }
    guard let text = try? FileSystem.bytes(of: list, countMax: 1 << 24),
      let numbers = ShardFolder.numbers(String(decoding: text, as: UTF8.self))
    else { throw ValidationError("\(list) cannot be read, or is no list of numbers such as 3,7-9") }
    guard numbers.indices.contains(index) else {
      throw ValidationError("\(list) has \(counted(numbers.count, "number")), and none at position \(index)")
    }
    return numbers[index]
  }

  private func index() throws -> Int {
    if case .number(let number) = shard { return number }
    for name in Self.variables {
      guard let text = FileSystem.environment(name) else { continue }
      guard let number = Int(text) else { throw ValidationError("\(name) is no number: \(text)") }
      return number
    }
    throw ValidationError("--shard auto needs one of the variables \(Self.variables.joined(separator: ", "))")
  }
}

/// One attempt at a shard, for schedulers, which look at the exit code: 64 and 65 fail again, 75 may not.
func attempt(_ body: (CutCancellation) throws -> Void) throws {
  let signals = SignalWatch()
  defer { signals.stop() }
  let cancellation = CutCancellation()
  signals.whenStopped { cancellation.cancel() }
  do {
    try body(cancellation)
  } catch {
    if let signal = signals.received { throw ExitCode(.signal(signal)) }
    switch TileCutCommand.status(of: error) {
    // Files that cannot be read or written, and memory, may be there at the next attempt, or on another machine.
    case .unreadableInput, .outputFailed, .cannotCreate, .systemError:
      printError("tilecut: \(error)")
      throw ExitCode(.busy)
    default: throw error
    }
  }
}

/// `tilecut cut --plan PLAN --shard N`
struct ShardRun {
  let plan: String
  let number: ShardNumber
  let resources: CutResources
  let progress: ProgressStyle
  let json: Bool

  func run() throws { try attempt(cut) }

  private func cut(_ cancellation: CutCancellation) throws {
    let number = try number.value()
    let path = FileSystem.absolutePath(plan)
    let shards = try ShardPlan(path: path, toolVersion: ToolVersion.text)
    guard shards.shards.indices.contains(number) else {
      throw CutError(
        .invalidOption, path: plan, "has no shard \(number)", remedy: "its shards are 0 to \(shards.shards.count - 1)")
    }
    // A shard that is done needs no sources.
    if let done = ShardFolder(ofPlan: path, shards).receipt(number) { return try show(done, number, of: shards) }
    let cutter = try PlanCommand.cutter(of: shards, resources)
    for warning in cutter.warnings { printError("tilecut: warning: \(warning)") }
    let printer = ProgressPrinter(style: progress)
    defer { printer.finish() }
    let receipt = try cutter.cut(shard: number, of: shards, path: path, cancellation: cancellation) { printer.show($0) }
    printer.finish()
    try show(receipt, number, of: shards)
  }

  private func show(_ receipt: ShardReceipt, _ number: Int, of shards: ShardPlan) throws {
    let members = [
      ("shard", number), ("shards", shards.shards.count), ("tiles", receipt.tiles), ("bytes", receipt.tileBytes),
    ]
    if json { return printText(JSONValue.object(members.map { .init($0, .number($1)) }).indentedText) }
    printLine(
      "shard \(number) of \(shards.shards.count): \(counted(receipt.tiles, "tile")), "
        + formatted(bytes: receipt.tileBytes))
  }
}

/// `tilecut merge --plan PLAN`
struct PlanMerge {
  let plan: String
  let output: String
  let replacing: Bool
  let scheme: TileScheme
  let progress: ProgressStyle
  let json: Bool

  func run() throws {
    let signals = SignalWatch()
    defer { signals.stop() }
    try OutputFile.protect([plan], from: output)
    try BundleFile.check(output: output, replacing: replacing)
    // Before the folder changes, from which relative paths count.
    let (path, target) = (FileSystem.absolutePath(plan), FileSystem.absolutePath(output))
    let shards = try ShardPlan(path: path, toolVersion: ToolVersion.text)
    let cutter = try PlanCommand.cutter(of: shards, CutResources())
    let cancellation = CutCancellation()
    signals.whenStopped { cancellation.cancel() }
    let printer = ProgressPrinter(style: progress)
    defer { printer.finish() }
    do {
      let summary = try cutter.merge(
        shards, path: path, to: output.hasSuffix("/") ? target + "/" : target, replacing: replacing, scheme: scheme,
        cancellation: cancellation
      ) {
        printer.show($0)
      }
      printer.finish()
      try WrittenBundle(summary, output).show(json: json)
    } catch {
      if let signal = signals.received { throw ExitCode(.signal(signal)) }
      throw error
    }
  }
}
