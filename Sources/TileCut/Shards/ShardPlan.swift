import Support
package import TileIndex

/// A cut that is divided into shards, which any number of processes and machines cut: `tilecut plan`.
///
/// A shard is a subtree of the pyramid, whose root may lie above the bundle's zooms. What of the bundle lies above the
/// shards' roots is left to the merge.
package struct ShardPlan: Sendable {
  package struct Shard: Hashable, Sendable {
    package let root: TileID
    /// Its weight: the tiles that are drawn or reduced for it, at most.
    package let tiles: Int
  }

  /// The largest shard unless another size is asked for: about three minutes of one core for imagery.
  package static let tilesMaxDefault = 90_000

  /// What `tilecut cut` was told, without the output.
  package let arguments: [String]
  /// The folder that relative paths in ``arguments`` count from.
  package let folder: String
  /// In the order of rows and columns. A shard's number is its position.
  package let shards: [Shard]
  /// SHA-256 of all that the bytes of the bundle and of the shards depend on.
  package let digest: String
  let identity: CutIdentity
  private let tileMatrixSet: String
  private let zooms: ClosedRange<Int>
  private let tileCount: Int
  /// Of the shards' bundles: PMTiles, which needs no locks on a shared disk, where it knows the grid.
  let container: BundleContainer

  /// The zoom of the shards' roots.
  package var shardZoom: Int { shards[0].root.zoom }

  /// Divides a cut. The shards' zoom is the coarsest at which none has more than `tilesMax` tiles, or that of the
  /// subtrees that one thread cuts.
  package init(
    _ cutter: Cutter, toolVersion: String, arguments: [String], folder: String, tilesMax: Int = tilesMaxDefault
  ) throws {
    (self.arguments, self.folder) = (arguments, folder)
    identity = try cutter.identity(toolVersion: toolVersion)
    let plan = cutter.plan
    (tileMatrixSet, zooms, tileCount) = (cutter.options.matrixSet.identifier, plan.zooms, plan.tileCountMax)
    container = cutter.options.matrixSet == .webMercatorQuad ? .pmtiles : .mbtiles
    // The merge draws nothing: what is drawn from the sources lies in the shards.
    let deepest = min(cutter.subtrees.rootZoom, plan.baseZoom)
    // Above the bundle's zooms too: a bundle of few zooms has as many subtrees as it has tiles.
    var zoom = plan.matrixSet.zooms.lowerBound
    var weights = plan.weights(ofSubtreesAt: zoom)
    while zoom < deepest, weights.values.contains(where: { $0 > tilesMax }) {
      zoom += 1
      weights = plan.weights(ofSubtreesAt: zoom)
    }
    shards = weights.sorted { ($0.key.row, $0.key.column) < ($1.key.row, $1.key.column) }.map {
      Shard(root: $0.key, tiles: $0.value)
    }
    digest = Self.digest(identity, shards)
  }

  private static func digest(_ identity: CutIdentity, _ shards: [Shard]) -> String {
    FileHash.sha256(ofText: ([identity.digest] + shards.map { "\($0.root)" }).joined(separator: "\n"))
  }

  /// Refuses a cut that is not the one that was planned.
  ///
  /// - Throws: ``CutError`` `.badSource`.
  func check(_ cutter: Cutter, path: String) throws {
    let now = try cutter.identity(toolVersion: identity.toolVersion, known: identity)
    guard let difference = now.difference(from: identity) else { return }
    throw PlanFile.unfit(path, "the plan does not fit any more: \(difference)")
  }

  // MARK: - The file (docs/reference/plan.schema.json)

  package var json: String {
    let own: [JSONValue.Member] = [
      .init("format", .string(PlanKind.cut.rawValue)), .init("version", .number(1)), .init("digest", .string(digest)),
      .init("folder", .string(folder)), .init("arguments", .array(arguments.map { .string($0) })),
      .init("tileMatrixSet", .string(tileMatrixSet)),
      .init("minzoom", .number(zooms.lowerBound)), .init("maxzoom", .number(zooms.upperBound)),
      .init("tiles", .number(tileCount)), .init("container", .string(container.rawValue)),
      .init(
        "shards",
        .array(
          shards.enumerated().map { index, shard in
            .object([
              .init("shard", .number(index)), .init("root", .string("\(shard.root)")),
              .init("tiles", .number(shard.tiles)),
            ])
          })),
    ]
    return JSONValue.object(own + (identity.json.members ?? [])).indentedText + "\n"
  }

  /// Reads a plan.
  ///
  /// - Throws: ``CutError``: `.unreadableSource`; `.badSource` for a file that is no plan, or that was changed, or that
  ///   another version of the tool made; `.invalidOption` for the plan of a build.
  package init(path: String, toolVersion: String) throws {
    let json = try PlanFile.read(path, .cut)
    guard let identity = CutIdentity(json), let digest = json["digest"]?.string, let folder = json["folder"]?.string,
      let arguments = json["arguments"]?.array?.compactMap(\.string), let tileMatrixSet = json["tileMatrixSet"]?.string,
      case .number(let minzoom)? = json["minzoom"], let minzoom = Int(minzoom),
      case .number(let maxzoom)? = json["maxzoom"], let maxzoom = Int(maxzoom), minzoom <= maxzoom,
      let shards = json["shards"]?.array?.compactMap(Shard.init), !shards.isEmpty,
      case .number(let tiles)? = json["tiles"],
      let container = json["container"]?.string.flatMap(BundleContainer.init(rawValue:))
    else { throw PlanFile.unfit(path, "is not a whole plan") }
    guard Self.digest(identity, shards) == digest else { throw PlanFile.changed(path) }
    try PlanFile.check(tool: identity.toolVersion, is: toolVersion, path)
    (self.identity, self.digest, self.folder, self.arguments) = (identity, digest, folder, arguments)
    (self.shards, self.container, self.tileMatrixSet) = (shards, container, tileMatrixSet)
    (zooms, tileCount) = (minzoom...maxzoom, Int(tiles) ?? 0)
  }
}

extension ShardPlan.Shard {
  fileprivate init?(_ json: JSONValue) {
    guard let root = json["root"]?.string.flatMap(TileID.init(path:)), case .number(let tiles)? = json["tiles"],
      let tiles = Int(tiles)
    else { return nil }
    self.init(root: root, tiles: tiles)
  }
}

extension CutPlan {
  /// For each subtree whose root is of a zoom, its candidate tiles down to the working zoom.
  fileprivate func weights(ofSubtreesAt zoom: Int) -> [TileID: Int] {
    var weights: [TileID: Int] = [:]
    var edge = 1
    for level in zoom...workingZoom {
      if level > zoom { edge *= matrixSet.ratio(below: level - 1) }
      guard let tiles = coverages[level] else { continue }
      for row in tiles.rows {
        for run in tiles.runs(inRow: row) {
          for column in (run.lowerBound / edge)...((run.upperBound - 1) / edge) {
            let count = run.clamped(to: (column * edge)..<((column + 1) * edge)).count
            weights[TileID(unchecked: zoom, column, row / edge), default: 0] += count
          }
        }
      }
    }
    return weights
  }
}
