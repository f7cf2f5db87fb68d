import Support
import Synchronization

/// Writes a bundle in any container and gives its metadata the hash of its tiles (``TilesHash``).
///
/// Digests of tiles are kept until the end, because tiles come in any order: 48 bytes each, at most ``heldMax`` in
/// memory and the others in a file without a name.
final class HashedSink: TileSink {
  /// 6 MB.
  static let heldMax = 1 << 17

  private let sink: any TileSink
  private let digests: Mutex<Digests>

  init(_ sink: any TileSink, heldMax: Int = HashedSink.heldMax) {
    self.sink = sink
    digests = Mutex(Digests(sorted: SpilledSort(beside: sink.path.withoutSlashes, heldMax: heldMax)))
  }

  var path: String { sink.path }
  var matrixSet: TileMatrixSet { sink.matrixSet }
  var format: TileFormat { sink.format }
  var mixing: Set<TileFormat> { sink.mixing }
  var tileCount: Int { sink.tileCount }
  var usesHashes: Bool { sink.usesHashes }
  var isOrderedByID: Bool { sink.isOrderedByID }

  func put(_ tile: TileID, _ data: UnsafeRawBufferPointer) throws {
    try sink.put(tile, data)
    try note(tile, data)
  }

  func put(_ tile: TileID, _ data: UnsafeRawBufferPointer, hash: UInt64) throws {
    try sink.put(tile, data, hash: hash)
    try note(tile, data)
  }

  func write(places: [Place]) throws { try sink.write(places: places) }

  func finish(_ metadata: SinkMetadata) throws -> BundleSummary {
    guard tileCount > 0 else { return try sink.finish(metadata) }
    let hash = try hash()
    switch metadata {
    case .composed(var metadata):
      metadata.tilesHash = hash
      return try sink.finish(.composed(metadata))
    case .rows(var rows):
      if let stated = rows.first(where: { $0.name == MetadataKey.tilesHash }), TilesHash(stated.value) != hash {
        sink.discard()
        throw BundleError(
          .malformed, path: path, "the tiles to copy \(BundleError.otherTiles)", remedy: BundleError.otherTilesRemedy)
      }
      rows.removeAll { $0.name == MetadataKey.tilesHash }
      rows.append(StoredMetadata.Entry(name: MetadataKey.tilesHash, value: hash.description))
      return try sink.finish(.rows(rows))
    }
  }

  func discard() { sink.discard() }

  private func note(_ tile: TileID, _ data: UnsafeRawBufferPointer) throws {
    let digest = TileDigest(tile, TilesHash.Hasher.digest(data), in: matrixSet)
    try writing { try digests.withLock { try $0.sorted.append(digest) } }
  }

  private func hash() throws -> TilesHash {
    var hasher = TilesHash.Hasher(matrixSet: matrixSet)
    try writing {
      try digests.withLock { digests in
        try digests.sorted.drain { hasher.insert($0.tile(in: matrixSet), digest: $0.digest) }
      }
    }
    return hasher.finalize()
  }

  private func writing<Result>(_ body: () throws -> Result) throws -> Result {
    do {
      return try body()
    } catch let error as FileSystem.SystemError {
      sink.discard()
      throw OutputFile.failure(error, path)
    }
  }

  private struct Digests: ~Copyable {
    let sorted: SpilledSort<TileDigest>
  }
}

extension BundleError {
  fileprivate static let otherTiles =
    "are not those that were written, as their tiles_hash tells: the bundle that has them was damaged, or another "
    + "program changed it"
  fileprivate static let otherTilesRemedy =
    "verify that bundle, and remove its metadata row tiles_hash if the change was meant"
}

extension BundleReader {
  /// Refuses tiles that are not those that were written: a change of the bundle would hide that with a new hash.
  ///
  /// - Throws: ``BundleError`` with `.malformed`.
  /// - Complexity: O(bytes); O(1) for a bundle without a hash.
  package func requireWrittenTiles() throws {
    if metadata[MetadataKey.tilesHash] != nil { try forEachWrittenTile { _, _ in } }
  }

  /// Passes all tiles to a closure as ``forEachTile(_:)`` does; at the end refuses them as ``requireWrittenTiles()``.
  func forEachWrittenTile(_ body: (TileID, UnsafeRawBufferPointer) throws -> Void) throws {
    // A tileset has no hash of its own: it checks its shards.
    guard metadata[MetadataKey.tilesHash] != nil else { return try forEachTileInOrder(body) }
    var hasher = TilesHash.Hasher(matrixSet: matrixSet)
    try forEachTile { tile, bytes in
      hasher.insert(tile, bytes)
      try body(tile, bytes)
    }
    try requireWritten(hasher.finalize())
  }

  /// - Parameter hash: of all tiles, as they are.
  func requireWritten(_ hash: TilesHash) throws {
    guard let stated = metadata[MetadataKey.tilesHash], TilesHash(stated) != hash else { return }
    throw BundleError(
      .malformed, path: path, "its tiles \(BundleError.otherTiles)", remedy: BundleError.otherTilesRemedy)
  }
}

/// The SHA-256 of a tile, in the order of ``TilesHash``.
private struct TileDigest: Comparable, BitwiseCopyable {
  private let zoom, column, rowFromSouth: UInt32
  private let words: SIMD4<UInt64>

  init(_ tile: TileID, _ digest: [UInt8], in matrixSet: TileMatrixSet) {
    let row = MBTilesRow.flipped(tile.row, matrixHeight: matrixSet[tile.zoom].matrixHeight)
    (zoom, column, rowFromSouth) = (UInt32(tile.zoom), UInt32(tile.column), UInt32(row))
    words = digest.withUnsafeBytes { $0.loadUnaligned(as: SIMD4<UInt64>.self) }
  }

  func tile(in matrixSet: TileMatrixSet) -> TileID {
    let height = matrixSet[Int(zoom)].matrixHeight
    return TileID(unchecked: Int(zoom), Int(column), MBTilesRow.flipped(Int(rowFromSouth), matrixHeight: height))
  }

  var digest: [UInt8] { withUnsafeBytes(of: words) { Array($0) } }

  static func < (a: Self, b: Self) -> Bool {
    (a.zoom, a.column, a.rowFromSouth) < (b.zoom, b.column, b.rowFromSouth)
  }
}
