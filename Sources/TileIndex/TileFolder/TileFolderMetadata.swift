import Support

/// What a tile folder says about itself, in `metadata.json` (mb-util, tippecanoe) or `tilemapresource.xml` (gdal2tiles).
struct TileFolderMetadata {
  let stored: StoredMetadata
  let matrixSet: TileMatrixSet
  /// True when the files' rows count from the south.
  let isTMS: Bool

  // Documents of strangers are read whole.
  private static let documentBytesMax = 16 << 20

  /// - Parameter extensions: of the tile files, the likelier first.
  /// - Throws: ``BundleError`` with `.malformed` or `.readFailed`.
  init(_ folder: TileFolder, extensions: [String], matrixSet: TileMatrixSet?) throws {
    let path = folder.path
    var entries = try Self.document(folder)
    let resource = try Self.text(folder, TileFolder.resourceName).map {
      try TileMapResource(String(decoding: $0, as: UTF8.self), path: path)
    }
    let scheme = entries.first { $0.name == "scheme" }?.value.lowercased()
    isTMS = scheme.map { $0 == "tms" } ?? (resource != nil)
    // The rows are turned over here; whoever reads on must not do it again.
    entries.removeAll { $0.name == "scheme" }
    func add(_ name: String, _ value: String?) {
      guard let value, !value.isEmpty, !entries.contains(where: { $0.name == name }) else { return }
      entries.append(StoredMetadata.Entry(name: name, value: value))
    }
    add("name", resource?.title)
    add("description", resource?.abstract)
    add("format", extensions.first.flatMap(TileFormat.init(lenient:))?.rawValue)
    stored = StoredMetadata(entries)

    if let matrixSet {
      self.matrixSet = matrixSet
    } else if let name = stored.matrixSetName {
      guard let known = TileMatrixSet.named(name) else {
        throw BundleError(.malformed, path: path, "its tile matrix set \"\(name)\" is not one that is known here")
      }
      self.matrixSet = known
    } else {
      self.matrixSet = resource?.matrixSet ?? .webMercatorQuad
    }
  }

  private static func document(_ folder: TileFolder) throws -> [StoredMetadata.Entry] {
    guard let text = try text(folder, TileFolder.metadataName), !text.isEmpty else { return [] }
    let remedy = "correct or remove \(TileFolder.metadataName)"
    do {
      guard let members = try JSONValue(parsing: text, duplicates: .lastWins).members else {
        throw BundleError(
          .malformed, path: folder.path, "its \(TileFolder.metadataName) is not a JSON object", remedy: remedy)
      }
      return MetadataDocument.entries(members)
    } catch let error as JSONValue.SyntaxError {
      throw BundleError(
        .malformed, path: folder.path, "its \(TileFolder.metadataName) is not JSON: \(error)", remedy: remedy)
    }
  }

  /// A file beside the zooms; nil when there is none.
  private static func text(_ folder: TileFolder, _ name: String) throws -> [UInt8]? {
    let file: ReadOnlyFile
    do {
      file = try ReadOnlyFile("\(folder.path)/\(name)")
      guard file.byteCount <= documentBytesMax else {
        throw BundleError(
          .malformed, path: folder.path, "its \(name) has \(file.byteCount) bytes", remedy: "remove it")
      }
      return try file.bytes(at: 0, count: file.byteCount)
    } catch let error as FileSystem.SystemError {
      if error.isMissing { return nil }
      throw BundleError.unread("its \(name)", error, path: folder.path)
    } catch is ReadOnlyFile.NotAFile {
      throw BundleError(.malformed, path: folder.path, "its \(name) is not a plain file", remedy: "remove it")
    }
  }
}
