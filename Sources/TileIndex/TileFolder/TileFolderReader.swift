import LibC
import Support

/// Reads a folder of tile files, `zoom/column/row.extension`, as written by mb-util, tippecanoe, gdal2tiles and map
/// servers' caches.
///
/// Rows count from the north unless `metadata.json` has `"scheme": "tms"` or, without a scheme there, a
/// `tilemapresource.xml` exists. A reader keeps nothing open, so added, replaced and removed tiles are visible at once;
/// each is read as a whole. Symbolic links may lead out of the folder.
package final class TileFolderReader: BundleReader {
  /// The folder, as the caller named it.
  package let path: String
  /// The grid, from `tile_matrix_set` in `metadata.json` or the profile in `tilemapresource.xml`; WebMercatorQuad if
  /// neither names one.
  package let matrixSet: TileMatrixSet
  /// `metadata.json` without its `scheme`, completed from `tilemapresource.xml` and the file names.
  package let metadata: StoredMetadata

  let folder: TileFolder
  package let placementWarning: BundleError?
  let isTMS: Bool
  /// True when the folder says in which direction its rows count.
  let statesScheme: Bool
  private let extensions: [String]

  /// Opens a folder of tiles.
  ///
  /// - Parameters:
  ///   - path: a folder that contains zoom folders.
  ///   - matrixSet: the grid, if the folder does not name it.
  /// - Throws: ``BundleError`` with `.notFound`, `.malformed` or `.readFailed`.
  package init(path: String, matrixSet: TileMatrixSet? = nil) throws {
    self.path = path
    var folder = TileFolder(path: path)
    do {
      guard !path.utf8.contains(0), let status = try FileSystem.status(path) else {
        throw BundleError(.notFound, path: path, "there is no such folder", remedy: "check the name")
      }
      guard status.kind == .folder else {
        throw BundleError(.malformed, path: path, "is not a folder", remedy: "name a folder of tiles")
      }
      let found = try folder.extensions()
      extensions = found.isEmpty ? TileFileName.extensions : found
      let metadata = try TileFolderMetadata(folder, extensions: found, matrixSet: matrixSet)
      (self.metadata, self.matrixSet) = (metadata.stored, metadata.matrixSet)
      let placement = try TileFolderPlacement(folder, metadata)
      (isTMS, folder.zoomShift, placementWarning) = (placement.isTMS, placement.zoomShift, placement.warning(path))
      self.folder = folder
      statesScheme = metadata.statesScheme
    } catch let error as FileSystem.SystemError {
      throw BundleError.unopened(error, path: path)
    }
  }

  /// True when a folder holds tiles: numbered folders beside a `metadata.json` or `tilemapresource.xml`, or tile files
  /// two numbered folders deep.
  ///
  /// - Complexity: O(entries of the folder), and at most a dozen short listings of folders below.
  package static func isTileFolder(_ path: String) -> Bool {
    !path.utf8.contains(0) && TileFolder(path: path).isTileset
  }

  /// Passes a tile's bytes to a closure; nil when there is no such file, or it is empty.
  ///
  /// - Complexity: O(1): one file is opened and read; one more attempt for each further extension among the folder's
  ///   tiles.
  package func withTile<Result>(
    _ tile: TileID, _ body: (UnsafeRawBufferPointer) throws -> Result
  ) throws -> Result? {
    guard matrixSet.contains(tile) else { return nil }
    let stem = "\(folder.path(zoom: tile.zoom))/\(tile.column)/\(fileRow(tile.row, zoom: tile.zoom))."
    for fileExtension in extensions {
      guard let bytes = try bytes(stem + fileExtension, tile) else { continue }
      return try bytes.withUnsafeBytes(body)
    }
    return nil
  }

  /// Those in `places.geojson`, as ``TileFolderWriter`` stores them.
  package func places() throws -> StoredPlaces { try TileFolderMetadata.places(folder) }

  package func inspection(_ progress: @escaping (Int) -> Void) throws -> BundleInspection {
    var found = try BundleInspection(walking: self, .folder, fileBytes: nil, progress)
    found.scheme = isTMS ? "tms" : "xyz"
    return found
  }

  /// One document after the other; each of them is replaced atomically.
  package func replaceMetadata(
    _ rows: [StoredMetadata.Entry], changed name: String, progress: (Int) -> Void
  ) throws {
    var coverage = TileCoverage()
    for zoom in try zooms() {
      if let range = try range(zoom: zoom) { coverage.insert(zoom: zoom, count: range.count, range: range) }
    }
    let documents = TileFolderDocuments(
      rows: StoredMetadata(rows), coverage: coverage, matrixSet: matrixSet, format: try requiredFormat(),
      scheme: isTMS ? .tms : .xyz)
    for (file, bytes) in documents.files {
      let path = "\(self.path)/\(file)"
      // A folder of another maker gets no page and no TileJSON of ours.
      guard try file == TileFolder.metadataName || FileSystem.status(path) != nil else { continue }
      try AtomicFile.write(bytes, to: path)
    }
  }

  /// The row in the file name of a tile, or the row of the tile with a file name: the flip is its own inverse.
  func fileRow(_ row: Int, zoom: Int) -> Int {
    isTMS ? MBTilesRow.flipped(row, matrixHeight: matrixSet[zoom].matrixHeight) : row
  }

  private func bytes(_ name: String, _ tile: TileID) throws -> [UInt8]? {
    do {
      let file = try ReadOnlyFile(name)
      let signature = try Self.stillSignature(file, name)
      guard signature.bytes <= BundleAccess.tileBytesMax else {
        throw BundleError(
          .malformed, path: path, "its tile \(tile) has \(signature.bytes) bytes", remedy: "make it again")
      }
      let bytes = try file.bytes(at: 0, count: signature.bytes)
      guard let now = try? file.status(), now.showsSameBytes(as: signature) else {
        throw BundleError.beingWritten(path)
      }
      return bytes.isEmpty ? nil : bytes
    } catch let error as FileSystem.SystemError {
      if error.isMissing { return nil }
      throw BundleError.unread("its tile \(tile)", error, path: path)
    } catch is ReadOnlyFile.NotAFile {
      return nil
    }
  }

  /// Waits until a tile's file is not that of a writer that opened it a moment ago: a plain copy empties the file
  /// first, and then writes it in one piece or a few.
  ///
  /// - Throws: ``BundleError`` with `.busy` for a file that is being written.
  private static func stillSignature(_ file: ReadOnlyFile, _ path: String) throws -> FileSystem.Status {
    let isLocal = FileSystem.isLocal(file.descriptor)
    var last: (signature: FileSystem.Status, since: Double)?
    for _ in 0..<pausesMax {
      guard let seen = try? file.status() else { break }
      let now = MonotonicClock.seconds
      if last?.signature != seen { last = (seen, now) }
      // Empty files are no tiles: somebody may be about to fill them.
      let wanted = seen.bytes == 0 ? emptySeconds : max(stillSeconds, seen.stepSeconds)
      if isLocal && seen.age > wanted || now - last!.since > wanted { return seen }
      usleep(10_000)
    }
    throw BundleError.beingWritten(path)
  }

  /// Longer than a writer takes between two pieces of one tile, also on a busy machine.
  private static let stillSeconds = 0.2
  private static let emptySeconds = 3.0
  /// A second.
  private static let pausesMax = 100
}

