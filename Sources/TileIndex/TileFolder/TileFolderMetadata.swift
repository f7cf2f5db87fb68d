import Support

/// The metadata of a tile folder: from `metadata.json` (mb-util, tippecanoe) or else a TileJSON beside the tiles, and
/// from `tilemapresource.xml` or `doc.kml` (gdal2tiles).
struct TileFolderMetadata {
  let stored: StoredMetadata
  let matrixSet: TileMatrixSet
  /// True when the file names' rows count from the south.
  let isTMS: Bool
  /// True when one of the documents says so, or the opposite.
  let statesScheme: Bool
  /// What the documents say the zooms' folders exceed the zooms by.
  let zoomShift: Int
  /// Where the tiles are, in degrees, as one of the documents says; nil where that tells nothing.
  let bounds: BoundingBox?

  /// - Parameter extensions: of the tile files, the most likely first.
  /// - Throws: ``BundleError`` with `.malformed` or `.readFailed`.
  init(_ folder: TileFolder, extensions: [String], matrixSet: TileMatrixSet?) throws {
    let path = folder.path
    var entries = try Self.document(folder)
    let resource = try Self.text(folder, TileFolder.resourceName).map {
      try TileMapResource($0, path: path)
    }
    let scheme = entries.first { $0.name == "scheme" }?.value.lowercased()
    // Who names the grid is believed.
    let overlay =
      resource == nil && scheme == nil && matrixSet == nil
      ? try Self.text(folder, SuperOverlay.fileName).flatMap { SuperOverlay($0) } : nil
    let place = try overlay.map { try $0.place(path: path) }
    isTMS = scheme.map { $0 == "tms" } ?? place?.isTMS ?? (resource != nil)
    statesScheme = scheme != nil || resource != nil || place != nil
    // Rows are flipped by the reader, so users of the metadata must not flip them again.
    entries.removeAll { $0.name == "scheme" }
    // A row of the tileset may have the same name (``TileFolderDocuments``).
    if let index = entries.firstIndex(where: { $0.name == Self.schemeRow }) {
      entries[index] = StoredMetadata.Entry(name: "scheme", value: entries[index].value)
    }
    func add(_ name: String, _ value: String?) {
      guard let value, !value.isEmpty, !entries.contains(where: { $0.name == name }) else { return }
      entries.append(StoredMetadata.Entry(name: name, value: value))
    }
    add("name", resource?.title)
    add("description", resource?.abstract)
    add("format", extensions.first.flatMap(TileFormat.init(lenient:))?.rawValue)
    stored = try MetadataLimits.stored(entries, path: path)

    if let matrixSet {
      self.matrixSet = matrixSet
    } else if let known = try stored.matrixSet(path: path) {
      self.matrixSet = known
    } else {
      self.matrixSet = resource?.matrixSet ?? place?.matrixSet ?? .webMercatorQuad
    }
    zoomShift = resource?.zoomShift ?? place?.zoomShift ?? 0
    bounds = stored.tellingBounds ?? resource?.bounds
  }

  /// The member that holds a metadata row called `scheme`, which is a name that folders have for the direction of rows.
  static let schemeRow = "metadata_scheme"

  /// `metadata.json`, else a TileJSON, without what it says of its tiles' addresses.
  private static func document(_ folder: TileFolder) throws -> [StoredMetadata.Entry] {
    for name in [TileFolder.metadataName] + TileJSONDocument.names {
      guard let text = try text(folder, name), !text.isEmpty else { continue }
      let remedy = "correct or remove \(name)"
      do {
        guard let members = try MetadataLimits.document(text, path: folder.path).members else {
          throw BundleError(.malformed, path: folder.path, "its \(name) is not a JSON object", remedy: remedy)
        }
        let isTileJSON = name != TileFolder.metadataName
        return MetadataDocument.entries(members.filter { !isTileJSON || !TileJSONDocument.addresses.contains($0.name) })
      } catch let error as JSONValue.SyntaxError {
        throw BundleError(.malformed, path: folder.path, "its \(name) is not JSON: \(error)", remedy: remedy)
      }
    }
    return []
  }

  /// The places beside the tiles.
  ///
  /// - Throws: ``BundleError`` with `.malformed` or `.readFailed`.
  static func places(_ folder: TileFolder) throws -> StoredPlaces {
    guard let text = try text(folder, PlaceDocument.fileName) else { return StoredPlaces(of: folder.path) }
    do {
      // Another program's document may have this name.
      let json = try MetadataLimits.document(text, path: folder.path)
      return try PlaceDocument.places(json, of: folder.path) ?? StoredPlaces(of: folder.path)
    } catch let error as JSONValue.SyntaxError {
      throw BundleError(
        .malformed, path: folder.path, "its \(PlaceDocument.fileName) is not JSON: \(error)",
        remedy: "correct or remove \(PlaceDocument.fileName)")
    }
  }

