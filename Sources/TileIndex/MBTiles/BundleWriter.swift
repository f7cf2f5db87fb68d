import Support
import Synchronization

/// Writes a new MBTiles 1.3 bundle, or another that is an SQLite database: `put` for every tile, in any order, then
/// ``finish(_:)``.
///
/// 1. Tiles go into a temporary file beside the target. Equal tiles share their bytes.
/// 2. ``finish(_:)`` adds the metadata, syncs the file and renames it to the target.
///
/// Until then the target is absent or unchanged. A writer that is discarded, or released unfinished, removes its
/// temporary file.
///
/// The file depends only on the sequence of tiles and the metadata: equal sequences give equal bytes.
/// Thread-safe; calls are serialised.
public final class BundleWriter: Sendable {
  private enum State: Sendable {
    case open(any TileTables)
    case failed(BundleError)
    case closed
  }

  /// The target, as the caller named it.
  public let path: String
  /// The grid of the tiles.
  public let matrixSet: TileMatrixSet
  public let format: TileFormat
  package let mixing: Set<TileFormat>
  private let file: OutputFile
  private let state: Mutex<State>

  /// Starts a bundle. Bundles of grids other than WebMercatorQuad are marked so that no Mercator reader shows them
  /// (docs/reference/bundle-format.md).
  ///
  /// - Parameters:
  ///   - path: the file to write; its folder must exist.
  ///   - format: the format of every tile, or what the bundle says it is where it mixes them.
  ///   - replacing: replace an existing file when ``finish(_:)`` succeeds.
  ///   - mixing: further formats that tiles may have.
  /// - Throws: ``BundleError`` with `.exists`, `.busy` (unmerged changes beside the target) or `.writeFailed`.
  public convenience init(
    path: String, matrixSet: TileMatrixSet, format: TileFormat, replacing: Bool = false, mixing: Set<TileFormat> = []
  ) throws {
    try self.init(
      path: path, matrixSet: matrixSet, format: format, replacing: replacing, mixing: mixing, pageBytes: nil)
  }

  /// The largest page size that is chosen.
  package static let pageBytesMax = PagePacking.pageBytes.last!

  /// - Parameters:
  ///   - pageBytes: for measuring page sizes: powers of 2 from 512 to 65536. Nil chooses one by the first tiles.
  ///   - hashes: whether a table gets a hash of each image (``TileHashes``).
  package convenience init(
    path: String, matrixSet: TileMatrixSet, format: TileFormat, replacing: Bool, mixing: Set<TileFormat> = [],
    pageBytes: Int?, hashes: Bool = false
  ) throws {
    try self.init(path: path, matrixSet: matrixSet, format: format, replacing: replacing, mixing: mixing) {
      BundleTables(path: $0, target: path, matrixSet: matrixSet, pageBytes: pageBytes, hashes: hashes)
    }
  }

  /// - Parameter tables: opens the tables in the temporary file.
  init(
    path: String, matrixSet: TileMatrixSet, format: TileFormat, replacing: Bool, mixing: Set<TileFormat>,
    tables: (String) throws -> any TileTables
  ) throws {
    self.path = path
    self.matrixSet = matrixSet
    self.format = format
    self.mixing = mixing
    file = try OutputFile(target: path, replacing: replacing)
    do {
      state = Mutex(.open(try tables(file.path)))
    } catch {
      file.remove()
      throw Self.writeFailure(error, path: path) ?? error
    }
  }

  deinit { discard() }

  /// Tiles so far.
  public var tileCount: Int { tables { $0.coverage.count } ?? 0 }
  /// Stored blobs so far.
  package var distinctTileCount: Int { tables { $0.imageCount } ?? 0 }

  /// Adds a tile.
  ///
  /// - Throws: ``BundleError``: `.invalidContent` when the tile lies outside the grid or has another format; the writer
  ///   remains usable. `.writeFailed` when the disk is full or failing; the temporary file is then gone and every later
  ///   call fails alike. A tile that is put twice is refused by ``finish(_:)``.
  public func put(_ tile: TileID, _ data: UnsafeRawBufferPointer) throws {
    try put(tile, data, knownHash: nil)
  }

  private func put(_ tile: TileID, _ data: UnsafeRawBufferPointer, knownHash hash: UInt64?) throws {
    try check(tile, data)
    try withTables { try $0.insert(tile, data, hash: hash) }
  }

  /// Adds a tile.
  public func put(_ tile: TileID, _ data: [UInt8]) throws { try data.withUnsafeBytes { try put(tile, $0) } }

