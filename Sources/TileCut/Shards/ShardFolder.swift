import Support
import TileIndex

/// Says that a shard is done. Equal for every attempt, because shards are deterministic.
package struct ShardReceipt: Hashable, Sendable, Codable {
  package struct File: Hashable, Sendable, Codable {
    package let bytes: Int
    package let sha256: String

    init(_ path: String, onBytes: (Int) throws -> Void = { _ in }) throws {
      bytes = FileSystem.size(path)
      sha256 = try FileHash.sha256(ofFile: path, onBytes: onBytes)
    }
  }

  /// The plan's digest.
  package let plan: String
  package let shard: Int
  /// Stored tiles, and their bytes.
  package let tiles: Int
  package let tileBytes: Int
  /// The ``TileDigest`` of the stored tiles.
  let content: String
  /// Candidate tiles of the stored zooms that were processed, including empty ones.
  package let tilesDone: Int
  /// Left, top, right and bottom of the visible pixels of the working zoom; empty for none.
  let extent: [Int]
  /// The bundle with the tiles; nil for a shard without a visible pixel.
  package let bundle: File?
  /// The pixels of the root, as in `PixelBuffer`, of which the merge makes the levels above; nil where it needs none.
  let rootPixels: File?

  var visibleExtent: VisibleExtent? {
    guard extent.count == 4 else { return nil }
    return VisibleExtent(left: extent[0], top: extent[1], right: extent[2], bottom: extent[3])
  }
}

/// A digest of tiles that does not depend on their order: a merge takes them in another one than the cut, and compares
/// what it copies.
///
/// The sum, modulo 2^64 in each of four words, of the SHA-256 of every tile's zoom, column, row and bytes. It finds
/// damage; it is no proof against somebody who wants to find other tiles with the same sum.
struct TileDigest {
  private var sum = SIMD4<UInt64>()

  mutating func add(_ tile: TileID, _ bytes: [UInt8]) {
    var hash = SHA256Hash()
    let place = [tile.zoom, tile.column, tile.row].map { UInt64($0).littleEndian }
    place.withUnsafeBytes { hash.update($0) }
    hash.update(bytes)
    sum &+= hash.digest().withUnsafeBytes { digest in
      SIMD4((0..<4).map { UInt64(littleEndian: digest.loadUnaligned(fromByteOffset: 8 * $0, as: UInt64.self)) })
    }
  }

  /// 64 hexadecimal digits.
  var text: String {
    let bytes = (0..<32).map { UInt8(truncatingIfNeeded: sum[$0 / 8] >> UInt64(8 * ($0 % 8))) }
    return Hexadecimal.text(bytes)
  }
}

