import Support

/// Opens bundles of any format. The format is detected from the content, not from the name.
public enum BundleFile {
  /// The format of a file or folder, from its first bytes or its entries; nil if it is not a bundle, empty, missing or
  /// unreadable.
  ///
  /// Opens a file only once. The bundle may still turn out to be damaged.
  public static func kind(_ path: String) -> BundleContainer? {
    let path = GeoPackageName(path)?.path ?? path
    guard let status = try? status(path) else { return nil }
    switch status.kind {
    case .folder: return TileFolderReader.isTileFolder(path) ? .folder : nil
    case .socket, .other: return nil
    case .file: return (try? head(path)).flatMap(kind(head:))
    }
  }

  /// Opens a bundle for reading.
  ///
  /// - Parameters:
  ///   - path: the file or folder, or `GPKG:file:table` for one of several tables of tiles in a GeoPackage.
  ///   - matrixSet: the grid of a bundle whose own is not a well-known one; otherwise the bundle's own is used.
  /// - Throws: ``BundleError`` with `.notFound`, `.malformed`, `.busy` or `.readFailed`.
  public static func open(_ path: String, matrixSet: TileMatrixSet? = nil) throws -> any BundleReader {
    try open(path, matrixSet: matrixSet, checkingTiles: false)
  }

  /// - Parameter checkingTiles: whether each look-up compares the tile with its hash, where the bundle has one of each
  ///   tile, and throws `.damagedTile`.
  package static func open(
    _ path: String, matrixSet: TileMatrixSet? = nil, checkingTiles: Bool
  ) throws -> any BundleReader {
    if let name = GeoPackageName(path) { return try GeoPackageReader(path: name.path, table: name.table) }
    let status = try status(path)
    switch status.kind {
    case .folder:
      guard TileFolderReader.isTileFolder(path) else {
        throw noTileFolder(path)
      }
      return try TileFolderReader(path: path, matrixSet: matrixSet.flatMap { Self.ifOwn($0) })
    case .socket, .other:
      throw BundleError(.malformed, path: path, "is not a plain file", remedy: "name a bundle")
    case .file:
      guard status.bytes > 0 else {
        throw BundleError(.malformed, path: path, "is empty", remedy: "make or copy the bundle again")
      }
      let head = try head(path)
      switch kind(head: head) {
      case .pmtiles: return try PMTilesReader(path: path)
      case .mbtiles:
        let reader = try MBTilesReader(path: path, matrixSet: matrixSet.flatMap { Self.ifOwn($0) })
        reader.checksTiles = checkingTiles
        return reader
      case .geopackage: return try GeoPackageReader(path: path)
      case .tileset: return try ShardedReader(path: path)
      case .folder, .none: throw notABundle(path, head)
      }
    }
  }

  /// A well-known grid is not imposed on a bundle, which names its own.
  private static func ifOwn(_ matrixSet: TileMatrixSet) -> TileMatrixSet? {
    TileMatrixSet.named(matrixSet.uri) == matrixSet ? nil : matrixSet
  }

  private static func kind(head: [UInt8]) -> BundleContainer? {
    if head.starts(with: BundleMagic.sqlite) { return BundleMagic.isGeoPackage(head) ? .geopackage : .mbtiles }
    // Also for unsupported versions and truncated files: the reader reports which.
    if head.starts(with: BundleMagic.pmtiles) || isOldPMTiles(head) { return .pmtiles }
    return head.starts(with: ShardedTileset.magic) ? .tileset : nil
  }

  private static func isOldPMTiles(_ head: [UInt8]) -> Bool {
    head.count > 3 && head.starts(with: "PM".utf8) && (head[2] == 1 || head[2] == 2) && head[3] == 0
  }

  private static func notABundle(_ path: String, _ head: [UInt8]) -> BundleError {
    let words: (is: String, remedy: String)
    if TileFormat.isImage(head) || head.starts(with: "II*\0".utf8) || head.starts(with: "MM\0*".utf8)
      || head.starts(with: "II+\0".utf8)
    {
      return BundleError(
        .malformed, path: path, "is an image, not a bundle", remedy: "cut it into tiles first", repair: .cut)
    } else if head.starts(with: "PK".utf8) || head.starts(with: [0x1f, 0x8b]) {
      words = ("is packed (zip or gzip)", "unpack it first")
    } else {
      words = (
        "is not a bundle: neither MBTiles, PMTiles nor GeoPackage, or its head is damaged",
        "check that it is the right file and was copied whole"
      )
    }
    return BundleError(.malformed, path: path, words.is, remedy: words.remedy)
  }

  private static func noTileFolder(_ path: String) -> BundleError {
    do {
      try FileSystem.forEachName(in: path) { _ in false }
    } catch let error as FileSystem.SystemError {
      return BundleError.unopened(error, path: path)
    } catch {}
    return BundleError(
      .malformed, path: path, "is a folder without tiles (zoom/column/row.png or the like)",
      remedy: "name a bundle, or the folder that has the zooms")
  }

  private static func status(_ path: String) throws -> FileSystem.Status {
    do {
      guard !path.utf8.contains(0), let status = try FileSystem.status(path) else {
        throw BundleError(.notFound, path: path, "there is no such file", remedy: "check the name")
      }
      return status
    } catch let error as FileSystem.SystemError {
      throw BundleError.unopened(error, path: path)
    }
  }

  private static func head(_ path: String) throws -> [UInt8] {
    do {
      // Only databases have these side files, and other connections in this process may hold locks on one that is being
      // written.
      let real = try FileSystem.realPath(path)
      if FileSystem.size(real + "-wal") > 0 || FileSystem.size(real + "-journal") > 0 {
        let id = try? BundleAccess.open(path).connection.prepare("PRAGMA application_id").first { $0.int(0) }
        return BundleMagic.databaseHead(applicationID: id ?? 0)
      }
      return try BundleMagic.head(path)
    } catch let error as FileSystem.SystemError {
      throw BundleError.unopened(error, path: path)
    } catch is ReadOnlyFile.NotAFile {
      throw BundleError(.malformed, path: path, "is not a plain file", remedy: "name a bundle")
    }
  }
}

extension TileFormat {
  fileprivate static func isImage(_ head: [UInt8]) -> Bool {
    head.withUnsafeBytes { TileFormat(sniffing: $0) }.map { $0 != .pbf } ?? false
  }
}
