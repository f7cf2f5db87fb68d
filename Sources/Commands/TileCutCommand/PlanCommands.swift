import ArgumentParser
import CommandSupport
import Support
import TileCut
import TileIndex

/// `tilecut plan`
struct PlanCommand: ForwardingCommand {
  static let forwarded: [any ParsableCommand.Type] = [CutCommand.self, BuildCommand.self]
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
    help: ArgumentHelp("Sources and options of cut, or a manifest and options of build.", valueName: "source"),
    completion: .file())
  var words: [String]
  @Option(name: [.short, .long], help: "The plan to write, a JSON file.", completion: .file())
  var output: String
  @Option(
    help: ArgumentHelp(
      "The most tiles that a shard of a cut may have. (default: \(ShardPlan.tilesMaxDefault))",
      valueName: "n"))
  var shardTiles: Int?
  @Option(
    help: ArgumentHelp("Divide the build of the catalogue in this folder, not a cut.", valueName: "folder"),
    completion: .directory)
  var catalogue: String?
  @Flag(help: "Replace the output if it exists.")
  var force = false
  @Flag(help: "Print JSON.")
  var json = false
  @OptionGroup var progress: ProgressOption

  /// Options of `cut` and `build` that say how or where to, which each shard and the merge are told.
  private static let otherOptions = [
    "--threads", "--memory", "--resume", "--dry-run", "--append", "--scheme", "--plan",
    "--shard", "--shard-list", "--jobs", "--rebuild", "--prune", "--orphan-owners",
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
    let cutter = try Self.forwarding(to: CutCommand.self) { try CutCommand.cutter(words, .planning) }
    for warning in cutter.warnings { printError("tilecut: warning: \(warning)") }
    let plan = try ShardPlan(
      cutter, toolVersion: ToolVersion.text, arguments: words, folder: FileSystem.absolutePath("."),
      tilesMax: shardTiles ?? ShardPlan.tilesMaxDefault)
    try OutputFile.write(Array(plan.json.utf8), to: output, replacing: force)
    let largest = plan.shards.map(\.tiles).max() ?? 0
    let each = plan.shards.count == 1 ? "" : " each"
    try show(plan.shards.map(\.tiles), " of zoom \(plan.shardZoom), up to \(counted(largest, "tile"))\(each)")
  }

  private func planBuild(of catalogue: String) throws {
    let builder = try Self.forwarding(to: BuildCommand.self) {
      try BuildCommand.parse(words + ["--output", catalogue]).builder()
    }
    let printer = ProgressPrinter(style: progress.style)
    defer { printer.finish() }
    let plan = try BuildPlan(builder, arguments: words, folder: FileSystem.absolutePath(".")) {
      printer.show(.reading($0))
    }
    printer.finish()
    try OutputFile.write(Array(plan.json.utf8), to: output, replacing: force)
    let regions = plan.shards.count == 1 ? "one region" : "a region each,"
    try show(plan.shards.map(\.tiles), ", \(regions) of up to \(counted(plan.shards[0].tiles, "tile"))")
  }

  /// - Parameter tiles: of each shard, at most.
  private func show(_ tiles: [Int], _ about: String) throws {
    guard json else { return printLine("\(output): \(counted(tiles.count, "shard"))\(about)") }
    let members: [JSONValue.Member] = [
      .init("path", .string(output)), .init("shards", .number(tiles.count)),
      .init("tiles", .number(tiles.reduce(0, +))), .init("shardTiles", .array(tiles.map { .number($0) })),
    ]
    printText(JSONValue.object(members).indentedText)
  }
}

/// `tilecut missing`
struct MissingCommand: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "missing", abstract: "Prints the shards of a plan that are not done, such as 3,7-9.")

  @Argument(help: "What tilecut plan wrote.", completion: .file())
  var plan: String
  @Flag(help: "Print JSON: a list of all their numbers.")
  var json = false

  func run() throws {
    let missing =
      switch try PlanKind(path: plan) {
      case .cut: ShardFolder(ofPlan: plan, try ShardPlan(path: plan, toolVersion: ToolVersion.text)).missing
      case .build: try BuildPlan(path: plan, toolVersion: ToolVersion.text).missing()
      }
    if json { return printLine(JSONValue.array(missing.map { .number($0) }).text) }
    if !missing.isEmpty { print(ShardFolder.text(missing)) }
  }
}
