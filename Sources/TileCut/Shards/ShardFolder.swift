import Support

/// Says that a shard is done. Equal for every attempt, because shards are deterministic.
public struct ShardReceipt: Hashable, Sendable, Codable {
  /// The plan's digest.
  public let plan: String
  public let shard: Int
  /// Stored tiles, and their bytes.
  public let tiles: Int
  public let tileBytes: Int
  /// The shard's file.
  public let fileBytes: Int
  public let sha256: String
}

/// The folder beside a plan with its finished shards: `NAME.shards` for `NAME.json`. `7.tiles` is the file of shard 7
/// (``ShardFile``), `7.json` its receipt.
public struct ShardFolder: Sendable {
  public let path: String
  private let plan: ShardPlan

  public init(ofPlan path: String, _ plan: ShardPlan) {
    let (folder, name) = FileSystem.split(path)
    self.path = "\(folder)/\(name.hasSuffix(".json") ? String(name.dropLast(5)) : name).shards"
    self.plan = plan
  }

  func file(_ shard: Int) -> String { "\(path)/\(shard).tiles" }
  func receiptFile(_ shard: Int) -> String { "\(path)/\(shard).json" }

  /// The receipt of a shard; nil if it is not done, or done for another plan, or if its file is gone.
  ///
  /// - Complexity: the file is not read.
  public func receipt(_ shard: Int) -> ShardReceipt? {
    guard let json = try? JSONFile.read(receiptFile(shard)), let receipt = try? json.decoded(as: ShardReceipt.self),
      receipt.plan == plan.digest, receipt.shard == shard, FileStamp(file(shard))?.bytes == receipt.fileBytes
    else { return nil }
    return receipt
  }

  /// The shards that are not done.
  public var missing: [Int] { plan.shards.indices.filter { receipt($0) == nil } }

  /// Ascending numbers as schedulers take them: `3,7-9`.
  public static func text(_ numbers: [Int]) -> String {
    var ranges: [ClosedRange<Int>] = []
    for number in numbers {
      if let last = ranges.last, last.upperBound + 1 == number {
        ranges[ranges.count - 1] = last.lowerBound...number
      } else {
        ranges.append(number...number)
      }
    }
    return ranges.map { $0.count == 1 ? "\($0.lowerBound)" : "\($0.lowerBound)-\($0.upperBound)" }.joined(separator: ",")
  }
}
