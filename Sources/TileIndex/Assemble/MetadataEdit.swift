import CSQLite
import Support

/// Sets or removes one row of a bundle's metadata. The bundle is replaced atomically by one with the same tiles; of a
/// symbolic link the file behind it.
public struct MetadataEdit: Sendable {
  /// The row's name.
  public let name: String
  /// Nil removes the row.
  public let value: String?

  /// An edit of one row; nil removes it.
  public init(name: String, value: String?) {
    self.name = name
    self.value = value
  }

  /// Changes a bundle of any container in place. One change at a time: others wait up to five seconds.
  ///
  /// - Parameter progress: called with the number of bytes copied so far; not for a folder.
  /// - Throws: ``BundleError``: `.invalidContent` for a value that breaks a rule of MBTiles 1.3 or contradicts the
  ///   tiles, or for a row that may not be changed; `.notFound` for a row to remove that is not there; `.busy` while
  ///   another change goes on; errors of reading and writing bundles.
  /// - Complexity: O(bytes) for MBTiles and PMTiles, which are copied; O(1) for a folder.
  public func apply(to path: String, progress: @escaping (Int) -> Void = { _ in }) throws {
    try ChangeLock.changing(path) { try change($0, progress) }
  }

  private func change(_ path: String, _ progress: @escaping (Int) -> Void) throws {
    let bundle = try BundleFile.open(path)
    try check(bundle)
    var rows = BundleConvert.rows(of: bundle, format: try bundle.requiredFormat())
    if let index = rows.firstIndex(where: { $0.name == name }) {
      if let value { rows[index] = StoredMetadata.Entry(name: name, value: value) } else { rows.remove(at: index) }
    } else if let value {
      rows.append(StoredMetadata.Entry(name: name, value: value))
    } else {
      throw BundleError(
        .notFound, path: path, "has no metadata row \"\(name)\"",
        remedy: "name one of the rows that it has"
      )
    }
    do {
      switch bundle {
      case let bundle as MBTilesReader: try write(bundle, progress)
      case let bundle as PMTilesReader: try write(rows, bundle, progress)
      case let bundle as GeoPackageReader:
        try edit(bundle, progress) { try GeoPackageMetadata.replace(rows, of: bundle.table, in: $0) }
      case let bundle as TileFolderReader: try write(rows, bundle)
      default:
        throw refused(
          path, "is a tileset of shards, whose metadata are those of its plan", "merge the shards into a bundle first")
      }
    } catch let error as SQLiteError {
      throw BundleError(
        .writeFailed, path: path, "its metadata could not be written: \(error)",
        remedy: "check the disk and the permissions of the folder")
    } catch {
      throw OutputFile.failure(error, path)
    }
  }

  /// The number of bytes that an edit of a bundle copies; nil for a folder.
  package static func bytesCopied(of bundle: any BundleReader) -> Int? {
    switch bundle {
    case let reader as PMTilesReader: reader.archive.header.tileData.count + reader.archive.header.leaves.count
    case is any DatabaseReader: FileSystem.size(bundle.path)
    default: nil
    }
  }

  // MARK: - Rules

  private func refused(_ path: String, _ message: String, _ remedy: String) -> BundleError {
    BundleError(.invalidContent, path: path, message, remedy: remedy)
  }

