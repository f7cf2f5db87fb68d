import Support
import Synchronization

/// Reads the tiles of many bundles as those of one (``ShardedTileset``).
///
/// A bundle is opened when a tile of it is first wanted (``Shards``).
package final class ShardedReader: BundleReader {
  /// The file, as the caller named it.
  package let path: String
  package let matrixSet: TileMatrixSet
  package var metadata: StoredMetadata { tileset.metadata }

  private var tileset: ShardedTileset { shards.tileset }
  private let shards: Shards
  package var version: UInt64 { shards.version }
  package var opener: (@Sendable () -> any BundleReader)? { { [shards] in ShardedReader(shards) } }

  /// Opens a tileset of shards, whose bundles are opened when they are first needed.
  ///
  /// - Throws: ``BundleError`` with `.notFound`, `.malformed` or `.readFailed`.
  package convenience init(path: String) throws { try self.init(Shards(path: path)) }

  /// Another reader of the same tileset, for another thread. Both share the open bundles.
  private init(_ shards: Shards) { (self.shards, path, matrixSet) = (shards, shards.path, shards.matrixSet) }

  package func withTile<Result>(
    _ tile: TileID, _ body: (UnsafeRawBufferPointer) throws -> Result
  ) throws -> Result? { try place(of: tile).flatMap { try shards.withBundle($0) { try $0.withTile(tile, body) } } }

  package func withResidentTile<Value>(
    _ tile: TileID, _ body: (UnsafeRawBufferPointer) throws -> Value
  ) throws -> ResidentRead<Value> {
    guard let root = place(of: tile) else { return .absent }
    // Opening a bundle may wait for a disk.
    return try shards.withOpenBundle(root) { try $0.withResidentTile(tile, body) } ?? .wouldWait
  }

  /// Every bundle once.
  func forEachBundle(_ body: (any BundleReader) throws -> Void) throws {
    if tileset.top != nil { try shards.withBundle(nil, body) }
    for shard in tileset.shards { try shards.withBundle(shard.root, body) }
  }

  package func places() -> StoredPlaces { tileset.places }

  package func inspection(_ progress: @escaping (Int) -> Void) throws -> BundleInspection {
    try BundleInspection(walking: self, .tileset, fileBytes: FileSystem.size(path) + tileset.bytes, progress)
  }

  /// A shard is indexed when it is opened.
  package func prepareLookups() throws { shards.prepareLookups() }

  package func zooms() throws -> [Int] { tileset.ranges.keys.sorted() }

  package func range(zoom: Int) throws -> TileRange? { tileset.ranges[zoom] }

  /// Passes the tiles in a rectangle to a closure, by column, then by row from the south.
  ///
  /// - Complexity: O(tiles of the rectangle in which there are shards), also where there is no tile.
  package func forEachTile(
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
        _ = try shards.withBundle(root) { try $0.withTile(tile) { try body(tile, $0) } }
        row -= 1
      }
    }
  }

  /// Every tile by zoom, column and row from the south, which is the order of the shards' hashes too. Shards that state
  /// one are checked against it: a copy would hide damage with a new hash.
  ///
  /// - Throws: ``BundleError`` `.malformed`, which names the shard.
  /// - Complexity: O(bytes), and some hundred bytes of memory for each shard.
  package func forEachTileInOrder(_ body: (TileID, UnsafeRawBufferPointer) throws -> Void) throws {
    var hashers: [TileID?: TilesHash.Hasher] = [:]
    for zoom in try zooms() {
      guard let range = try range(zoom: zoom) else { continue }
      try forEachTile(in: range) { tile, bytes in
        hashers[place(of: tile) ?? nil, default: TilesHash.Hasher(matrixSet: matrixSet)].insert(tile, bytes)
        try body(tile, bytes)
      }
    }
    for (root, hasher) in hashers { try shards.withBundle(root) { try $0.requireWritten(hasher.finalize()) } }
  }

  package func forEachTile(
    byID isWanted: Bool, _ body: (TileID, UnsafeRawBufferPointer) throws -> Void
  ) throws { try forEachTileInOrder(body) }

  /// The root of the shard that has a tile, or nil within for the bundle above the roots; nil if there is none.
  private func place(of tile: TileID) -> TileID?? {
    guard matrixSet.contains(tile) else { return nil }
    if tile.zoom < tileset.zoom { return tileset.top == nil ? nil : .some(nil) }
    let root = matrixSet.ancestor(of: tile, zoom: tileset.zoom)
    return shards.files[root] == nil ? nil : .some(root)
  }
}

