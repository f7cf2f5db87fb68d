import Support
import Synchronization

/// Writes a new PMTiles v3 archive: `put` for every tile, in any order, then ``finish(_:)``.
///
/// 1. Tiles go into a temporary file beside the target, behind room for header and root directory. Equal tiles share
///    their bytes. A directory entry of 24 bytes for each tile stays in memory.
/// 2. ``finish(_:)`` sorts the entries. Unless the tiles came in the order of their ids, it copies them in that order
///    into a second temporary file (``PMTilesLayout``), so that the archive is clustered.
/// 3. Metadata and leaf directories follow the tiles; header and root directory go into the room before them. The file
///    is synced and renamed to the target.
///
/// The archive depends only on the tiles and the metadata. Thread-safe; calls are serialised.
package final class PMTilesWriter: TileSink {
  package let path: String
  /// PMTiles has no other grid.
  package let matrixSet: TileMatrixSet = .webMercatorQuad
  package let format: TileFormat
  package let mixing: Set<TileFormat>
  private let file: OutputFile
  private let replacing: Bool
  private let state: Mutex<PMTilesSpool?>

  /// - Throws: ``BundleError``: `.exists`, `.writeFailed`.
  package init(
    path: String, format: TileFormat, replacing: Bool = false, mixing: Set<TileFormat> = []
  ) throws {
    self.path = path
    self.format = format
    self.mixing = mixing
    self.replacing = replacing
    file = try OutputFile(target: path, replacing: replacing)
    do {
      state = Mutex(try PMTilesSpool(file.path))
    } catch {
      file.remove()
      throw OutputFile.failure(error, path)
    }
  }

  deinit { discard() }

  package var tileCount: Int { state.withLock { $0?.entries.count ?? 0 } }

  package func put(_ tile: TileID, _ data: UnsafeRawBufferPointer) throws {
    try put(tile, data, hash: ContentHash.hash(data))
  }

  package var usesHashes: Bool { true }
  package var isOrderedByID: Bool { true }

  package func put(_ tile: TileID, _ data: UnsafeRawBufferPointer, hash: UInt64) throws {
    try check(tile, data)
    try withSpool { try $0.insert(tile, data, hash: hash) }
  }

  package func write(places: [Place]) throws {
    try check(places)
    try withSpool { $0.places = places.sorted(by: Place.precedes) }
  }

  package func finish(_ metadata: SinkMetadata) throws -> BundleSummary {
    defer { discard() }
    return try withSpool { spool in
      try spool.sort(path: path)
      let rows = try metadata.rows(coverage: spool.coverage, of: self)
      let document = try PMTilesMetadata.document(rows, places: spool.places, path: path)
      guard let zooms = spool.coverage.zooms else { throw SinkMetadata.noTiles(path) }
      var entries = spool.takeEntries()
      let layout = PMTilesLayout(entries: entries)
      // Of the two temporary files the last one is published.
      var output = file
      var archive = spool.file
      if !layout.isClustered {
        output = try OutputFile(target: path, replacing: replacing)
        archive = try SpoolFile(output.path, from: PMTilesSpool.headBytes)
      }
      do {
        try layout.cluster(&entries, from: spool.file, into: archive)
        let summary = try Self.complete(
          archive, &entries, rows: rows, document: document, coverage: spool.coverage,
          format: StoredMetadata(rows).format ?? format, path: path)
        try archive.flush()
        try output.commit()
        return BundleSummary(
          tiles: spool.coverage.count, distinctTiles: summary.contents, bytes: summary.bytes, minZoom: zooms.lowerBound,
          maxZoom: zooms.upperBound)
      } catch {
        output.remove()
        throw error
      }
    }
  }

  package func discard() {
    state.withLock { state in
      state = nil
      file.remove()
    }
  }

  /// Writes everything but the tiles.
  private static func complete(
    _ archive: SpoolFile, _ entries: inout [PMTilesDirectory.Entry], rows: [StoredMetadata.Entry], document: [UInt8],
    coverage: TileCoverage, format: TileFormat, path: String
  ) throws -> (contents: Int, bytes: Int) {
    let tileData = PMTilesHeader.Section(
      offset: PMTilesSpool.headBytes, count: archive.end - PMTilesSpool.headBytes)
    let contents = PMTilesLayout.contentCount(entries)
    PMTilesLayout.join(&entries)
    let tree = try PMTilesTree(entries, rootBytesMax: PMTilesSpool.headBytes - PMTilesHeader.byteCount)
    let packed = try PMTilesTree.packed(document)
    let metadata = PMTilesHeader.Section(offset: archive.end, count: packed.count)
    try archive.append(packed)
    let leaves = PMTilesHeader.Section(offset: archive.end, count: tree.leaves.count)
    try archive.append(tree.leaves)
    let header = PMTilesHeader(
      root: PMTilesHeader.Section(offset: PMTilesHeader.byteCount, count: tree.root.count), metadata: metadata,
      leaves: leaves, tileData: tileData,
      counts: PMTilesHeader.Counts(
        tiles: UInt64(coverage.count), entries: UInt64(entries.count), contents: UInt64(contents)),
      format: format, coverage: coverage, metadata: StoredMetadata(rows))
    let head = header.bytes + tree.root
    try archive.overwrite(head + [UInt8](repeating: 0, count: PMTilesSpool.headBytes - head.count), at: 0)
    return (contents, archive.end)
  }

  /// Runs a step. A failed write ends the writer; other errors leave it usable.
  private func withSpool<T>(_ body: (PMTilesSpool) throws -> T) throws -> T {
    try state.withLock { state in
      guard let spool = state else {
        throw BundleError(.writeFailed, path: path, "the bundle was already finished or discarded")
      }
      do {
        return try body(spool)
      } catch let error as FileSystem.SystemError {
        state = nil
        file.remove()
        throw OutputFile.failure(error, path)
      }
    }
  }
}

