import Support
import Synchronization

/// Writes a new MBTiles 1.3 bundle: ``put(_:_:)`` for every tile, in any order, then ``finish(_:)``.
///
/// 1. Tiles go into a temporary file beside the target. 2. A tile whose bytes are already stored shares them. 3. ``finish(_:)`` adds the
/// metadata, puts everything on the disk and gives the file its name. Until then nothing lies under the target's name, or what lay there before;
/// a writer that is discarded, or let go unfinished, takes its temporary file along.
///
/// The file depends on the sequence of tiles and the metadata alone: equal sequences give equal bytes.
/// May be used from several threads; calls wait for each other.
public final class BundleWriter: Sendable {
  private enum State: Sendable {
    case open(BundleTables)
    case failed(BundleError)
    case closed
  }

  /// The target, as the caller named it.
  public let path: String
  public let matrixSet: TileMatrixSet
  public let format: TileFormat
  private let file: OutputFile
  private let state: Mutex<State>

  /// Starts a bundle. Bundles of other grids than WebMercatorQuad are marked so that no Mercator reader shows them (docs/bundle-format.md).
  ///
  /// - Parameters:
  ///   - path: the file to write; its folder must exist.
  ///   - format: what every tile's bytes will be.
  ///   - replacing: take the place of an existing file, at the moment of ``finish(_:)``.
  /// - Throws: ``BundleError`` with `.exists`, `.busy` (unmerged changes beside the target) or `.writeFailed`.
  public convenience init(
    path: String, matrixSet: TileMatrixSet, format: TileFormat, replacing: Bool = false
  ) throws {
    try self.init(
      path: path, matrixSet: matrixSet, format: format, replacing: replacing, pageBytes: BundleTables.pageBytes)
  }

  /// For measuring page sizes: powers of 2 from 512 to 65536.
  package init(
    path: String, matrixSet: TileMatrixSet, format: TileFormat, replacing: Bool, pageBytes: Int
  ) throws {
    self.path = path
    self.matrixSet = matrixSet
    self.format = format
    file = try OutputFile(target: path, replacing: replacing)
    do {
      state = Mutex(.open(try BundleTables(path: file.path, matrixSet: matrixSet, pageBytes: pageBytes)))
    } catch {
      file.remove()
      throw Self.bundleError(error, path: path)
    }
  }

  deinit { discard() }

  /// Tiles so far.
  public var tileCount: Int { tables { $0.coverage.count } ?? 0 }
  /// Stored blobs so far.
  public var distinctTileCount: Int { tables { $0.imageCount } ?? 0 }
  /// Bytes of the stored blobs so far, without the tables around them.
  public var distinctTileBytes: Int { tables { $0.imageBytes } ?? 0 }

  /// Adds a tile.
  ///
  /// - Throws: ``BundleError``: `.invalidContent` when the tile lies outside the grid, was put before, or its bytes are not of the bundle's format, after
  ///   which the writer goes on; `.writeFailed` when the disk is full or broken, after which the temporary file is gone and every call fails alike.
  public func put(_ tile: TileID, _ data: UnsafeRawBufferPointer) throws {
    guard matrixSet.contains(tile) else {
      throw BundleError(.invalidContent, path: path, "tile \(tile) lies outside \(matrixSet.identifier)")
    }
    guard TileFormat(sniffing: data) == format else {
      throw BundleError(.invalidContent, path: path, "the bytes of tile \(tile) are not \(format.rawValue)")
    }
    let isNew = try withTables { try $0.insert(tile, data) }
    guard isNew else { throw BundleError(.invalidContent, path: path, "tile \(tile) was put twice") }
  }

  /// Adds a tile.
  public func put(_ tile: TileID, _ data: [UInt8]) throws {
    try data.withUnsafeBytes { try put(tile, $0) }
  }

  /// Gives the bundle an index of places, instead of one that it was given before. They are written by ``finish(_:)``, the most important first.
  ///
  /// - Throws: ``BundleError``: `.invalidContent` when a place has no name or lies nowhere, or when this SQLite has no FTS5.
  /// - Complexity: O(places log places); they are held until the end.
  public func write(places: [Place]) throws {
    if let (index, fault) = places.enumerated().lazy.compactMap({ index, place in place.fault.map { (index, $0) } })
      .first
    {
      throw BundleError(
        .invalidContent, path: path, "place \(index + 1), \"\(places[index].name.prefix(40))\", \(fault)")
    }
    let sorted = places.sorted(by: Place.precedes)
    try withTables { tables in
      guard try tables.canIndexPlaces() else {
        throw BundleError(
          .invalidContent, path: path, "this SQLite cannot index places: it was built without FTS5",
          remedy: "use a libsqlite3 with SQLITE_ENABLE_FTS5, as the systems' own have, or leave the places out")
      }
      tables.places = sorted
    }
  }

  /// Completes the bundle and gives it its name. Afterwards the writer is closed.
  ///
  /// Bounds are cut to what tiles of every zoom cover; minzoom and maxzoom are those of the tiles.
  /// - Throws: ``BundleError``: `.invalidContent` for a bundle without tiles or metadata that may not be stored, `.exists` when the target has appeared
  ///   meanwhile, `.writeFailed`. Whatever is thrown, the temporary file is gone and the target is as it was.
  public func finish(_ metadata: BundleMetadata) throws -> BundleSummary {
    try finish(rows: { coverage in
      try MetadataRows(metadata, coverage: coverage, matrixSet: matrixSet, format: format, path: path).rows
    })
  }

  /// Completes the bundle with metadata rows as they are, and gives it its name if a look at the finished file holds.
  ///
  /// - Parameters:
  ///   - rows: the rows of the metadata table, by what the bundle's tiles are.
  ///   - inspect: gets the path of the temporary file, closed and not yet on the disk; what it throws ends the writer.
  func finish(
    rows: (TileCoverage) throws -> [(name: String, value: String)], inspect: (String) throws -> Void = { _ in }
  ) throws -> BundleSummary {
    do {
      let (coverage, images) = try withTables { tables in
        try tables.finish(try rows(tables.coverage))
        return (tables.coverage, tables.imageCount)
      }
      // Closes the connection, which must not outlive the temporary name.
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

  /// Gives up: removes the temporary file. Without effect after ``finish(_:)``.
  public func discard() {
    state.withLock { state in
      guard case .open = state else { return }
      state = .closed
      file.remove()
    }
  }

  private func tables<T>(_ body: (BundleTables) -> T) -> T? {
    state.withLock { state in
      guard case .open(let tables) = state else { return nil }
      return body(tables)
    }
  }

  /// Runs a step on the open tables. A failure of the disk ends the writer; other errors leave it as it was.
  private func withTables<T>(_ body: (BundleTables) throws -> T) throws -> T {
    try state.withLock { state in
      switch state {
      case .failed(let error): throw error
      case .closed:
        throw BundleError(.writeFailed, path: path, "the bundle was already finished or discarded")
      case .open(let tables):
        do {
          return try body(tables)
        } catch let error as SQLiteError {
          let failure = Self.bundleError(error, path: path)
          state = .failed(failure)
          file.remove()
          throw failure
        }
      }
    }
  }

  private static func bundleError(_ error: any Error, path: String) -> any Error {
    guard let error = error as? SQLiteError else { return error }
    return bundleError(error, path: path)
  }

  private static func bundleError(_ error: SQLiteError, path: String) -> BundleError {
    if error.isDiskFull { return OutputFile.diskFull(path) }
    return BundleError(.writeFailed, path: path, "the bundle could not be written: \(error)")
  }
}