  /// MBTiles 1.3, "Metadata", "Content".
  private func check(_ bundle: any BundleReader) throws {
    func refuse(_ message: String, _ remedy: String) -> BundleError { refused(bundle.path, message, remedy) }
    guard !name.isEmpty, !name.utf8.contains(0), value?.utf8.contains(0) != true else {
      throw refuse("a metadata row may not be called \"\(name)\"", "choose a name without NUL characters")
    }
    if [MetadataKey.matrixSet, MetadataKey.crs, MetadataKey.grid, MetadataKey.formats, FlatImage.metadataKey, "scheme"]
      .contains(name)
    {
      throw refuse("\(name) says where the tiles lie, and cannot be changed without them", "make the bundle again")
    }
    guard let value else {
      if ["name", "format"].contains(name) { throw refuse("every bundle needs a \(name)", "set another value") }
      return
    }
    let stored = StoredMetadata([StoredMetadata.Entry(name: name, value: value)])
    switch name {
    case "name" where value.isEmpty: throw refuse("the name is empty", "give the tileset a name")
    case "format":
      let format = try bundle.requiredFormat()
      guard stored.format == format, TileFormat(rawValue: value) != nil || TileFormat.isMediaType(value) else {
        throw refuse("format \"\(value)\" is not that of the tiles", "set it to \(format.rawValue)")
      }
    case "type" where BundleMetadata.Kind(rawValue: value) == nil:
      throw refuse("type \"\(value)\" is neither overlay nor baselayer", "set it to one of the two")
    case "version" where Double(value)?.isFinite != true:
      throw refuse("version \"\(value)\" is not a number", "number the revisions of the tileset")
    case "minzoom", "maxzoom":
      let zooms = try bundle.zooms()
      guard let real = name == "minzoom" ? zooms.first : zooms.last, value == String(real) else {
        throw refuse(
          "\(name) \"\(value)\" is not that of the tiles", "set it to \(name == "minzoom" ? zooms[0] : zooms.last ?? 0)"
        )
      }
    case "bounds": try check(bounds: stored, in: bundle)
    case "center":
      guard let center = stored.center, value.utf8.count(where: { $0 == UInt8(ascii: ",") }) == 2 else {
        throw refuse("center \"\(value)\" is not three numbers with commas", "write longitude,latitude,zoom")
      }
      if let box = bundle.metadata.bounds,
        !box.contains(SIMD2(center.longitude, center.latitude)), box.west < box.east
      {
        throw refuse("center \"\(value)\" lies outside the bounds", "choose a place inside them")
      }
      guard try bundle.zooms().contains(center.zoom) else {
        throw refuse("center's zoom \(center.zoom) has no tiles", "choose a zoom that has")
      }
    case "json":
      guard (try? JSONValue(parsing: Array(value.utf8)))?.members != nil else {
        throw refuse("json is not a JSON object", "give an object, with vector_layers for vector tiles")
      }
    default: break
    }
  }

  private func check(bounds stored: StoredMetadata, in bundle: any BundleReader) throws {
    let set = bundle.matrixSet
    let limits = set.geographicBounds(ofCRSBounds: set.boundingBox)
    guard let box = stored.bounds, box.west < box.east, box.south < box.north else {
      throw refused(
        bundle.path, "bounds \"\(value ?? "")\" are not west,south,east,north", "write four numbers of degrees")
    }
    guard limits.union(box).isNear(limits) else {
      throw refused(bundle.path, "bounds \"\(value ?? "")\" reach beyond the grid", "choose bounds inside it")
    }
  }

  // MARK: - Containers

  private func write(_ bundle: MBTilesReader, _ progress: @escaping (Int) -> Void) throws {
    let columns = try bundle.reading { try BundleSchema.columns(of: "metadata", bundle.connection) }
    try edit(bundle, progress) { connection in
      if columns.isEmpty { try connection.execute("CREATE TABLE metadata (name text, value text)") }
      let delete = try connection.prepare("DELETE FROM metadata WHERE name = ?1")
      let update = try connection.prepare("UPDATE metadata SET value = ?2 WHERE name = ?1")
      let insert = try connection.prepare("INSERT INTO metadata (name, value) VALUES (?1, ?2)")
      let statement = value == nil ? delete : bundle.metadata[name] == nil ? insert : update
      statement.bind(1, name)
      if let value { statement.bind(2, value) }
      try statement.run()
    }
  }