/// The tiles of an archive that is being written. Unchecked, because the writer uses it only under its mutex.
final class PMTilesSpool: @unchecked Sendable {
  /// Room for header and root directory, which readers fetch in one request.
  static let headBytes = 16_384

  let file: SpoolFile
  /// In the order of `put` until they are sorted; every run is one tile long.
  private(set) var entries: [PMTilesDirectory.Entry] = []
  private(set) var coverage = TileCoverage()
  var places: [Place] = []
  private var duplicates = DuplicateTable()
  private var scratch: [UInt8] = []

  init(_ path: String) throws { file = try SpoolFile(path, from: Self.headBytes) }

  func insert(_ tile: TileID, _ data: UnsafeRawBufferPointer, hash: UInt64) throws {
    let known = try duplicates.find(hash) { number in try isEntry(number - 1, equalTo: data) }
    let offset = known.map { entries[$0 - 1].offset } ?? UInt64(file.end - Self.headBytes)
    guard let count = UInt32(exactly: data.count) else { throw FileSystem.SystemError.tooLarge }
    if known == nil { try file.append(data) }
    let id = tile.hilbertID
    // The tiles will be copied into another file, and this one is removed.
    if let last = entries.last, id < last.firstID { file.isKept = false }
    entries.append(PMTilesDirectory.Entry(firstID: id, offset: offset, byteCount: count, runLength: 1))
    if known == nil { duplicates.insert(hash, place: entries.count) }
    coverage.insert(tile)
  }

  /// - Throws: ``BundleError`` with `.invalidContent` for a tile that was put twice.
  func sort(path: String) throws {
    let isSorted = zip(entries, entries.dropFirst()).allSatisfy { $0.firstID < $1.firstID }
    if isSorted { return }
    entries.sort { $0.firstID < $1.firstID }
    for (first, second) in zip(entries, entries.dropFirst()) where first.firstID == second.firstID {
      throw BundleError.putTwice(try TileID(hilbertID: first.firstID), path: path)
    }
  }

  /// The entries, which the spool then has no longer.
  func takeEntries() -> [PMTilesDirectory.Entry] {
    defer { entries = [] }
    return entries
  }

  private func isEntry(_ index: Int, equalTo data: UnsafeRawBufferPointer) throws -> Bool {
    let entry = entries[index]
    guard Int(entry.byteCount) == data.count else { return false }
    if scratch.count < data.count { scratch = [UInt8](repeating: 0, count: data.count) }
    return try scratch.withUnsafeMutableBytes { scratch in
      let part = UnsafeMutableRawBufferPointer(rebasing: scratch[..<data.count])
      try file.read(into: part, at: Self.headBytes + Int(entry.offset))
      return UnsafeRawBufferPointer(part).isSame(as: data)
    }
  }
}
