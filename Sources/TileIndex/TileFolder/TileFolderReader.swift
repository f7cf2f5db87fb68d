import Support

/// Reads a folder of tile files, `zoom/column/row.extension`, as mb-util, tippecanoe, gdal2tiles and map servers' caches leave them.
///
/// Rows count from the north unless `metadata.json` has `"scheme": "tms"` or, without a scheme there, a `tilemapresource.xml` lies in the folder.
/// A reader holds nothing open; tiles that come and go are seen at once. Links may lead out of the folder: whoever made it chose them.
public final class TileFolderReader: BundleReader {
  /// The folder, as the caller named it.
  public let path: String
  /// The grid, from `tile_matrix_set` in `metadata.json` or the profile in `tilemapresource.xml`; WebMercatorQuad where neither says one.
  public let matrixSet: TileMatrixSet
  /// `metadata.json` without its `scheme`; what it lacks comes from `tilemapresource.xml` and the files' names.
  public let metadata: StoredMetadata

  let folder: TileFolder
  let isTMS: Bool
  private let extensions: [String]

  /// No honest tile is as large.
  private static let tileBytesMax = 64 << 20

  /// - Parameters:
  ///   - path: a folder with folders of zooms.
  ///   - matrixSet: the grid of a folder that does not say its own.
  /// - Throws: ``BundleError`` with `.notFound`, `.malformed` or `.readFailed`.
  public init(path: String, matrixSet: TileMatrixSet? = nil) throws {
    self.path = path
    folder = TileFolder(path: path)
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
      (self.metadata, self.matrixSet, isTMS) = (metadata.stored, metadata.matrixSet, metadata.isTMS)
    } catch let error as FileSystem.SystemError {
      throw BundleError.unopened(error, path: path)
    }
  }

  /// True when a folder holds tiles: numbered folders beside a `metadata.json` or `tilemapresource.xml`, or tile files two numbered folders deep.
  ///
  /// - Complexity: O(entries of the folder), and at most a dozen short looks into folders below.
  public static func isTileFolder(_ path: String) -> Bool {
    !path.utf8.contains(0) && TileFolder(path: path).isTileset
  }

  /// Hands a tile's bytes to a closure; nil when there is no such file, or an empty one.
  ///
  /// - Complexity: O(1): one file is opened and read; one look more for each further extension that the folder's tiles have.
  public func withTile<Result>(
    _ tile: TileID, _ body: (UnsafeRawBufferPointer) throws -> Result
  ) throws -> Result? {
    guard matrixSet.contains(tile) else { return nil }
    let stem = "\(path)/\(tile.zoom)/\(tile.column)/\(fileRow(tile.row, zoom: tile.zoom))."
    for fileExtension in extensions {
      guard let bytes = try bytes(stem + fileExtension, tile) else { continue }
      return try bytes.withUnsafeBytes(body)
    }
    return nil
  }

  /// The row in a file's name of a tile, or the tile's row of one in a file's name.
  func fileRow(_ row: Int, zoom: Int) -> Int {
    isTMS ? MBTilesRow.flipped(row, matrixHeight: matrixSet[zoom].matrixHeight) : row
  }

  private func bytes(_ file: String, _ tile: TileID) throws -> [UInt8]? {
    do {
      let file = try ReadOnlyFile(file)
      guard file.byteCount <= Self.tileBytesMax else {
        throw BundleError(
          .malformed, path: path, "its tile \(tile) has \(file.byteCount) bytes", remedy: "make it again")
      }
      let bytes = try file.bytes(at: 0, count: file.byteCount)
      return bytes.isEmpty ? nil : bytes
    } catch let error as FileSystem.SystemError {
      if error.isMissing { return nil }
      throw BundleError.unread("its tile \(tile)", error, path: path)
    } catch is ReadOnlyFile.NotAFile {
      return nil
    }
  }
}
