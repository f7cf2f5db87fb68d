import ArgumentParser
import CommandSupport
import Support
import TileCut

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
  @Option(
    help: ArgumentHelp(
      "Added to the number of the shard, where a scheduler counts from elsewhere.",
      valueName: "n"))
  var shardOffset: Int?
  @Option(
    help: ArgumentHelp(
      "A file that lists shards, such as 3,7-9; the number then counts the positions of that list, from 0.",
      valueName: "file"))
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
    switch exitStatus(of: error) {
    // Files that cannot be read or written, and memory, may be there at the next attempt, or on another machine.
    case .unreadableInput, .outputFailed, .cannotCreate, .systemError:
      printError("tilecut: \(error)")
      throw ExitCode(.busy)
    default: throw error
    }
  }
}