extension ShardedReader {
  /// The bundles of a tileset, which readers on many threads share: each lends one for the time of a read. The last
  /// ones stay open.
  fileprivate final class Shards: Sendable {
    let path: String
    let matrixSet: TileMatrixSet
    let tileset: ShardedTileset
    private let folder: String
    /// By root.
    let files: [TileID: String]

    /// The open bundles of a shard that no thread has.
    private final class Idle {
      var readers: [any BundleReader] = []
    }
    private struct State: @unchecked Sendable {
      /// By root; nil is the bundle above the roots.
      var idle = LRUTable<TileID?, Idle>(byteCountMax: Shards.idleBytesMax)
      /// Of the files when they were first opened: a reader of a tileset keeps to one edition of each.
      var opened: [TileID?: FileSystem.Status] = [:]
      /// Of shards that are changed by SQLite's rules, and how often that was noticed.
      var versions: [TileID?: UInt64] = [:]
      var version: UInt64 = 0
      var areLookupsPrepared = false
    }
    private let state = Mutex(State())

    /// Bytes of directories in memory.
    private static let idleBytesMax = 32 << 20
    /// What an open bundle counts at least: a hundred and twenty-eight, each with a descriptor or two, stay open.
    private static let readerBytesMin = 256 << 10
    /// Of one shard, as many as threads read it at a time.
    private static let idleReadersMax = 4

    /// For all readers, which share the bundles.
    func prepareLookups() { state.withLock { $0.areLookupsPrepared = true } }

    /// Differs when a shard was found in another state than before.
    var version: UInt64 { state.withLock { $0.version } }

    /// - Throws: ``BundleError``.
    init(path: String) throws {
      self.path = path
      tileset = try ShardedTileset(path: path)
      folder = FileSystem.split(path).folder
      files = Dictionary(tileset.shards.map { ($0.root, $0.file) }) { first, _ in first }
      let matrixSet = try tileset.metadata.matrixSet(path: path) ?? .webMercatorQuad
      self.matrixSet = matrixSet
      guard tileset.ranges.values.allSatisfy({ matrixSet.zooms.contains($0.zoom) }) else {
        throw BundleError(.malformed, path: path, "has zooms that \(matrixSet.identifier) does not have")
      }
    }

    func withBundle<Result>(
      _ root: TileID?, _ body: (any BundleReader) throws -> Result
    ) throws -> Result {
      // One that failed is not kept: the file may have changed.
      let bundle = try take(root) ?? open(root)
      if state.withLock(\.areLookupsPrepared) { try bundle.prepareLookups() }
      let result = try body(bundle)
      give(bundle, root)
      return result
    }

    /// Nil where no bundle of the shard is open and free.
    func withOpenBundle<Result>(
      _ root: TileID?, _ body: (any BundleReader) throws -> Result
    ) rethrows -> Result? {
      guard let bundle = take(root) else { return nil }
      let result = try body(bundle)
      give(bundle, root)
      return result
    }

    private func take(_ root: TileID?) -> (any BundleReader)? {
      state.withLock { state in
        nonisolated(unsafe) let reader = state.idle.value(for: root)?.readers.popLast()
        return reader
      }
    }

    private func give(_ bundle: any BundleReader, _ root: TileID?) {
      nonisolated(unsafe) let bundle = bundle
      state.withLock { state in
        if let known = state.versions.updateValue(bundle.version, forKey: root), known != bundle.version {
          state.version += 1
        }
        let idle = state.idle.value(for: root) ?? Idle()
        if idle.readers.count < Self.idleReadersMax { idle.readers.append(bundle) }
        let bytes = idle.readers.reduce(0) { $0 + max(Self.readerBytesMin, $1.memoryBytes) }
        state.idle.insert(idle, for: root, byteCount: bytes)
      }
    }

    private func open(_ root: TileID?) throws -> any BundleReader {
      let name = root.map { files[$0]! } ?? tileset.top!
      let file = name.hasPrefix("/") ? name : "\(folder)/\(name)"
      let signature = try? FileSystem.status(file)
      let bundle = try BundleFile.open(file)
      if bundle.version == 0, let signature, signature.kind == .file {
        let known = state.withLock { state in
          let known = state.opened[root] ?? signature
          state.opened[root] = known
          return known
        }
        guard known == signature else { throw BundleError.changed(file) }
      }
      guard bundle.matrixSet == matrixSet else {
        throw BundleError(
          .malformed, path: bundle.path, "is a bundle of another grid than that of \(path)",
          remedy: "cut the shard again")
      }
      return bundle
    }
  }
}
