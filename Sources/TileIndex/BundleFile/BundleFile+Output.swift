import Support

/// Writing bundles: the name of the output chooses the container.
extension BundleFile {
  /// The container that an output's name asks for: a folder for a name that ends with a slash, else by the extension.
  ///
  /// - Throws: ``BundleError`` with `.invalidName` for the extension of something that is no bundle.
  package static func kind(ofOutput path: String) throws -> BundleContainer {
    if path.hasSuffix("/") { return .folder }
    guard let fileExtension = fileExtension(of: path) else { return .mbtiles }
    let known = BundleContainer.allCases.first { $0 != .folder && $0.fileExtension == fileExtension }
    if let known { return known }
    if let meant = meantExtension(fileExtension) {
      throw BundleError(
        .invalidName, path: path, "\".\(fileExtension)\" is no container's extension",
        remedy: "did you mean .\(meant)?")
    }
    guard !isFormat(fileExtension) else {
      throw BundleError(
        .invalidName, path: path, "\".\(fileExtension)\" is not a container that is written here",
        remedy: "name it .mbtiles, .pmtiles or .gpkg, or end the name with a slash for a folder")
    }
    return .mbtiles
  }

  /// In lower case, without its dot; nil where the name has none.
  private static func fileExtension(of path: String) -> String? {
    let name = FileSystem.split(path).name
    return name.lastIndex(of: ".").map { name[name.index(after: $0)...].lowercased() }
  }

  /// The extension of a container that another one is probably meant to be; nil where it is none of them.
  private static func meantExtension(_ fileExtension: String) -> String? {
    if fileExtension == "geopackage" { return BundleContainer.geopackage.fileExtension }
    // Others are versions and dates of names: map.mbtiles-2026.
    guard fileExtension.allSatisfy(\.isLetter) else { return nil }
    let files: [BundleContainer] = [.mbtiles, .pmtiles, .geopackage]
    return Spelling.nearest(to: fileExtension, among: files.map(\.fileExtension))
  }

  /// Whether an extension names a format, such as `kmz`, `sqlitedb` or `jp2`, rather than a version or a date
  /// (`map.v2`, `map.2026`, `map.mbtiles-2026`): two letters and more, with at most one digit.
  private static func isFormat(_ fileExtension: String) -> Bool {
    // Names until a file gets its own: what is written beside it and renamed.
    if ["new", "old", "tmp", "temp", "bak"].contains(fileExtension) { return false }
    let (letters, digits) = (fileExtension.count(where: \.isLetter), fileExtension.count(where: \.isNumber))
    return letters + digits == fileExtension.count && letters > 1 && digits < 2 || fileExtension == "7z"
  }

  /// Whether a patch under this name would mislead whoever opens it.
  static func isOtherFormat(_ path: String) -> Bool {
    fileExtension(of: path).map { $0 != "patch" && isFormat($0) } ?? false
  }

  /// Protects bundles that are read from being replaced by the output, or changed by an output inside their folder.
  ///
  /// - Throws: ``BundleError`` `.isInput`, by whatever names and links.
  package static func protect(_ inputs: [String], from output: String) throws {
    try OutputFile.protect(inputs, from: output)
    guard let folder = try? FileSystem.realPath(FileSystem.split(output.withoutSlashes).folder) else { return }
    for input in inputs {
      guard let inside = try? FileSystem.realPath(input), (folder + "/").hasPrefix(inside + "/"),
        TileFolderReader.isTileFolder(inside)
      else { continue }
      throw BundleError(
        .isInput, path: output, "lies inside the input \(input)", remedy: "write it beside that folder")
    }
  }

  /// Checks whether a bundle could be written, as far as can be known without writing.
  ///
  /// - Throws: ``BundleError`` as ``create(_:matrixSet:format:replacing:scheme:)`` would.
  package static func check(output path: String, replacing: Bool) throws {
    if try kind(ofOutput: path) == .folder {
      try OutputFolder.check(path, replacing: replacing)
    } else {
      try OutputFile.check(path, replacing: replacing)
    }
  }

