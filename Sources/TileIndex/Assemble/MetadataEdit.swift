import Support

/// Sets or removes one row of a bundle's metadata. The bundle is replaced atomically by one with the same tiles; of a
/// symbolic link the file behind it.
package struct MetadataEdit: Sendable {
  /// The row's name.
  package let name: String
  /// Nil removes the row.
  package let value: String?

  /// An edit of one row; nil removes it.
  package init(name: String, value: String?) {
    self.name = name
    self.value = value
  }

  /// Changes a bundle of any container in place. One change at a time: others wait up to five seconds.
  ///
  /// Longitudes may be a turn beyond ±180, as those of all commands. They are stored as writers of bundles store them:
  /// within ±180, and all longitudes for an area across the antimeridian, since MBTiles wants the west below the east.
  ///
  /// - Parameter progress: called with the number of bytes copied so far; not for a folder.
  /// - Throws: ``BundleError``: `.invalidContent` for a value that breaks a rule of MBTiles 1.3 or contradicts the
  ///   tiles, or for a row that may not be changed; `.notFound` for a row to remove that is not there; `.busy` while
  ///   another change goes on; errors of reading and writing bundles.
  /// - Complexity: O(bytes) for MBTiles and PMTiles, which are copied; O(1) for a folder.
  /// - Returns: the value that was stored.
  @discardableResult
  package func apply(to path: String, progress: @escaping (Int) -> Void = { _ in }) throws -> String? {
    try ChangeLock.changing(path) { path in
      let bundle = try BundleFile.open(path)
      let edit = MetadataEdit(name: name, value: value.map { stored($0, in: bundle) })
      try edit.change(path, bundle, progress)
      return edit.value
    }
  }

  /// A value with its longitudes as bundles store them.
  private func stored(_ value: String, in bundle: any BundleReader) -> String {
    let given = StoredMetadata([StoredMetadata.Entry(name: name, value: value)])
    guard bundle.matrixSet.isGlobal else { return value }
    if name == "bounds", let box = given.bounds, box.west != box.east, abs(box.west) <= 540, abs(box.east) <= 540,
      box.west > box.east || box.west < -180 || box.east > 180
    {
      let parts = TileMatrixSet.splitAtAntimeridian(box)
      let (west, east) = parts.count == 1 ? (parts[0].west, parts[0].east) : (-180, 180)
      return [west, box.south, east, box.north].map(DecimalText.text).joined(separator: ",")
    }
    if name == "center", let center = given.center, (180.nextUp...540).contains(abs(center.longitude)) {
      let longitude = TileMatrixSet.wrapped(center.longitude)
      return "\(DecimalText.text(longitude)),\(DecimalText.text(center.latitude)),\(center.zoom)"
    }
    return value
  }

  private func change(_ path: String, _ bundle: any BundleReader, _ progress: @escaping (Int) -> Void) throws {
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
      try bundle.replaceMetadata(rows, changed: name, progress: progress)
    } catch let error as SQLiteError {
      throw BundleError(
        .writeFailed, path: path, "its metadata could not be written: \(error)",
        remedy: "check the disk and the permissions of the folder")
    } catch {
      throw OutputFile.failure(error, path)
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
    if name == MetadataKey.tilesHash, value != nil {
      throw refuse("\(name) follows from the tiles", "convert the bundle: the copy has it")
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
      // Without bounds the tiles say where the map is.
      let finest = try bundle.zooms().last.flatMap { try bundle.range(zoom: $0) }
      if let box = bundle.metadata.bounds ?? finest.map({ bundle.matrixSet.geographicBounds(of: $0) }),
        !box.contains(SIMD2(center.longitude, center.latitude)), box.west < box.east
      {
        let limit = bundle.metadata.bounds == nil ? "tiles" : "bounds"
        throw refuse("center \"\(value)\" lies outside the \(limit)", "choose a place inside them")
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
}

extension BoundingBox {
  /// True when no side differs by more than rounding.
  fileprivate func isNear(_ other: BoundingBox) -> Bool {
    abs(west - other.west) < 1e-9 && abs(south - other.south) < 1e-9 && abs(east - other.east) < 1e-9
      && abs(north - other.north) < 1e-9
  }
}
