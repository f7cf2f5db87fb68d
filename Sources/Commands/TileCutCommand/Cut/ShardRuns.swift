import ArgumentParser
import CommandSupport
import Support
import TileCut
import TileIndex

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
  let progress: ProgressStyle
  let json: Bool
  /// The cut of a plan.
  let cutter: (ShardPlan, CutResources) throws -> Cutter

  func run() throws {
    let signals = SignalWatch()
    defer { signals.stop() }
    try OutputFile.protect([plan], from: output)
    try BundleFile.check(output: output, replacing: replacing)
    // Before the folder changes, from which relative paths count.
    let (path, target) = (FileSystem.absolutePath(plan), FileSystem.absolutePath(output))
    let shards = try ShardPlan(path: path, toolVersion: ToolVersion.text)
    let cutter = try cutter(shards, CutResources())
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
