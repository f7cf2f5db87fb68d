import ArgumentParser
import CommandSupport
import Support
import TileCut
import TileIndex

/// A shard's number, or `auto`, and what is added to it: `3`, `auto`, `auto+1000`.
struct ShardArgument: ExpressibleByArgument {
  /// Nil for `auto`.
  let number: Int?
  let offset: Int

  init?(argument: String) {
    let parts = argument.split(separator: "+", maxSplits: 1, omittingEmptySubsequences: false)
    let numbers = parts.map { Int($0) }
    guard parts[0] == "auto" || numbers[0] ?? -1 >= 0 else { return nil }
    guard let offset = parts.count > 1 ? numbers[1] : 0, offset >= 0 else { return nil }
    (number, self.offset) = (numbers[0], offset)
  }
}

/// Which part of a plan is made.
struct ShardOptions: ParsableArguments {
  @Option(
    help: ArgumentHelp(
      "What tilecut plan wrote, of which a part is made; what is made of what, and where, is the plan's.",
      valueName: "plan"), completion: .file())
  var plan: String?
  @Option(
    help: ArgumentHelp(
      """
      The part of the plan to make: its number, or auto for that in \
      \(ShardNumber.variables.joined(separator: ", ")). auto+1000 adds 1000 to it, for schedulers that cannot count so \
      far.
      """,
      valueName: "n|auto[+n]"))
  var shard: ShardArgument?
  @Option(
    help: ArgumentHelp(
      """
      A file with the shards to choose from, such as 3,7-9, as tilecut missing prints them: --shard 0 is then the \
      first in it, 3.
      """,
      valueName: "file"), completion: .file())
  var shardList: String?

  /// Whether no shard is named.
  var isEmpty: Bool { shard == nil && shardList == nil }
}

/// Which of many processes this one is.
struct ShardNumber {
  private let shard: ShardArgument
  private let options: ShardOptions

  /// Nil unless a shard is named.
  init?(_ options: ShardOptions) {
    guard let shard = options.shard else { return nil }
    (self.shard, self.options) = (shard, options)
  }

  /// Where schedulers say it: any, Slurm, Kubernetes, AWS Batch.
  static let variables = [
    "TILECUT_SHARD", "SLURM_ARRAY_TASK_ID", "JOB_COMPLETION_INDEX", "AWS_BATCH_JOB_ARRAY_INDEX",
  ]

  func value() throws -> Int {
    let (index, overflow) = try index().addingReportingOverflow(shard.offset)
    guard !overflow else { throw ValidationError("--shard: \(shard.offset) more makes no number of a shard") }
    guard let list = options.shardList else { return index }
    let text: [UInt8]
    do {
      text = try FileSystem.bytes(of: list, countMax: 1 << 24)
    } catch {
      throw CutError(
        .unreadableSource, path: list, "cannot be read: \(error)", remedy: "make it with: tilecut missing PLAN")
    }
    guard let numbers = ShardFolder.numbers(UTF8Mark.text(text)) else {
      throw ValidationError("\(list) is no list of numbers such as 3,7-9")
    }
    guard numbers.indices.contains(index) else {
      throw ValidationError("\(list) has \(counted(numbers.count, "number")), and none at position \(index)")
    }
    return numbers[index]
  }

  private func index() throws -> Int {
    if let number = shard.number { return number }
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
  do {
    try cancellable { try body($0()) }
  } catch {
    switch exitStatus(of: error) {
    // Files that cannot be read or written, and memory, may be there at the next attempt, or on another machine.
    case .unreadableInput, .outputFailed, .cannotCreate, .systemError:
      printError("tilecut: \(error)" + (nextCommand(after: error).map { ": \($0)" } ?? ""))
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
  /// The cut of a plan.
  let cutter: (ShardPlan, CutResources) throws -> Cutter

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
    let cutter = try cutter(shards, resources)
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
  let verifying: Bool
  let progress: ProgressStyle
  let json: Bool
  /// The cut of a plan.
  let cutter: (ShardPlan, CutResources) throws -> Cutter

  func run() throws { try cancellable(merge) }

  private func merge(_ begin: () -> CutCancellation) throws {
    try OutputFile.protect([plan], from: output)
    try BundleFile.check(output: output, replacing: replacing)
    // Before the folder changes, from which relative paths count.
    let (path, target) = (FileSystem.absolutePath(plan), FileSystem.absolutePath(output))
    let shards = try ShardPlan(path: path, toolVersion: ToolVersion.text)
    let cutter = try cutter(shards, .planning)
    let printer = ProgressPrinter(style: progress)
    defer { printer.finish() }
    let summary = try cutter.merge(
      shards, path: path, to: output.hasSuffix("/") ? target + "/" : target, replacing: replacing, scheme: scheme,
      verifying: verifying, cancellation: begin()
    ) {
      printer.show($0)
    }
    printer.finish()
    // The cut of the plan told the others.
    for warning in summary.warnings where !cutter.warnings.contains(warning) {
      printError("tilecut: warning: \(warning)")
    }
    try WrittenBundle(summary, output).show(json: json)
  }
}
