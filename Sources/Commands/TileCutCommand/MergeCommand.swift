import ArgumentParser
import CommandSupport
import TileCut
import TileIndex

/// `tilecut merge`
struct MergeCommand: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "merge", abstract: "Puts bundles of one grid and format together, tiles as they are stored.",
    discussion: """
      A conflict is a tile that two bundles have with different bytes. first and last take one of them, overlay draws \
      later bundles over \
      earlier ones, error writes nothing.
      """)

  @Argument(
    help: ArgumentHelp("Bundles: MBTiles, PMTiles, GeoPackage, or folders.", valueName: "bundle"), completion: .file())
  var bundles: [String] = []
  @Option(
    help: ArgumentHelp(
      "Make the bundle of what tilecut plan wrote, such as usa.json, when all its shards are cut.", valueName: "plan"),
    completion: .file())
  var plan: String?
  @Option(
    name: [.short, .long],
    help: """
      The bundle to write: .mbtiles, .pmtiles, .gpkg, or a folder with a slash at its end; of a plan also .tileset, \
      which names the shards' bundles and copies nothing. (default, of a plan: NAME.tileset beside NAME.json)
      """, completion: .file())
  var output: String?
  @Option(help: "What a conflict does: first or last takes one, overlay draws, error stops. (default: error)")
  var onConflict: ConflictArgument?
  @Option(help: "The new tileset's name; the first bundle's unless given.")
  var name: String?
  @Flag(
    help: """
      Read every byte of the shards that a .tileset names, and compare it with what was cut, so that no damaged file \
      is served. Other outputs copy the shards, and always compare.
      """)
  var verify = false
  @OptionGroup var options: BundleOutputOptions

  func validate() throws {
    if bundles.isEmpty == (plan == nil) { throw ValidationError("name bundles, or a --plan") }
    if plan == nil, verify { throw ValidationError("--verify is for the shards of a --plan") }
    if plan == nil, output == nil { throw ValidationError("Missing expected argument '--output <output>'") }
    if plan != nil, name != nil { throw ValidationError("the name is the plan's: leave --name out") }
    if plan != nil, onConflict != nil {
      throw ValidationError("shards of a plan have no tile in common: leave --on-conflict out")
    }
    if plan != nil, options.tileHashes { throw ValidationError("the plan says it: leave --tile-hashes out") }
    try options.validate(target)
    if name?.isEmpty == true { throw ValidationError("--name is empty") }
  }

  private var target: String { output ?? plan.map(ShardFolder.tileset) ?? "" }

  func run() throws {
    let output = target
    if let plan {
      let merge = PlanMerge(
        plan: plan, output: output, replacing: options.file.force, scheme: options.rows, verifying: verify,
        progress: options.file.progress.style, json: options.file.json, cutter: CutCommand.cutter)
      return try merge.run()
    }
    try options.check(output, inputs: bundles)
    var merge = BundleMerge(conflict: (onConflict ?? .error).rule, name: name)
    merge.scheme = options.rows
    merge.hashes = options.tileHashes
    do {
      let readers = try bundles.map { try openBundle($0) }
      let warnings = onConflict == .overlay ? try Self.coveringWarnings(readers) : []
      try options.write(output, of: Self.tileCount(of: readers), warnings: warnings) {
        try merge.write(readers, to: output, replacing: options.file.force, progress: $0)
      }
    } catch let error as BundleError where error.code == .conflict {
      throw BundleError(error.code, path: error.path, error.message, remedy: "say which to take with --on-conflict")
    }
  }

  /// Of bundles that are drawn over others and have no transparency, so that what lies beyond their edges covers these.
  private static func coveringWarnings(_ readers: [any BundleReader]) throws -> [String] {
    try readers.dropFirst().compactMap { reader in
      let isJPEG = try reader.tileFormat() == .jpg
      guard try isJPEG || TileOverlay.isOpaqueAtEdge(reader) else { return nil }
      let reason = isJPEG ? "its tiles are JPEG, which has no transparency" : "its tiles at its edge are opaque"
      let remedy = isJPEG ? "cut it with --format auto, webp or png" : "cut it again with what lies beyond transparent"
      return "\(reader.path): \(reason): in tiles at its edge, what lies beyond it covers the bundles before;"
        + " \(remedy) to see both"
    }
  }

  /// Nil unless all of them are known.
  private static func tileCount(of readers: [any BundleReader]) -> Int? {
    let counts = readers.compactMap(\.knownTileCount)
    return counts.count == readers.count ? counts.reduce(0, +) : nil
  }
}

/// What to do with a tile that several bundles have.
enum ConflictArgument: String, ExpressibleByArgument, CaseIterable {
  case first
  case last
  case error
  case overlay

  var rule: BundleMerge.Conflict {
    switch self {
    case .first: .first
    case .last: .last
    case .error: .error
    case .overlay: TileOverlay.conflict()
    }
  }
}