  /// A copy of the database gets the change, so that readers of the present file are not disturbed.
  private func edit(
    _ bundle: any DatabaseReader, _ progress: (Int) -> Void, _ change: (SQLiteConnection) throws -> Void
  ) throws {
    let file = try OutputFile(target: bundle.path, replacing: true)
    do {
      try FileSystem.copy(bundle.path, over: file.path, progress: progress)
      let connection = try SQLiteConnection(
        uri: SQLiteConnection.uri(path: file.path, parameters: []), flags: SQLITE_OPEN_READWRITE)
      // A copy that is not complete has no value, so it needs no journal.
      try connection.execute("PRAGMA journal_mode = OFF")
      try connection.execute("PRAGMA trusted_schema = OFF")
      try change(connection)
    } catch {
      file.remove()
      throw error
    }
    try file.commit()
  }

  /// Header and metadata are written anew; directories and tiles are copied as they are.
  private func write(
    _ rows: [StoredMetadata.Entry], _ bundle: PMTilesReader, _ progress: @escaping (Int) -> Void
  ) throws {
    let header = bundle.archive.header
    let document = try PMTilesMetadata.document(rows, places: bundle.allPlaces(), path: bundle.path)
    let packed = header.internalCompression == .gzip ? try PMTilesTree.packed(document) : document
    let file = try OutputFile(target: bundle.path, replacing: true)
    do {
      let archive = try SpoolFile(file.path, from: PMTilesSpool.headBytes)
      var bytes = 0
      func copied(_ section: PMTilesHeader.Section) throws -> PMTilesHeader.Section {
        let start = archive.end
        try bundle.archive.forEachBlock(of: section) { block in
          try archive.append(block)
          bytes += block.count
          progress(bytes)
        }
        return PMTilesHeader.Section(offset: start, count: section.count)
      }
      var root: [UInt8] = []
      try bundle.archive.forEachBlock(of: header.root) { root += Array($0) }
      let tiles = try copied(header.tileData)
      let metadata = PMTilesHeader.Section(offset: archive.end, count: packed.count)
      try archive.append(packed)
      let leaves = try copied(header.leaves)
      let changed = PMTilesHeader(
        header, root: PMTilesHeader.Section(offset: PMTilesHeader.byteCount, count: root.count), metadata: metadata,
        leaves: leaves, tileData: tiles, stating: StoredMetadata(rows))
      let head = changed.bytes + root
      guard head.count <= PMTilesSpool.headBytes else {
        throw bundle.archive.damaged("its root directory has \(root.count) bytes")
      }
      try archive.overwrite(head + [UInt8](repeating: 0, count: PMTilesSpool.headBytes - head.count), at: 0)
      try archive.flush()
    } catch {
      file.remove()
      throw error
    }
    try file.commit()
  }

  /// One document after the other; each of them is replaced atomically.
  private func write(_ rows: [StoredMetadata.Entry], _ bundle: TileFolderReader) throws {
    var coverage = TileCoverage()
    for zoom in try bundle.zooms() {
      if let range = try bundle.range(zoom: zoom) { coverage.insert(zoom: zoom, count: range.count, range: range) }
    }
    let documents = TileFolderDocuments(
      rows: StoredMetadata(rows), coverage: coverage, matrixSet: bundle.matrixSet, format: try bundle.requiredFormat(),
      scheme: bundle.isTMS ? .tms : .xyz)
    for (file, bytes) in documents.files {
      let path = "\(bundle.path)/\(file)"
      // A folder of another maker gets no page and no TileJSON of ours.
      guard try file == TileFolder.metadataName || FileSystem.status(path) != nil else { continue }
      try AtomicFile.write(bytes, to: path)
    }
  }
}

extension BoundingBox {
  /// True when no side differs by more than rounding.
  fileprivate func isNear(_ other: BoundingBox) -> Bool {
    abs(west - other.west) < 1e-9 && abs(south - other.south) < 1e-9 && abs(east - other.east) < 1e-9
      && abs(north - other.north) < 1e-9
  }
}