  /// Sets the places of the bundle and replaces those of an earlier call. ``finish(_:)`` writes them, by falling
  /// importance.
  ///
  /// - Throws: ``BundleError``: `.invalidContent` when a place is invalid, or when this SQLite has no FTS5.
  /// - Complexity: O(places log places); they are held in memory until the end.
  public func write(places: [Place]) throws {
    if let (index, fault) = places.enumerated().lazy.compactMap({ index, place in place.fault.map { (index, $0) } })
      .first
    {
      throw BundleError(
        .invalidContent, path: path, "place \(index + 1), \"\(places[index].name.prefix(40))\", \(fault)")
    }
    let sorted = places.sorted(by: Place.precedes)
    try withTables { tables in
      guard try type(of: tables).canStorePlaces() else {
        throw BundleError(
          .invalidContent, path: path, "this SQLite cannot index places: it was built without FTS5",
          remedy: "use a libsqlite3 with SQLITE_ENABLE_FTS5, as the systems' own have, or leave the places out")
      }
      tables.places = sorted
    }
  }

  /// Completes the bundle and renames it to its target. Afterwards the writer is closed.
  ///
  /// Bounds are clipped to what tiles of every zoom cover; minzoom and maxzoom are those of the tiles.
  /// - Throws: ``BundleError``: `.invalidContent` for a bundle without tiles, with a tile that was put twice, or with
  ///   metadata that cannot be stored, `.exists` when the target has appeared meanwhile, `.writeFailed`. After an error
  ///   the temporary file is gone and the target is unchanged.
  public func finish(_ metadata: BundleMetadata) throws -> BundleSummary {
    try finish(rows: { coverage in
      try MetadataRows(
        metadata, coverage: coverage, matrixSet: matrixSet, format: format, mixing: mixing, path: path
      ).rows
    })
  }

  /// Completes the bundle with the given metadata rows, and renames it if the finished file passes an inspection.
  ///
  /// - Parameters:
  ///   - rows: the rows of the metadata table for the bundle's coverage.
  ///   - inspect: gets the path of the closed temporary file before it is synced; throwing discards it.
  func finish(
    rows: (TileCoverage) throws -> [(name: String, value: String)], inspect: (String) throws -> Void = { _ in }
  ) throws -> BundleSummary {
    do {
      let (coverage, images) = try withTables { tables in
        try tables.finish(try rows(tables.coverage))
        return (tables.coverage, tables.imageCount)
      }
      // Closes the connection, which must not outlive the temporary file name.
      state.withLock { $0 = .closed }
      try inspect(file.path)
      let bytes = FileSystem.size(file.path)
      try file.commit()
      let zooms = coverage.zooms ?? 0...0
      return BundleSummary(
        tiles: coverage.count, distinctTiles: images, bytes: bytes, minZoom: zooms.lowerBound,
        maxZoom: zooms.upperBound)
    } catch {
      state.withLock { $0 = .closed }
      file.remove()
      throw error
    }
  }

  /// Discards the bundle and removes the temporary file. No effect after ``finish(_:)``.
  public func discard() {
    state.withLock { state in
      guard case .open = state else { return }
      state = .closed
      file.remove()
    }
  }

  private func tables<T>(_ body: (any TileTables) -> T) -> T? {
    state.withLock { state in
      guard case .open(let tables) = state else { return nil }
      return body(tables)
    }
  }

  /// Runs a step on the open tables. An error of SQLite or the system ends the writer; others leave it usable.
  private func withTables<T>(_ body: (any TileTables) throws -> T) throws -> T {
    try state.withLock { state in
      switch state {
      case .failed(let error): throw error
      case .closed:
        throw BundleError(.writeFailed, path: path, "the bundle was already finished or discarded")
      case .open(let tables):
        do {
          return try body(tables)
        } catch {
          guard let failure = Self.writeFailure(error, path: path) else { throw error }
          state = .failed(failure)
          file.remove()
          throw failure
        }
      }
    }
  }

  /// What an error of SQLite or the system means for the bundle; nil for other errors.
  private static func writeFailure(_ error: any Error, path: String) -> BundleError? {
    switch error {
    case let error as SQLiteError where error.isDiskFull: OutputFile.diskFull(path)
    case let error as SQLiteError:
      BundleError(
        .writeFailed, path: path, "the bundle could not be written: \(error)",
        remedy: "check the disk and the permissions of the folder")
    case let error as FileSystem.SystemError: OutputFile.writeFailed(path, error)
    default: nil
    }
  }
}

extension BundleWriter: TileSink {
  package var usesHashes: Bool { tables { type(of: $0).usesHashes } ?? false }

  package func put(_ tile: TileID, _ data: UnsafeRawBufferPointer, hash: UInt64) throws {
    try put(tile, data, knownHash: hash)
  }

  package func finish(_ metadata: SinkMetadata) throws -> BundleSummary {
    switch metadata {
    case .composed(let metadata): try finish(metadata)
    case .rows(let rows): try finish(rows: { _ in rows.map { (name: $0.name, value: $0.value) } })
    }
  }
}
