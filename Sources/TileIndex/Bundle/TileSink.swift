import Support

/// A bundle that is being written, in any container: ``BundleWriter`` (MBTiles, GeoPackage), ``PMTilesWriter`` or
/// ``TileFolderWriter``; ``BundleFile/create(_:matrixSet:format:replacing:scheme:)`` picks one by the output's name.
///
/// Until ``finish(_:)`` the target is absent or unchanged. A sink that is discarded, or released unfinished, removes
/// its temporary files. Thread-safe; calls are serialised.
package protocol TileSink: AnyObject, Sendable {
  /// The target, as the caller named it.
  var path: String { get }
  var matrixSet: TileMatrixSet { get }
  /// What the bundle says its tiles are.
  var format: TileFormat { get }
  /// Further formats that tiles may have; empty for bundles of one format.
  var mixing: Set<TileFormat> { get }
  /// Tiles so far.
  var tileCount: Int { get }

  /// Adds a tile.
  ///
  /// - Throws: ``BundleError``: `.invalidContent` when the tile lies outside the grid or has another format; the sink
  ///   remains usable. `.writeFailed` when the disk is full or failing: the temporary files are then gone. A tile that
  ///   is put twice is refused by ``finish(_:)`` or, in a folder, here.
  func put(_ tile: TileID, _ data: UnsafeRawBufferPointer) throws

  /// True for a sink that looks for equal tiles by their ``ContentHash``, which another thread may compute.
  var usesHashes: Bool { get }

  /// True for a sink that keeps tiles by their Hilbert ids, and copies them once more if they come otherwise.
  var isOrderedByID: Bool { get }

  /// As ``put(_:_:)``, for a sink that ``usesHashes``.
  func put(_ tile: TileID, _ data: UnsafeRawBufferPointer, hash: UInt64) throws

  /// Sets the places of the bundle and replaces those of an earlier call.
  ///
  /// - Throws: ``BundleError``: `.invalidContent`.
  func write(places: [Place]) throws

  /// Completes the bundle and publishes it. Afterwards the sink is closed.
  ///
  /// - Throws: ``BundleError``: `.invalidContent` for a bundle without tiles or with metadata that cannot be stored,
  ///   `.exists` when the target has appeared meanwhile, `.writeFailed`. After an error the temporary files are gone
  ///   and the target is unchanged.
  func finish(_ metadata: SinkMetadata) throws -> BundleSummary

  /// Discards the bundle and removes the temporary files. No effect after ``finish(_:)``.
  func discard()
}

/// The metadata of a bundle to be written.
package enum SinkMetadata {
  /// Bounds are clipped to what tiles of every zoom cover; format and zooms are those of the tiles.
  case composed(BundleMetadata)
  /// The rows of another bundle, unchanged except for what the container requires.
  case rows([StoredMetadata.Entry])

  /// The rows for a finished set of tiles.
  ///
  /// - Throws: ``BundleError`` with `.invalidContent` when there are no tiles or a value may not be stored.
  func rows(coverage: TileCoverage, of sink: any TileSink) throws -> [StoredMetadata.Entry] {
    switch self {
    case .composed(let metadata):
      return try MetadataRows(
        metadata, coverage: coverage, matrixSet: sink.matrixSet, format: sink.format, mixing: sink.mixing,
        path: sink.path
      ).rows.map { StoredMetadata.Entry(name: $0.name, value: $0.value) }
    case .rows(let rows):
      guard coverage.count > 0 else { throw Self.noTiles(sink.path) }
      return rows
    }
  }

  /// For other tiles than those of the bundle that has these rows.
  var withoutTilesHash: SinkMetadata {
    switch self {
    case .composed(var metadata):
      metadata.tilesHash = nil
      return .composed(metadata)
    case .rows(let rows): return .rows(rows.filter { $0.name != MetadataKey.tilesHash })
    }
  }

  static func noTiles(_ path: String) -> BundleError {
    BundleError(
      .invalidContent, path: path, "not one tile was written, so there is no bundle",
      remedy: "check that the source has visible pixels inside the bounds and zooms asked for")
  }
}

/// What goes from one bundle into another: how many tiles, and of which formats where they may be mixed.
struct TileTally {
  private let isMixing: Bool
  private var found: Set<TileFormat> = []
  private let count: TileCount
  /// Nil for a sink of one format.
  var formats: Set<TileFormat>? { isMixing ? found : nil }

  init(_ sink: any TileSink, _ count: TileCount) { (isMixing, self.count) = (!sink.mixing.isEmpty, count) }

  mutating func insert(_ bytes: UnsafeRawBufferPointer) {
    if isMixing, let format = TileFormat(sniffing: bytes) { found.insert(format) }
    count.add()
  }
}

extension TileSink {
  package var mixing: Set<TileFormat> { [] }
  package var usesHashes: Bool { false }
  package var isOrderedByID: Bool { false }
  package func put(_ tile: TileID, _ data: UnsafeRawBufferPointer, hash: UInt64) throws { try put(tile, data) }

  /// Adds a tile.
  package func put(_ tile: TileID, _ data: [UInt8]) throws { try data.withUnsafeBytes { try put(tile, $0) } }

  /// Completes the bundle with metadata that follow from its tiles.
  package func finish(_ metadata: BundleMetadata) throws -> BundleSummary { try finish(.composed(metadata)) }