/// Zooms, extents, and walking through tiles.
extension TileFolderReader {
  /// The zooms that have tiles, in ascending order.
  ///
  /// - Complexity: O(1) for each zoom whose first columns have tiles.
  package func zooms() throws -> [Int] {
    try reading {
      try folder.zoomFolders().filter { try matrixSet.zooms.contains($0) && folder.hasTile(zoom: $0) }
    }
  }

  /// The rectangle around the tiles of a zoom; nil when it has none.
  ///
  /// - Complexity: O(tiles of the zoom); every column's folder is listed.
  package func range(zoom: Int) throws -> TileRange? {
    guard matrixSet.zooms.contains(zoom) else { return nil }
    let matrix = matrixSet[zoom]
    var columns: ClosedRange<Int>?
    var rows: ClosedRange<Int>?
    func hull(_ range: ClosedRange<Int>?, _ number: Int) -> ClosedRange<Int> {
      range.map { min($0.lowerBound, number)...max($0.upperBound, number) } ?? number...number
    }
    try reading {
      try folder.forEachColumn(zoom: zoom) { column in
        guard column < matrix.matrixWidth else { return true }
        try folder.forEachFile(zoom: zoom, column: column) { file in
          guard file.row < matrix.matrixHeight else { return true }
          columns = hull(columns, column)
          rows = hull(rows, fileRow(file.row, zoom: zoom))
          return true
        }
        return true
      }
    }
    guard let columns, let rows else { return nil }
    return TileRange(zoom: zoom, columns: columns, rows: rows)
  }

  /// - Complexity: O(files).
  package func leftOutFiles(read: Int) -> Int { max(((try? folder.imageCount()) ?? read) - read, 0) }

  /// Passes the tiles in a rectangle to a closure, by column, then by row from the south.
  ///
  /// - Complexity: O(tiles of the rectangle's columns); the rows of one column are held at a time.
  package func forEachTile(
    in range: TileRange, _ body: (TileID, UnsafeRawBufferPointer) throws -> Void
  ) throws {
    guard matrixSet.zooms.contains(range.zoom) else { return }
    var columns: [Int] = []
    try reading {
      try folder.forEachColumn(zoom: range.zoom) { column in
        if range.columns.contains(column) { columns.append(column) }
        return true
      }
    }
    for column in columns.sorted() {
      var rows: Set<Int> = []
      try reading {
        try folder.forEachFile(zoom: range.zoom, column: column) { file in
          guard file.row < matrixSet[range.zoom].matrixHeight else { return true }
          let row = fileRow(file.row, zoom: range.zoom)
          if range.rows.contains(row) { rows.insert(row) }
          return true
        }
      }
      for row in rows.sorted(by: >) {
        let tile = TileID(unchecked: range.zoom, column, row)
        _ = try withTile(tile) { try body(tile, $0) }
      }
    }
  }

  private func reading<Result>(_ body: () throws -> Result) throws -> Result {
    do {
      return try body()
    } catch let error as FileSystem.SystemError {
      throw BundleError.unread("a folder in it", error, path: path)
    }
  }
}
