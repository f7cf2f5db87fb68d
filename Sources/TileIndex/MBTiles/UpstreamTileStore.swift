import CSQLite
import Support
import Synchronization

/// An MBTiles bundle that is read while tiles are added one by one, as they are fetched from elsewhere. Fetched tiles
/// stay available without a network.
///
/// It is an ordinary MBTiles file (a flat `tiles` table). A second table, `upstream`, records when each tile was
/// fetched, until when it is fresh, and which tiles are known not to exist. A write-ahead log makes every tile complete
/// or absent if the process is killed; after a power failure the last tiles may be missing.
///
/// For any number of threads, and several processes at a time.
package final class UpstreamTileStore: @unchecked Sendable {
  /// A tile's state besides its bytes. Times are seconds since 1970.
  package struct State: Hashable, Sendable {
    package var fetched: Int
    /// After this it must be revalidated.
    package var expires: Int
    /// The server's entity tag (RFC 9110, section 8.8); empty without one.
    package var entityTag: String
    package var lastModified: String

    package init(fetched: Int, expires: Int, entityTag: String = "", lastModified: String = "") {
      self.fetched = fetched
      self.expires = expires
      self.entityTag = entityTag
      self.lastModified = lastModified
    }
  }

  /// A stored tile, or the stored fact that it does not exist.
  package struct Found: Hashable, Sendable {
    /// Nil: there is no such tile.
    package var bytes: [UInt8]?
    package var state: State
  }

  /// The tile's archive is no longer the one whose tiles are stored.
  package struct ArchiveReplaced: Error {}

  /// What happens when the file has its maximum size.
  package enum WhenFull: String, Sendable, CaseIterable {
    /// The least recently used tiles are evicted.
    case evict
    /// No more tiles are stored.
    case stop
  }

  package let path: String
  private let byteCountMax: Int
  private let whenFull: WhenFull
  private let state: Mutex<Void> = Mutex(())
  // Guarded by `state`.
  private let connection: SQLiteConnection
  private let statements: Statements
  private var storesSinceLook = 0
  /// When tiles were used since that was last recorded.
  private var uses: [TileID: Double] = [:]
  // For callers that must not block on a disk.
  private let byteCountSeen = Atomic(0)
  private let evictedCount = Atomic(0)

  private struct Statements {
    let find, use, storeTile, storeState, refresh, deleteTile, archive: SQLiteStatement
  }

  /// Opens or creates the file.
  ///
  /// - Parameters:
  ///   - metadata: rows of the metadata table; replace existing rows of the same name.
  ///   - byteCountMax: the file's maximum size in bytes, exceeded by a few tiles at most.
  /// - Throws: ``BundleError``: `.exists` for a bundle that was made otherwise and must not be changed, `.malformed`,
  ///   `.writeFailed`, `.busy`.
  package init(
    path: String, metadata: [StoredMetadata.Entry], byteCountMax: Int, whenFull: WhenFull = .evict
  ) throws {
    self.path = path
    self.byteCountMax = byteCountMax
    self.whenFull = whenFull
    do {
      connection = try SQLiteConnection(
        uri: SQLiteConnection.uri(path: path, parameters: []), flags: SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE)
      connection.setBusyTimeout(milliseconds: 5000)
      try connection.execute("PRAGMA trusted_schema = OFF")
      // The file may be anybody's, as any bundle.
      connection.setLimits(BundleAccess.limits(fileBytes: max(BundleAccess.budgetBytes(path), byteCountMax)))
      try UpstreamTileSchema.prepare(connection, metadata, path: path)
      let place = "zoom_level = ?1 AND tile_column = ?2 AND tile_row = ?3"
      statements = Statements(
        find: try connection.prepare(
          """
          SELECT fetched, expires, etag, modified, used, tile_data \
          FROM upstream LEFT JOIN tiles USING (zoom_level, tile_column, tile_row) WHERE \(place)
          """),
        use: try connection.prepare("UPDATE upstream SET used = ?4 WHERE \(place)"),
        storeTile: try connection.prepare("INSERT OR REPLACE INTO tiles VALUES (?1, ?2, ?3, ?4)"),
        storeState: try connection.prepare("INSERT OR REPLACE INTO upstream VALUES (?1, ?2, ?3, ?4, ?5, ?4, ?6, ?7)"),
        refresh: try connection.prepare("UPDATE upstream SET fetched = ?4, expires = ?5, used = ?4 WHERE \(place)"),
        deleteTile: try connection.prepare("DELETE FROM tiles WHERE \(place)"),
        archive: try connection.prepare("SELECT identity FROM upstream_archive"))
      byteCountSeen.store(try UpstreamTileSchema.byteCount(connection), ordering: .relaxed)
    } catch let error as SQLiteError {
      throw Self.failure(error, path)
    }
  }

  /// Tiles evicted since the file was opened.
  package var evicted: Int { evictedCount.load(ordering: .relaxed) }

  /// Bytes of the file in use, without its log; correct to a few tiles.
  package var byteCount: Int { byteCountSeen.load(ordering: .relaxed) }

  /// A stored tile; nil when nothing is known of it.
  ///
  /// - Parameter now: seconds since 1970; the day of a tile's last use is recorded.
  /// - Complexity: O(log tiles).
  package func find(_ tile: TileID, now: Int) throws -> Found? {
    try writing {
      let find = statements.find
      Self.bind(tile, find)
      defer { find.reset() }
      guard try find.step() else { return nil }
      let known = State(
        fetched: find.int(0), expires: find.int(1), entityTag: find.text(2), lastModified: find.text(3))
      let bytes = find.bytes(5)
      let found = Found(bytes: bytes.isEmpty ? nil : Array(bytes), state: known)
      let isLongAgo = abs(now - find.int(4)) >= Self.useSeconds
      find.reset()
      // Uses of one second in their order.
      uses[tile] = Double(now) + Double(uses.count) * 1e-6
      // A full disk must not prevent reading.
      if isLongAgo || uses.count >= Self.usesMax { try? recordUses() }
      return found
    }
  }

  /// Stores a tile, or the fact that it does not exist. An empty tile does not exist.
  ///
  /// - Parameter archive: the archive of the tile; nil for tiles that a server provides one by one.
  /// - Returns: false when the bundle is full and ``WhenFull/stop`` was chosen.
  /// - Throws: ``ArchiveReplaced`` when the stored tiles are of another archive; `BundleError`.
  package func store(_ tile: TileID, _ bytes: [UInt8]?, _ known: State, of archive: String? = nil) throws -> Bool {
    try writing {
      let size = (bytes?.count ?? 0) + Self.rowBytes
      guard try makeRoom(size) else { return false }
      try connection.transaction(.immediate) {
        if let archive, try keptArchive() != archive { throw ArchiveReplaced() }
        if let bytes, !bytes.isEmpty {
          try bytes.withUnsafeBytes { raw in
            Self.bind(tile, statements.storeTile)
            statements.storeTile.bind(4, uncopied: raw)
            try statements.storeTile.run()
          }
        } else {
          Self.bind(tile, statements.deleteTile)
          try statements.deleteTile.run()
        }
        Self.bind(tile, statements.storeState)
        statements.storeState.bind(4, known.fetched)
        statements.storeState.bind(5, known.expires)
        statements.storeState.bind(6, known.entityTag)
        statements.storeState.bind(7, known.lastModified)
        try statements.storeState.run()
      }
      byteCountSeen.add(size, ordering: .relaxed)
      return true
    }
  }

  /// Records that a tile was found unchanged.
  package func refresh(_ tile: TileID, fetched: Int, expires: Int) throws {
    try writing {
      Self.bind(tile, statements.refresh)
      statements.refresh.bind(4, fetched)
      statements.refresh.bind(5, expires)
      try statements.refresh.run()
    }
  }

  /// All rows of the metadata.
  ///
  /// - Throws: `BundleError` with `.malformed` for more than any bundle may have.
  package func metadata() throws -> [StoredMetadata.Entry] {
    try writing { try MetadataLimits.rows(of: "metadata ORDER BY rowid", path: path, connection).entries }
  }

  /// Replaces all rows of the metadata.
  package func setMetadata(_ entries: [StoredMetadata.Entry]) throws {
    try writing {
      try connection.transaction(.immediate) {
        try connection.execute("DELETE FROM metadata")
        try UpstreamTileSchema.write(entries, connection)
      }
    }
  }

  /// Sets the archive of the tiles, and removes the tiles of any other in the same transaction: a bundle never has
  /// tiles of two archives, even if the process ends in between or another process fills the same bundle.
  ///
  /// - Parameter identity: identifies a state of the archive.
  /// - Returns: true when the bundle had tiles of another archive, or of a server.
  package func adopt(archive identity: String) throws -> Bool {
    try writing {
      if try keptArchive() == identity { return false }
      let isOther = try connection.transaction(.immediate) {
        let kept = try keptArchive()
        if kept == identity { return false }
        let isOther = try kept != nil || connection.prepare("SELECT 1 FROM upstream LIMIT 1").step()
        if isOther { for table in ["tiles", "upstream"] { try connection.execute("DELETE FROM \(table)") } }
        try connection.execute("DELETE FROM upstream_archive")
        let insert = try connection.prepare("INSERT INTO upstream_archive VALUES (?1)")
        insert.bind(1, identity)
        try insert.run()
        return isOther
      }
      byteCountSeen.store(try UpstreamTileSchema.byteCount(connection), ordering: .relaxed)
      return isOther
    }
  }

  // MARK: - Statements, room and errors

  /// The last use of a tile is recorded after a day, or before tiles are evicted, so that most reads do not write.
  private static let useSeconds = 86_400
  private static let usesMax = 4096
  /// Bytes for a tile besides its own: two rows and an index entry.
  private static let rowBytes = 120

  private static func bind(_ tile: TileID, _ statement: SQLiteStatement) {
    statement.bind(1, tile.zoom)
    statement.bind(2, tile.column)
    statement.bind(3, MBTilesRow.flipped(tile.row, matrixHeight: 1 << tile.zoom))
  }

  private func recordUses() throws {
    guard !uses.isEmpty else { return }
    try connection.transaction(.immediate) {
      for (tile, time) in uses {
        Self.bind(tile, statements.use)
        statements.use.bind(4, time)
        try statements.use.run()
      }
    }
    uses = [:]
  }

  private func keptArchive() throws -> String? {
    defer { statements.archive.reset() }
    return try statements.archive.step() ? statements.archive.optionalText(0) : nil
  }

  private func writing<Result>(_ body: () throws -> Result) throws -> Result {
    try state.withLock { _ in
      do {
        return try body()
      } catch let error as SQLiteError {
        throw Self.failure(error, path)
      }
    }
  }

  private func makeRoom(_ size: Int) throws -> Bool {
    func look() throws { byteCountSeen.store(try UpstreamTileSchema.byteCount(connection), ordering: .relaxed) }
    storesSinceLook += 1
    // Between two counts, adding up the stored bytes is accurate enough.
    if storesSinceLook >= 64 || byteCount + size > byteCountMax {
      try look()
      storesSinceLook = 0
    }
    guard byteCount + size > byteCountMax else { return true }
    guard whenFull == .evict, size <= byteCountMax / 4 else { return false }
    try recordUses()
    let target = max(byteCountMax - max(byteCountMax / 16, 4 * size), 0)
    let count = try UpstreamTileSchema.evict(connection, downTo: target)
    evictedCount.add(count, ordering: .relaxed)
    try look()
    return byteCount + size <= byteCountMax
  }

  private static func failure(_ error: SQLiteError, _ path: String) -> any Error {
    if error.isInterrupted || error.isOverBudget || error.isTooBig {
      return BundleAccess.bundleError(error, path: path)
    }
    if error.isDiskFull {
      return BundleError(
        .writeFailed, path: path, "the disk is full", remedy: "free space, or set a smaller fileSize")
    }
    let systemError = FileSystem.SystemError(number: error.systemError)
    if systemError.isOutOfDescriptors { return BundleError.unopened(systemError, path: path) }
    switch error.primary {
    case SQLITE_CANTOPEN, SQLITE_READONLY, SQLITE_PERM, SQLITE_IOERR:
      return BundleError(
        .writeFailed, path: path, "cannot be written: \(error)", remedy: "check folder, disk and permissions")
    case SQLITE_CORRUPT, SQLITE_NOTADB:
      return BundleError(
        .malformed, path: path, "is damaged: \(error)", remedy: "move it away; it is then filled anew")
    case SQLITE_BUSY, SQLITE_LOCKED:
      return BundleError(.busy, path: path, "another program is writing it", remedy: "end that program")
    default: return BundleError(.writeFailed, path: path, "could not be used: \(error)")
    }
  }
}
