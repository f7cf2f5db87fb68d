import Support
import Synchronization

/// Writes a folder of tile files, `zoom/column/row.extension`, with `metadata.json`, a TileJSON document and a page
/// that shows the map.
///
/// Everything goes into a hidden folder beside the target, which ``finish(_:)`` publishes (``OutputFolder``).
/// Thread-safe; calls are serialised.
package final class TileFolderWriter: TileSink {
  package let path: String
  package let matrixSet: TileMatrixSet
  package let format: TileFormat
  package let mixing: Set<TileFormat>
  private let scheme: TileScheme
  private let folder: OutputFolder
  private let state: Mutex<State>

  private struct State {
    var isOpen = true
    var coverage = TileCoverage()
    var bytes = 0
    var places: [Place] = []
  }

  /// - Throws: ``BundleError``: `.exists`, `.writeFailed`.
  package init(
    path: String, matrixSet: TileMatrixSet, format: TileFormat, replacing: Bool = false, scheme: TileScheme = .xyz,
    mixing: Set<TileFormat> = []
  ) throws {
    self.path = path
    self.matrixSet = matrixSet
    self.format = format
    self.mixing = mixing
    self.scheme = scheme
    folder = try OutputFolder(target: path, replacing: replacing)
    state = Mutex(State())
  }

  deinit { discard() }

  package var tileCount: Int { state.withLock { $0.coverage.count } }

  package func put(_ tile: TileID, _ data: UnsafeRawBufferPointer) throws {
    try check(tile, data)
    try withState { state in
      do {
        try write(data, to: fileName(of: tile), of: tile)
      } catch let error as FileSystem.SystemError where error.isExisting {
        throw BundleError(.invalidContent, path: path, "tile \(tile) was put twice")
      }
      state.coverage.insert(tile)
      state.bytes += data.count
    }
  }

  package func write(places: [Place]) throws {
    try check(places)
    try withState { $0.places = places.sorted(by: Place.precedes) }
  }

  package func finish(_ metadata: SinkMetadata) throws -> BundleSummary {
    defer { discard() }
    return try withState { state in
      let rows = try metadata.rows(coverage: state.coverage, of: self)
      guard let zooms = state.coverage.zooms else { throw SinkMetadata.noTiles(path) }
      let stated = StoredMetadata(rows).format ?? format
      if stated != format { try renameTiles(stated) }
      let documents = TileFolderDocuments(
        rows: StoredMetadata(rows), coverage: state.coverage, matrixSet: matrixSet, format: stated, scheme: scheme)
      var files = documents.files
      if !state.places.isEmpty { files.append((PlaceDocument.fileName, PlaceDocument.json(state.places).bytes)) }
      for (name, bytes) in files {
        try bytes.withUnsafeBytes { try FileSystem.writeNew($0, to: "\(folder.path)/\(name)") }
      }
      try folder.commit()
      let total = files.reduce(state.bytes) { $0 + $1.1.count }
      return BundleSummary(
        tiles: state.coverage.count, distinctTiles: state.coverage.count, bytes: total, minZoom: zooms.lowerBound,
        maxZoom: zooms.upperBound)
    }
  }

  package func discard() {
    state.withLock { state in
      state.isOpen = false
      folder.remove()
    }
  }

  private func fileName(of tile: TileID) -> String {
    let height = matrixSet[tile.zoom].matrixHeight
    let row = scheme == .tms ? MBTilesRow.flipped(tile.row, matrixHeight: height) : tile.row
    return "\(row).\(format.fileExtension)"
  }

  private func write(_ data: UnsafeRawBufferPointer, to name: String, of tile: TileID) throws {
    let zoom = "\(folder.path)/\(tile.zoom)"
    let column = "\(zoom)/\(tile.column)"
    do {
      try FileSystem.writeNew(data, to: "\(column)/\(name)")
    } catch let error as FileSystem.SystemError where error.isMissing {
      for made in [zoom, column] {
        do {
          try FileSystem.makeFolder(made)
        } catch let error as FileSystem.SystemError where error.isExisting {}
      }
      try FileSystem.writeNew(data, to: "\(column)/\(name)")
    }
  }

  /// Gives all tiles the extension of another format: that they all have it is known at the end.
  private func renameTiles(_ format: TileFormat) throws {
    for zoom in FileSystem.names(in: folder.path) {
      for column in FileSystem.names(in: "\(folder.path)/\(zoom)") {
        let path = "\(folder.path)/\(zoom)/\(column)"
        for name in FileSystem.names(in: path) {
          let stem = name.prefix { $0 != "." }
          try FileSystem.rename("\(path)/\(name)", toNew: "\(path)/\(stem).\(format.fileExtension)")
        }
      }
    }
  }

  /// Runs a step. A failed write ends the writer; other errors leave it usable.
  private func withState<T>(_ body: (inout State) throws -> T) throws -> T {
    try state.withLock { state in
      guard state.isOpen else {
        throw BundleError(.writeFailed, path: path, "the bundle was already finished or discarded")
      }
      do {
        return try body(&state)
      } catch let error as FileSystem.SystemError {
        state.isOpen = false
        folder.remove()
        throw OutputFile.failure(error, path)
      }
    }
  }
}

/// The documents beside the tiles of a folder.
struct TileFolderDocuments {
  let rows: StoredMetadata
  let coverage: TileCoverage
  let matrixSet: TileMatrixSet
  let format: TileFormat
  let scheme: TileScheme

  /// Names and contents.
  var files: [(String, [UInt8])] {
    var files = [(TileFolder.metadataName, metadata)]
    // TileJSON has no other grid, and no map without a place on Earth.
    if matrixSet == .webMercatorQuad, rows[FlatImage.metadataKey] == nil {
      let document = TileJSONDocument(
        template: template, scheme: scheme, rows: rows, coverage: coverage, matrixSet: matrixSet,
        isImage: format != .pbf)
      files.append((TileJSONDocument.name, document.bytes))
    }
    if format != .pbf { files.append((TileFolder.pageName, TileFolderPage(self).bytes)) }
    return files
  }

  /// As mb-util writes it: all rows as strings, and the scheme.
  private var metadata: [UInt8] {
    let rows = rows.entries.map { row in
      row.name == "scheme" ? StoredMetadata.Entry(name: TileFolderMetadata.schemeRow, value: row.value) : row
    }
    let members = MetadataDocument.members(rows)
    return JSONValue.object(members + [.init("scheme", .string(scheme.rawValue))]).bytes
  }

  var bounds: BoundingBox { coverage.bounds(stated: rows, in: matrixSet) }

  /// The name of a tile's file, relative to the folder.
  var template: String { "{z}/{x}/{y}.\(format.fileExtension)" }
}
