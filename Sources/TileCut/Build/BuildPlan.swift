import RegionCatalog
import Support
import TileIndex

/// The build of a catalogue that is divided into its regions, which any number of processes and machines make:
/// `tilecut plan --catalogue`.
///
/// A shard is a region with its preview, packs and patches. It writes into the catalogue's folder, and its
/// ``RegionRecord`` there says that it is done. The build publishes when all are.
package struct BuildPlan: Sendable {
  package struct Shard: Hashable, Sendable {
    package let region: String
    /// Its weight: the tiles of the region's bundle, at most.
    package let tiles: Int
    /// The ``RegionFingerprints/inputs(_:)`` of the region.
    let inputs: String

    /// What was made for the shard; nil if it is not done, or if a file is gone.
    func record(in catalogue: CatalogFolder) -> RegionRecord? {
      guard let record = RegionRecord(path: catalogue.record(region)), record.inputs == inputs,
        record.files.allSatisfy({ catalogue.place(of: $0) != nil })
      else { return nil }
      return record
    }

    /// Refuses a region that is not the planned one.
    ///
    /// - Throws: ``CutError`` `.badSource`.
    func check(_ inputs: String, path: String) throws {
      guard inputs != self.inputs else { return }
      throw PlanFile.unfit(
        path, "the plan does not fit any more: the region \"\(region)\" or a source of it has changed")
    }
  }

  /// What `tilecut build` was told, without the output.
  package let arguments: [String]
  /// The catalogue's folder, an absolute path.
  package let output: String
  /// The folder that relative paths in ``arguments`` count from.
  package let folder: String
  /// The heaviest first, so that schedulers begin with them. A shard's number is its position.
  package let shards: [Shard]
  /// SHA-256 of all that the files of the catalogue depend on.
  package let digest: String
  let toolVersion: String
  let libraries: [LibraryIdentity]

  /// Divides a build.
  ///
  /// - Parameter onReading: called while sources are read.
  /// - Complexity: reads all sources whose hashes are not known yet, and keeps these for the shards.
  /// - Throws: ``CutError``, ``BundleError``, ``CatalogBuildError``, ``ManifestError``.
  package init(
    _ builder: CatalogBuilder, arguments: [String], folder: String, onReading: ((SourceReading) -> Void)? = nil
  ) throws {
    let options = builder.options
    (self.arguments, self.folder) = (arguments, folder)
    output = FileSystem.absolutePath(options.output)
    toolVersion = options.toolVersion
    var libraries: [LibraryIdentity] = []
    shards = try builder.shards(onReading) { region, cutter, identity, inputs in
      for library in identity.libraries where !libraries.contains(library) { libraries.append(library) }
      return Shard(region: region.id, tiles: cutter.plan.tileCountMax, inputs: inputs)
    }.enumerated().sorted { ($1.element.tiles, $0.offset) < ($0.element.tiles, $1.offset) }.map(\.element)
    self.libraries = libraries
    digest = Self.digest(toolVersion, libraries, shards)
  }

  private static func digest(_ tool: String, _ libraries: [LibraryIdentity], _ shards: [Shard]) -> String {
    let lines =
      ["tilecut \(tool)"] + libraries.map { "library \($0.name) \($0.version)" }
      + shards.map { "region \($0.region) \($0.inputs)" }
    return FileHash.sha256(ofText: lines.joined(separator: "\n"))
  }

  /// Refuses libraries that are not those of the plan.
  ///
  /// - Throws: ``CutError`` `.badSource`.
  func check(_ libraries: [LibraryIdentity], path: String) throws {
    guard let other = libraries.first(where: { !self.libraries.contains($0) }) else { return }
    throw PlanFile.unfit(
      path, "was made with another \(other.name), which may make other tiles of the same pixels")
  }

  /// The shards whose region is not made, or whose files are gone.
  ///
  /// - Complexity: reads no source, and no file that is as it was made.
  /// - Throws: ``CatalogBuildError`` `.busy` while the catalogue is published; `.unreadableInput`.
  package func missing() throws -> [Int] {
    let catalogue = try CatalogFolder(output, to: .look)
    return shards.indices.filter { shards[$0].record(in: catalogue) == nil }
  }

  // MARK: - The file (docs/reference/build-plan.schema.json)

  package var json: String {
    JSONValue.object([
      .init("format", .string(PlanKind.build.rawValue)), .init("version", .number(1)), .init("digest", .string(digest)),
      .init("folder", .string(folder)), .init("arguments", .array(arguments.map { .string($0) })),
      .init("catalogue", .string(output)),
      .init(
        "shards",
        .array(
          shards.enumerated().map { index, shard in
            .object([
              .init("shard", .number(index)), .init("region", .string(shard.region)),
              .init("tiles", .number(shard.tiles)), .init("inputs", .string(shard.inputs)),
            ])
          })),
      .init("tool", .string(toolVersion)),
      .init("libraries", .object(libraries.map { .init($0.name, .string($0.version)) })),
    ]).indentedText + "\n"
  }

  /// Reads a plan.
  ///
  /// - Throws: ``CutError``: `.unreadableSource`; `.badSource` for a file that is no plan, or that was changed, or that
  ///   another version of the tool made; `.invalidOption` for the plan of a cut.
  package init(path: String, toolVersion: String) throws {
    let json = try PlanFile.read(path, .build)
    guard let digest = json["digest"]?.string, let folder = json["folder"]?.string,
      let arguments = json["arguments"]?.array?.compactMap(\.string), let output = json["catalogue"]?.string,
      let shards = json["shards"]?.array?.compactMap(Shard.init), !shards.isEmpty,
      let tool = json["tool"]?.string, let libraries = json["libraries"]?.members
    else { throw PlanFile.unfit(path, "is not a whole plan") }
    (self.digest, self.folder, self.arguments, self.output) = (digest, folder, arguments, output)
    (self.shards, self.toolVersion) = (shards, tool)
    self.libraries = libraries.compactMap { member in
      member.value.string.map { LibraryIdentity(name: member.name, version: $0) }
    }
    guard Self.digest(tool, self.libraries, shards) == digest else { throw PlanFile.changed(path) }
    try PlanFile.check(tool: tool, is: toolVersion, path)
  }
}

extension BuildPlan.Shard {
  fileprivate init?(_ json: JSONValue) {
    guard let region = json["region"]?.string, let inputs = json["inputs"]?.string,
      case .number(let tiles)? = json["tiles"],
      let tiles = Int(tiles)
    else { return nil }
    self.init(region: region, tiles: tiles, inputs: inputs)
  }
}