/// The folder beside a plan with its finished shards: `NAME.shards` for `NAME.json`. Of shard 7, `7.pmtiles` (in other
/// grids than Web Mercator `7.mbtiles`) has the tiles, `7.rgba` the pixels of its root, and `7.json` is its receipt.
package struct ShardFolder: Sendable {
  package let path: String
  private let plan: ShardPlan

  package init(ofPlan path: String, _ plan: ShardPlan) {
    self.path = Self.beside(path) + ".shards"
    self.plan = plan
  }

  /// The tileset of the shards, where no other name is given: `NAME.tileset` beside `NAME.json`.
  package static func tileset(ofPlan path: String) -> String { beside(path) + ".tileset" }

  private static func beside(_ plan: String) -> String {
    let (folder, name) = FileSystem.split(plan)
    return "\(folder)/\(name.hasSuffix(".json") ? String(name.dropLast(5)) : name)"
  }

  func bundle(_ shard: Int) -> String { "\(path)/\(bundleName(shard))" }
  func rootPixels(_ shard: Int) -> String { "\(path)/\(shard).rgba" }
  /// What a tileset of the shards has above their roots.
  var top: String { "\(path)/top.\(plan.container.rawValue)" }
  fileprivate func receiptFile(_ shard: Int) -> String { "\(path)/\(shard).json" }
  fileprivate func bundleName(_ shard: Int) -> String { "\(shard).\(plan.container.rawValue)" }

  /// The receipt of a shard; nil if it is not done, or done for another plan, or if a file is gone.
  ///
  /// - Complexity: the bundle is not read.
  package func receipt(_ shard: Int) -> ShardReceipt? {
    guard let json = try? JSONFile.read(receiptFile(shard)), let receipt = try? json.decoded(as: ShardReceipt.self),
      receipt.plan == plan.digest, receipt.shard == shard
    else { return nil }
    if let file = receipt.bundle, FileStamp(bundle(shard))?.bytes != file.bytes { return nil }
    if let file = receipt.rootPixels, FileStamp(rootPixels(shard))?.bytes != file.bytes { return nil }
    return receipt
  }

  /// The shards that are not done.
  package var missing: [Int] { plan.shards.indices.filter { receipt($0) == nil } }

  /// Removes what killed attempts left, of one shard or of all.
  func removeLeftovers(of shard: Int? = nil) {
    for name in FileSystem.names(in: path) {
      guard let number = ShardAttempt.shard(ofFolder: name), shard == nil || shard == number else { continue }
      FileSystem.removeTree("\(path)/\(name)")
    }
  }

  /// Refuses a folder with files of others: those with names of shards would be replaced.
  ///
  /// - Throws: ``CutError`` `.invalidOption`: trying again would not help.
  fileprivate func check() throws {
    let extensions: Set = [plan.container.rawValue, "rgba", "json"]
    let foreign = FileSystem.names(in: path).first { name in
      let parts = name.split(separator: ".", omittingEmptySubsequences: false)
      let isOwn =
        parts.count == 2 && (Int(parts[0]) != nil || parts[0] == "top") && extensions.contains(String(parts[1]))
      return !isOwn && !name.hasPrefix(".")
    }
    guard let foreign else { return }
    throw CutError(
      .invalidOption, path: path, "is to take the shards of a plan, and holds \(foreign)",
      remedy: "move that folder away, or give the plan another name")
  }

  /// Ascending numbers as schedulers take them: `3,7-9`.
  package static func text(_ numbers: [Int]) -> String {
    var ranges: [ClosedRange<Int>] = []
    for number in numbers {
      if let last = ranges.last, last.upperBound + 1 == number {
        ranges[ranges.count - 1] = last.lowerBound...number
      } else {
        ranges.append(number...number)
      }
    }
    return ranges.map { $0.count == 1 ? "\($0.lowerBound)" : "\($0.lowerBound)-\($0.upperBound)" }.joined(
      separator: ",")
  }

  /// The numbers of such a text, which may have several lines; nil if it is none.
  package static func numbers(_ text: String) -> [Int]? {
    var numbers: [Int] = []
    for part in text.split(whereSeparator: { $0 == "," || $0.isWhitespace }) {
      let ends = part.split(separator: "-", omittingEmptySubsequences: false).map { Int($0) }
      guard (1...2).contains(ends.count), let low = ends[0], let high = ends[ends.count - 1], 0 <= low, low <= high,
        high - low < 1 << 24
      else { return nil }
      numbers += low...high
    }
    return numbers
  }
}

/// One attempt at a shard. It writes into a folder of its own, so that attempts on several machines do not meet, and
/// what they finish are equal files.
struct ShardAttempt {
  private static let suffix = ".partial"

  /// The shard that a folder with this name was an attempt at; nil for other names.
  static func shard(ofFolder name: String) -> Int? {
    let parts = name.split(separator: ".", omittingEmptySubsequences: false)
    guard parts.count == 4, parts[0].isEmpty, ".\(parts[3])" == suffix, UInt64(parts[2], radix: 36) != nil else {
      return nil
    }
    return Int(parts[1])
  }

  private let folder: ShardFolder
  private let shard: Int
  private let path: String

  init(_ folder: ShardFolder, _ shard: Int) throws {
    (self.folder, self.shard) = (folder, shard)
    try FileSystem.makeFolders(folder.path)
    try folder.check()
    path = "\(folder.path)/.\(shard).\(String(UInt64.random(in: 0 ... .max), radix: 36))\(Self.suffix)"
    try FileSystem.makeFolder(path)
  }

  var bundle: String { "\(path)/\(folder.bundleName(shard))" }
  var rootPixels: String { "\(path)/pixels" }
  private var receiptFile: String { "\(path)/receipt" }

  /// Gives the files their names, the receipt last, and removes what other attempts left.
  func publish(_ receipt: ShardReceipt) throws {
    let text = Array((try JSONValue(encoding: receipt).indentedText + "\n").utf8)
    try text.withUnsafeBytes { try FileSystem.writeNew($0, to: receiptFile) }
    try FileSystem.synchronise(receiptFile)
    if receipt.bundle != nil { try FileSystem.rename(bundle, replacing: folder.bundle(shard)) }
    if receipt.rootPixels != nil {
      try FileSystem.synchronise(rootPixels)
      try FileSystem.rename(rootPixels, replacing: folder.rootPixels(shard))
    }
    try FileSystem.synchronise(folder.path)
    try FileSystem.rename(receiptFile, replacing: folder.receiptFile(shard))
    try FileSystem.synchronise(folder.path)
    folder.removeLeftovers(of: shard)
  }

  func remove() { FileSystem.removeTree(path) }
}
