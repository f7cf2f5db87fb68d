import Support

/// Reads the tiles of many bundles as those of one (``ShardedTileset``).
///
/// A bundle is opened when a tile of it is first wanted. The last ones stay open.
public final class ShardedReader: BundleReader {
  /// The file, as the caller named it.
  public let path: String
  public let matrixSet: TileMatrixSet
  public var metadata: StoredMetadata { tileset.metadata }
  var places: [Place] { tileset.places }
  /// Bytes of the bundles.
  var bundleBytes: Int { tileset.bytes }

  private let tileset: ShardedTileset
  private let folder: String
  /// By root.
  private let files: [TileID: String]
  /// By root; nil is the bundle above the roots.
  private var open: [TileID?: (reader: any BundleReader, lastUse: Int)] = [:]
  private var clock = 0

  /// Bundles that a reader keeps open, each with a descriptor and its root directory.
  private static let openMax = 16

  /// - Throws: ``BundleError`` with `.notFound`, `.malformed` or `.readFailed`, for the file or its first bundle.
  public init(path: String) throws {
    self.path = path
    tileset = try ShardedTileset(path: path)
    folder = FileSystem.split(path).folder
    files = Dictionary(tileset.shards.map { ($0.root, $0.file) }) { first, _ in first }
    let first = try BundleFile.open(Self.path(tileset.shards[0].file, in: folder))
    matrixSet = first.matrixSet
    open[tileset.shards[0].root] = (first, 0)
    guard tileset.ranges.values.allSatisfy({ matrixSet.zooms.contains($0.zoom) }) else {
      throw BundleError(.malformed, path: path, "has zooms that \(matrixSet.identifier) does not have")
    }
  }

  public func withTile<Result>(
    _ tile: TileID, _ body: (UnsafeRawBufferPointer) throws -> Result
  ) throws -> Result? { try bundle(of: tile)?.withTile(tile, body) }

  public func withResidentTile(
    _ tile: TileID, _ body: (UnsafeRawBufferPointer) throws -> Void
  ) throws -> ResidentRead {
    guard let root = place(of: tile) else { return .absent }
    // Opening a bundle may wait for a disk.
    guard let known = open[root] else { return .wouldWait }
    return try known.reader.withResidentTile(tile, body)
  }

  public func zooms() throws -> [Int] { tileset.ranges.keys.sorted() }

  public func range(zoom: Int) throws -> TileRange? { tileset.ranges[zoom] }

  /// Passes the tiles in a rectangle to a closure, by column, then by row from the south.
  ///
  /// - Complexity: O(tiles of the rectangle in which there are shards), also where there is no tile.
  public func forEachTile(
    in range: TileRange, _ body: (TileID, UnsafeRawBufferPointer) throws -> Void
  ) throws {
    guard let all = tileset.ranges[range.zoom], let range = range.intersection(all) else { return }
    for column in range.columns {
      var row = range.rows.upperBound
      while row >= range.rows.lowerBound {
        let tile = TileID(unchecked: range.zoom, column, row)
        guard let root = place(of: tile) else {
          // On to the next row of shards.
          let absent = matrixSet.ancestor(of: tile, zoom: tileset.zoom)
          while row >= range.rows.lowerBound,
            matrixSet.ancestor(of: TileID(unchecked: range.zoom, column, row), zoom: tileset.zoom) == absent
          { row -= 1 }
          continue
        }
        _ = try bundle(root).withTile(tile) { try body(tile, $0) }
        row -= 1
      }
    }
  }

  /// The root of the shard that has a tile, or nil within for the bundle above the roots; nil if there is none.
  private func place(of tile: TileID) -> TileID?? {
    guard matrixSet.contains(tile) else { return nil }
    if tile.zoom < tileset.zoom { return tileset.top == nil ? nil : .some(nil) }
    let root = matrixSet.ancestor(of: tile, zoom: tileset.zoom)
    return files[root] == nil ? nil : .some(root)
  }

  private func bundle(of tile: TileID) throws -> (any BundleReader)? { try place(of: tile).map { try bundle($0) } }

  private func bundle(_ root: TileID?) throws -> any BundleReader {
    clock += 1
    if let known = open[root] {
      open[root]?.lastUse = clock
      return known.reader
    }
    if open.count >= Self.openMax, let oldest = open.min(by: { $0.value.lastUse < $1.value.lastUse })?.key {
      open[oldest] = nil
    }
    let file = root.map { files[$0]! } ?? tileset.top!
    let bundle = try BundleFile.open(Self.path(file, in: folder))
    guard bundle.matrixSet == matrixSet else {
      throw BundleError(
        .malformed, path: bundle.path, "is a bundle of another grid than that of \(path)",
        remedy: "cut the shard again")
    }
    open[root] = (bundle, clock)
    return bundle
  }

  private static func path(_ file: String, in folder: String) -> String {
    file.hasPrefix("/") ? file : "\(folder)/\(file)"
  }
}