  /// What a bundle's writer says where GDAL, and QGIS with it, do not open the bundle for its zooms; nil where they do.
  package static func zoomWarning(_ zoomMax: Int, output path: String) -> String? {
    guard zoomMax > 22, (try? kind(ofOutput: path)) == .mbtiles else { return nil }
    return "\(path): GDAL and QGIS open no MBTiles with zooms beyond 22, and this one reaches \(zoomMax);"
      + " leave those out if they shall open it"
  }

  /// Refuses a name that is no container's, and a grid that its container does not know.
  package static func check(output path: String, grid matrixSet: TileMatrixSet) throws {
    guard try kind(ofOutput: path) == .pmtiles, matrixSet != .webMercatorQuad else { return }
    throw BundleError(
      .mismatch, path: path, "PMTiles knows Web Mercator only, and the grid is \(matrixSet.identifier)",
      remedy: "write MBTiles, a GeoPackage or a folder")
  }

  /// Refuses hashes of single tiles for a container that cannot store them.
  package static func check(output path: String, hashes: Bool) throws {
    guard hashes, try kind(ofOutput: path) != .mbtiles else { return }
    throw BundleError(
      .mismatch, path: path, "only MBTiles store a hash of each tile; this container has that of all tiles alone",
      remedy: "name it .mbtiles, or leave the hashes of tiles (\"tileHashes\") out")
  }

  /// Starts a bundle in the container that its name asks for. Its metadata get the hash of its tiles.
  ///
  /// - Parameters:
  ///   - path: the file to write, or the folder with a slash at its end; the folder above must exist.
  ///   - format: the format of every tile, or what the bundle says it is where it mixes them.
  ///   - replacing: replace an existing bundle when it is finished.
  ///   - scheme: of the rows in a folder's file names.
  ///   - mixing: further formats that tiles may have.
  ///   - hashes: whether it gets a hash of each tile, too.
  /// - Throws: ``BundleError``: `.mismatch` for a grid or format that the container does not know, `.exists`, `.busy`,
  ///   `.writeFailed`.
  package static func create(
    _ path: String, matrixSet: TileMatrixSet, format: TileFormat, replacing: Bool = false, scheme: TileScheme = .xyz,
    mixing: Set<TileFormat> = [], hashes: Bool = false
  ) throws -> any TileSink {
    HashedSink(
      try sink(
        path, matrixSet: matrixSet, format: format, replacing: replacing, scheme: scheme, mixing: mixing,
        hashes: hashes))
  }

  private static func sink(
    _ path: String, matrixSet: TileMatrixSet, format: TileFormat, replacing: Bool, scheme: TileScheme,
    mixing: Set<TileFormat>, hashes: Bool
  ) throws -> any TileSink {
    try check(output: path, grid: matrixSet)
    try check(output: path, hashes: hashes)
    switch try kind(ofOutput: path) {
    case .mbtiles:
      return try BundleWriter(
        path: path, matrixSet: matrixSet, format: format, replacing: replacing, mixing: mixing, pageBytes: nil,
        hashes: hashes)
    case .pmtiles:
      return try PMTilesWriter(path: path, format: format, replacing: replacing, mixing: mixing)
    case .geopackage:
      return try BundleWriter(
        geoPackage: path, matrixSet: matrixSet, format: format, replacing: replacing, mixing: mixing)
    case .folder:
      return try TileFolderWriter(
        path: path, matrixSet: matrixSet, format: format, replacing: replacing, scheme: scheme, mixing: mixing)
    case .tileset:
      throw BundleError(
        .writeFailed, path: path, "a tileset of shards is made of the shards of a plan",
        remedy: "merge the shards of a plan, or name it .mbtiles, .pmtiles or .gpkg", repair: .mergeShards)
    }
  }
}
