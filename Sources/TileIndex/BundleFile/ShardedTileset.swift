import Support

/// A tileset whose tiles are in many bundles: a JSON file that names them. Each shard is the subtree below a tile of
/// one zoom; tiles above that zoom are in a bundle of their own.
///
/// `tilecut merge --plan PLAN -o NAME.tileset` writes it, ``ShardedReader`` reads it. docs/reference/bundle-format.md
/// describes the members.
struct ShardedTileset {
  struct Shard {
    let root: TileID
    /// Relative to the file's folder, or absolute.
    let file: String
  }

  /// The beginning of every such file, which tells it from other JSON.
  static let magic = Array("{\n  \"format\": \"tilecut tileset\",".utf8)
  static let fileExtension = "tileset"
  /// About a million shards.
  private static let bytesMax = 64 << 20
  private static let formatName = "tilecut tileset"

  /// Of the shards' roots.
  var zoom: Int
  /// The bundle of the tiles above the roots; nil if there are none.
  var top: String?
  var shards: [Shard] = []
  var metadata = StoredMetadata([])
  /// A rectangle around the tiles of each zoom that has tiles.
  var ranges: [Int: TileRange] = [:]
  var tiles = 0
  /// Of the bundles.
  var bytes = 0
  var places: StoredPlaces

  /// - Parameter path: of the file that it becomes.
  init(zoom: Int, path: String) { (self.zoom, places) = (zoom, StoredPlaces(of: path)) }

  var json: [UInt8] {
    func numbers(_ range: ClosedRange<Int>) -> JSONValue {
      .array([.number(range.lowerBound), .number(range.upperBound)])
    }
    var members: [JSONValue.Member] = [
      .init("format", .string(Self.formatName)), .init("version", .number(1)), .init("tiles", .number(tiles)),
      .init("bytes", .number(bytes)),
      .init("metadata", .object(metadata.entries.map { .init($0.name, .string($0.value)) })),
      .init(
        "levels",
        .array(
          ranges.values.sorted { $0.zoom < $1.zoom }.map {
            .object([
              .init("zoom", .number($0.zoom)), .init("columns", numbers($0.columns)), .init("rows", numbers($0.rows)),
            ])
          })),
    ]
    if !places.valid.isEmpty { members.append(.init(PlaceDocument.member, PlaceDocument.json(places.valid))) }
    if let top { members.append(.init("top", .string(top))) }
    members.append(.init("shardZoom", .number(zoom)))
    members.append(
      .init(
        "shards",
        .array(shards.map { .object([.init("root", .string("\($0.root)")), .init("file", .string($0.file))]) })))
    return Array((JSONValue.object(members).indentedText + "\n").utf8)
  }

  /// - Throws: ``BundleError``: `.notFound`, `.readFailed`; `.malformed` for another document.
  init(path: String) throws {
    func damaged(_ what: String) -> BundleError {
      BundleError(.malformed, path: path, what, remedy: "merge the shards of its plan again", repair: .mergeShards)
    }
    let json: JSONValue
    do {
      json = try JSONFile.read(path, bytesMax: Self.bytesMax)
    } catch let error as JSONFile.Unreadable {
      throw BundleError(error.isMissing ? .notFound : .readFailed, path: path, "cannot be read: \(error)")
    } catch {
      throw damaged("is no JSON: \(error)")
    }
    guard json["format"]?.string == Self.formatName else { throw damaged("is no tileset of shards") }
    func number(_ json: JSONValue?) -> Int? {
      guard case .number(let text)? = json else { return nil }
      return Int(text)
    }
    func range(_ json: JSONValue?) -> ClosedRange<Int>? {
      guard let ends = json?.array?.compactMap(number), ends.count == 2, 0 <= ends[0], ends[0] <= ends[1] else {
        return nil
      }
      return ends[0]...ends[1]
    }
    guard let zoom = number(json["shardZoom"]), let shards = json["shards"]?.array, !shards.isEmpty,
      let levels = json["levels"]?.array, let rows = json["metadata"]?.members
    else { throw damaged("is not a whole tileset of shards") }
    self.zoom = zoom
    top = json["top"]?.string
    (tiles, bytes) = (number(json["tiles"]) ?? 0, number(json["bytes"]) ?? 0)
    metadata = try MetadataLimits.stored(
      rows.map { StoredMetadata.Entry(name: $0.name, value: $0.value.string ?? "") }, path: path)
    places = try PlaceDocument.places(json[PlaceDocument.member], of: path) ?? StoredPlaces(of: path)
    for shard in shards {
      guard let root = shard["root"]?.string.flatMap(TileID.init(path:)), root.zoom == zoom,
        let file = shard["file"]?.string
      else { throw damaged("has a shard without root and file") }
      self.shards.append(Shard(root: root, file: file))
    }
    for level in levels {
      guard let zoom = number(level["zoom"]), let columns = range(level["columns"]), let rows = range(level["rows"])
      else { throw damaged("has a level without columns and rows") }
      ranges[zoom] = TileRange(zoom: zoom, columns: columns, rows: rows)
    }
  }
}

extension TileID {
  /// Reads `zoom/column/row`; nil for another text. Whether the tile is in a grid is not checked.
  package init?(path: String) {
    let numbers = path.split(separator: "/", omittingEmptySubsequences: false).map { Int($0) }
    guard numbers.count == 3, let zoom = numbers[0], let column = numbers[1], let row = numbers[2],
      0...Self.zoomMax ~= zoom, 0..<(1 << 40) ~= column, 0..<(1 << 40) ~= row
    else { return nil }
    self.init(unchecked: zoom, column, row)
  }
}