  /// A file beside the zoom folders; nil when it does not exist.
  private static func text(_ folder: TileFolder, _ name: String) throws -> [UInt8]? {
    let file: ReadOnlyFile
    do {
      file = try ReadOnlyFile("\(folder.path)/\(name)")
      guard file.byteCount <= MetadataLimits.documentBytesMax else {
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

/// `tilemapresource.xml`, which gdal2tiles writes beside its tiles: a TileMap of OSGeo's Tile Map Service 1.0.0, whose
/// rows count from the south.
struct TileMapResource {
  private(set) var title: String?
  private(set) var abstract: String?
  let matrixSet: TileMatrixSet
  /// 1 where zoom 0 is one tile of 360 degrees.
  let zoomShift: Int
  /// In degrees.
  let bounds: BoundingBox?

  /// - Throws: ``BundleError`` with `.malformed` for XML that is not well-formed, and for unknown grids.
  init(_ bytes: [UInt8], path: String) throws {
    var texts: [String: String] = [:]
    var profile: String?
    var tileSet: [String: String]?
    var box: BoundingBox?
    var element = ""
    do {
      // An empty file is valid: its presence means that rows count from the south.
      if !bytes.isEmpty {
        try XMLReader.read(bytes) { event in
          switch event {
          case .start(let name, let attributes, _):
            // Of repeated elements the first one counts.
            if name == "TileSets", profile == nil { profile = attributes["profile"] ?? "" }
            if name == "TileSet", tileSet == nil { tileSet = attributes }
            if name == "BoundingBox", box == nil { box = Self.box(attributes) }
            element = ["Title", "Abstract", "SRS"].contains(name) && texts[name] == nil ? name : ""
            if !element.isEmpty { texts[element] = "" }
          case .text(let text): if !element.isEmpty { texts[element, default: ""] += text }
          case .end: element = ""
          }
        }
      }
    } catch let error as XMLReader.SyntaxError {
      throw BundleError(
        .malformed, path: path, "its \(TileFolder.resourceName) is not well-formed XML: \(error)",
        remedy: "correct or remove \(TileFolder.resourceName)")
    }
    (title, abstract, bounds) = (texts["Title"], texts["Abstract"], box)
    matrixSet = try Self.matrixSet(profile: profile ?? "", crs: texts["SRS"] ?? "", path: path)
    zoomShift = matrixSet == .webMercatorQuad ? 0 : Self.zoomShift(tileSet ?? [:])
  }

  private static func box(_ attributes: [String: String]) -> BoundingBox? {
    let edges = ["minx", "miny", "maxx", "maxy"].compactMap { attributes[$0].flatMap { Double($0) } }
    guard edges.count == 4 else { return nil }
    // Metres are none.
    return StoredMetadata.plausible(
      BoundingBox(west: edges[0], south: edges[1], east: edges[2], north: edges[3]))
  }

  /// By the size of pixels, where that is told: gdal2tiles states the same for both ways to count.
  private static func zoomShift(_ tileSet: [String: String]) -> Int {
    guard let order = tileSet["order"].flatMap({ Int($0) }), (0...TileID.zoomMax).contains(order),
      let size = tileSet["units-per-pixel"].flatMap({ Double($0) })
    else { return 0 }
    return size / TileMatrixSet.worldCRS84Quad[order].cellSize > 1.5 ? 1 : 0
  }

  private static func matrixSet(
    profile: String, crs: String, path: String
  ) throws -> TileMatrixSet {
    if profile.contains("raster") {
      throw BundleError(
        .malformed, path: path, "its tiles lie on an image of its own and on no map (profile \"raster\")",
        remedy: "make it again with gdal2tiles --profile=mercator")
    }
    guard profile.contains("geodetic") || (profile.isEmpty && crs.hasSuffix(":4326")) else {
      guard profile.contains("mercator") || crs.isEmpty || mercatorNames.contains(crs) else {
        throw BundleError(
          .malformed, path: path, "its tiles have a grid that is not known here (\(crs) in \(TileFolder.resourceName))",
          remedy: "make it again with gdal2tiles --profile=mercator")
      }
      return .webMercatorQuad
    }
    return .worldCRS84Quad
  }

  private static let mercatorNames = ["EPSG:3857", "EPSG:900913", "EPSG:3785", "OSGEO:41001"]
}