  /// Adds a tile of another bundle, as stored there.
  ///
  /// - Parameter hash: of the bytes, if it is known.
  /// - Throws: ``BundleError``: `.malformed`, naming that bundle, when it has a tile twice or in another format than
  ///   its first; `.damagedTile`, by its hash; write errors as ``put(_:_:)``.
  package func copy(
    _ tile: TileID, _ bytes: UnsafeRawBufferPointer, hash: UInt64? = nil, from bundle: any BundleReader
  ) throws {
    try bundle.requireUndamaged(tile, bytes, hash: hash)
    try put(copied: tile, bytes, hash: hash, from: bundle)
  }

  /// As ``copy(_:_:hash:from:)`` for bytes that were made of those of the bundle.
  func put(
    copied tile: TileID, _ bytes: UnsafeRawBufferPointer, hash: UInt64? = nil, from bundle: any BundleReader
  ) throws {
    do {
      if format == .pbf, !Gunzip.isGzip(bytes), accepts(bytes) {
        // MBTiles and our archives say that vector tiles are compressed, so all of them are.
        try put(tile, try packed(tile, bytes, of: bundle))
      } else if let hash {
        try put(tile, bytes, hash: hash)
      } else {
        try put(tile, bytes)
      }
    } catch let error as BundleError where error.code == .invalidContent {
      guard accepts(bytes) else {
        throw BundleError(
          .malformed, path: bundle.path, "tile \(tile) is not \(format.rawValue) like the first one",
          remedy: "verify it to find all such tiles", repair: .verify)
      }
      throw BundleError.repeated(tile, path: bundle.path)
    }
  }

  private func packed(
    _ tile: TileID, _ bytes: UnsafeRawBufferPointer, of bundle: any BundleReader
  ) throws -> [UInt8] {
    if let packed = Gzip.compress(Array(bytes)) { return packed }
    throw BundleError(
      .readFailed, path: bundle.path, "there is no memory to compress tile \(tile)", remedy: "free some memory")
  }

  /// As ``finish(_:)`` for tiles of other bundles.
  ///
  /// - Throws: ``BundleError``: also `.malformed`, naming one of them, when it has a tile twice.
  func finish(_ metadata: SinkMetadata, copyOf bundles: [any BundleReader]) throws -> BundleSummary {
    do {
      return try finish(metadata)
    } catch let error as BundleError {
      guard let tile = error.tilePutTwice else { throw error }
      for bundle in bundles where try bundle.rowCount(of: tile) > 1 {
        throw BundleError.repeated(tile, path: bundle.path)
      }
      throw error
    }
  }

  /// Refuses a tile outside the grid or of another format.
  func check(_ tile: TileID, _ data: UnsafeRawBufferPointer) throws {
    guard matrixSet.contains(tile) else {
      throw BundleError(.invalidContent, path: path, "tile \(tile) lies outside \(matrixSet.identifier)")
    }
    guard accepts(data) else {
      throw BundleError(.invalidContent, path: path, "the bytes of tile \(tile) are not \(format.rawValue)")
    }
  }

  /// True for the bytes of a tile of the right format.
  func accepts(_ data: UnsafeRawBufferPointer) -> Bool {
    guard let found = TileFormat(tile: data) else { return false }
    return found == format || mixing.contains(found)
  }

  /// Refuses places that cannot be stored.
  func check(_ places: [Place]) throws {
    for (index, place) in places.enumerated() {
      guard let fault = place.fault else { continue }
      throw BundleError(.invalidContent, path: path, "place \(index + 1), \"\(place.name.prefix(40))\", \(fault)")
    }
  }
}

/// The contents of a finished bundle.
public struct BundleSummary: Hashable, Sendable, Codable {
  /// Tiles, as readers count them.
  public let tiles: Int
  /// Stored blobs; equal tiles share one.
  public let distinctTiles: Int
  /// Size of the file in bytes.
  public let bytes: Int
  /// The coarsest zoom with tiles.
  public let minZoom: Int
  /// The finest zoom with tiles.
  public let maxZoom: Int
  /// What the bundles that were copied have which is no tile.
  package internal(set) var leftOut = LeftOut()
  /// Places outside the area of an extract.
  package internal(set) var leftOutPlaces = 0
}

/// What bundles have which is no tile, and is not copied.
package struct LeftOut: Hashable, Sendable, Codable {
  /// Rows of tables: without bytes or whole numbers, or outside the grid.
  package internal(set) var rows = 0
  /// Files of images in folders: their names are no rows, they lie outside the grid, or a tile has another file.
  package internal(set) var files = 0

  /// Adds what reading all of a bundle left out.
  ///
  /// - Parameter read: the tiles that this gave.
  mutating func note(_ bundle: any BundleReader, read: Int) {
    rows += bundle.leftOutRows(read: read)
    files += bundle.leftOutFiles(read: read)
  }
}

extension BundleReader {
  /// How often a bundle has a tile; more than once in a table without a unique index.
  fileprivate func rowCount(of tile: TileID) throws -> Int {
    var count = 0
    let range = TileRange(zoom: tile.zoom, columns: tile.column...tile.column, rows: tile.row...tile.row)
    try forEachTile(in: range) { _, _ in count += 1 }
    return count
  }
}
