import Support
public import TileIndex

/// The published regions with their files, tile packs and patches. Stored as `catalogue.json` beside the files; see
/// docs/reference/catalogue.md.
///
/// Read and written without Foundation, which would slow a server's start.
public struct Catalog: Hashable, Sendable, Codable {
  /// A published file.
  public struct File: Hashable, Sendable, Codable {
    /// Its name in the catalogue's folder.
    public var file: String
    /// The size of the file.
    public var bytes: Int
    /// SHA-256 of the file, 64 hexadecimal digits in lower case.
    public var sha256: String

    /// A file of the catalogue's folder.
    package init(file: String, bytes: Int, sha256: String) {
      (self.file, self.bytes, self.sha256) = (file, bytes, sha256)
    }
  }

  /// A map that is sold as a whole. Members are named as in the document.
  public struct Region: Hashable, Sendable, Codable {
    /// The name of the region, which is part of file names and URLs.
    public var id: String
    /// The product that is sold, as the app stores name it.
    public var productId: String
    /// Ids that the region had before: devices may have it under them. Nil for none.
    public var formerIds: [String]?
    /// Products that the region was sold as before: their owners own it. Nil for none.
    public var formerProductIds: [String]?
    /// The title for people.
    public var title: String
    /// The publisher's word for regions of its kind, such as `park`.
    public var category: String
    /// What the map shows, for people.
    public var description: String?
    /// Degrees: the extent of the bundle's pixels. A west greater than the east crosses the antimeridian.
    public var bounds: [Double]
    /// The outline, if the publisher gave one.
    public var boundary: RegionBoundary?
    var tileMatrixSet: GridDefinition
    /// The coarsest stored zoom.
    public var minzoom: Int
    /// The finest stored zoom.
    public var maxzoom: Int
    /// The tiles' format, as MBTiles names it.
    public var format: TileFormat
    /// The bundle with the whole region.
    public var file: String
    /// The size of the bundle.
    public var bytes: Int
    /// Of the bundle: 64 hexadecimal digits in lower case.
    public var sha256: String
    /// The number of stored tiles.
    public var tileCount: Int
    /// The aggregate hash of the bundle's tiles.
    public var tilesHash: String
    /// The publisher's name of this state of the region.
    public var edition: String
    /// A picture of the region.
    public var preview: File?
    /// The extent of the preview, if it is not ``bounds``.
    public var previewBounds: [Double]?
    /// The credits: text, or HTML.
    public var attribution: String?
    /// The publisher's word for its price.
    public var priceTier: String?
    /// The region's tile packs, overviews first; empty for regions that are not split.
    public var packs: [TilePack]
    /// Patches from earlier editions to this one.
    public var patches: [Patch]

    /// The grid of the region's tiles.
    public var matrixSet: TileMatrixSet { tileMatrixSet.matrixSet }
    /// ``bounds`` as a box.
    public var boundingBox: BoundingBox {
      BoundingBox(west: bounds[0], south: bounds[1], east: bounds[2], north: bounds[3])
    }
  }

  /// A tile pack: a bundle with the tiles under its roots, except those under deeper roots of other packs.
  public struct TilePack: Hashable, Sendable, Codable {
    /// The name of the file in the catalogue's folder.
    public var file: String
    /// The size of the file.
    public var bytes: Int
    /// Of the file: 64 hexadecimal digits in lower case.
    public var sha256: String
    /// Degrees: the box around its tiles.
    public var bounds: [Double]
    /// The coarsest zoom with tiles.
    public var minzoom: Int
    /// The finest zoom with tiles.
    public var maxzoom: Int
    /// The roots of its subtrees, as zoom/column/row. Each tile of the region belongs to the pack with the deepest root
    /// above it.
    var roots: [TileName]
    /// The number of stored tiles.
    public var tileCount: Int
    /// True when other packs have the finer levels.
    public var isOverview: Bool

    /// The roots as tiles.
    package var rootTiles: [TileID] { roots.map(\.tile) }
  }

  /// A patch from an earlier edition of the region to this one.
  public struct Patch: Hashable, Sendable, Codable {
    /// The edition that it applies to.
    public var fromEdition: String
    /// The aggregate hash of the earlier edition's tiles, by which a device knows whether the patch applies.
    public var fromTilesHash: String
    /// The name of the file in the catalogue's folder.
    public var file: String
    /// The size of the file.
    public var bytes: Int
    /// Of the file: 64 hexadecimal digits in lower case.
    public var sha256: String

    /// A patch from an edition whose tiles have this aggregate hash.
    package init(fromEdition: String, fromTilesHash: String, file: String, bytes: Int, sha256: String) {
      (self.fromEdition, self.fromTilesHash) = (fromEdition, fromTilesHash)
      (self.file, self.bytes, self.sha256) = (file, bytes, sha256)
    }
  }

  /// The document's file name.
  package static let fileName = "catalogue.json"
  /// The format's version.
  package static let versionNow = 1

  /// The version of the format.
  public var version: Int
  /// In the order of the manifest.
  public var regions: [Region]

  /// A catalogue in the current version of the format.
  public init(regions: [Region]) { (version, self.regions) = (Self.versionNow, regions) }

  /// The region of an id, or nil.
  public subscript(id: String) -> Region? { regions.first { $0.id == id } }
}

extension Catalog.Region {
  /// Whether devices can install it: its bundle is MBTiles.
  package var isInstallable: Bool { file.hasSuffix(".mbtiles") }

  /// All its files.
  public var files: [Catalog.File] {
    [Catalog.File(file: file, bytes: bytes, sha256: sha256)] + (preview.map { [$0] } ?? [])
      + packs.map { Catalog.File(file: $0.file, bytes: $0.bytes, sha256: $0.sha256) }
      + patches.map { Catalog.File(file: $0.file, bytes: $0.bytes, sha256: $0.sha256) }
  }
}

/// A tile in the document: `zoom/column/row`.
struct TileName: Hashable, Sendable, Codable {
  let tile: TileID

  init(_ tile: TileID) { self.tile = tile }

  init(from decoder: any Decoder) throws {
    let text = try decoder.singleValueContainer().decode(String.self)
    let numbers = text.split(separator: "/", omittingEmptySubsequences: false).map { Int($0) }
    guard numbers.count == 3, let zoom = numbers[0], let column = numbers[1], let row = numbers[2],
      (0...TileID.zoomMax).contains(zoom), (0..<1 << 31).contains(column), (0..<1 << 31).contains(row)
    else {
      throw DecodingError.dataCorrupted(
        .init(codingPath: decoder.codingPath, debugDescription: "is no tile: \"\(text)\""))
    }
    tile = TileID(unchecked: zoom, column, row)
  }

  func encode(to encoder: any Encoder) throws {
    var container = encoder.singleValueContainer()
    try container.encode(tile.description)
  }
}

extension Catalog {
  /// Reads a catalogue.
  ///
  /// - Throws: `BundleError` with `.notFound` or `.malformed`, which names the position in the document.
  public init(path: String) throws {
    let bytes: [UInt8]
    do {
      bytes = try JSONFile.bytes(path)
    } catch {
      let isForbidden = (error as? JSONFile.Unreadable)?.isForbidden == true
      throw BundleError(
        .notFound, path: path, "cannot be read: \(error)",
        remedy: isForbidden ? "check the permissions" : "name the catalogue.json of a catalogue that was built")
    }
    try self.init(parsing: bytes, path: path)
  }

  /// Reads a catalogue from bytes, such as a downloaded one.
  ///
  /// - Parameters:
  ///   - bytes: the document, JSON.
  ///   - path: its name in errors.
  /// - Throws: `BundleError` `.malformed`.
  package init(parsing bytes: [UInt8], path: String) throws {
    func refused(_ message: String) -> BundleError {
      BundleError(.malformed, path: path, message, remedy: "fetch it again, or build it again")
    }
    do {
      let document = try JSONValue(parsing: bytes)
      guard case .number(let version)? = document["version"] else {
        throw refused("is not a catalogue: it has no version")
      }
      guard version == String(Self.versionNow) else {
        throw refused("is of version \(version), and only \(Self.versionNow) is supported")
      }
      self = try document.decoded(as: Catalog.self)
    } catch let error as JSONValue.SyntaxError {
      throw refused("is not valid JSON: \(error)")
    } catch let error as DecodingError {
      throw refused("\(error.place) \(error.complaint)")
    }
    for (index, region) in regions.enumerated() {
      if let fault = region.fault { throw refused("regions[\(index)]\(fault)") }
    }
    if let fault = RegionNames.faults(of: regions.map(\.names)).first {
      throw refused("regions[\(fault.region)].\(fault.member) \(fault.message)")
    }
  }

  /// The document, with a line for each region, so that a diff of two editions is readable.
  public var bytes: [UInt8] {
    var text = "{\"version\":\(version),\"regions\":["
    for (index, region) in regions.enumerated() {
      do {
        text += (index > 0 ? ",\n" : "\n") + (try JSONValue(encoding: region)).text
      } catch {
        preconditionFailure("a region's grid is one that was read or defined: \(error)")
      }
    }
    return Array((text + "\n]}\n").utf8)
  }
}

extension Catalog.Region {
  /// A violated invariant: the member, as continuation of the region's position in the document, and what is wrong. Nil
  /// for a valid region.
  package var fault: String? {
    guard Self.isBox(bounds) else { return ".bounds are not west, south, east, north" }
    guard previewBounds.map(Self.isBox) ?? true else { return ".previewBounds are not west, south, east, north" }
    guard Self.areZooms(minzoom, maxzoom) else { return ".maxzoom is not above minzoom" }
    // Checked here, because invalid rings have no bounding box.
    let rings = boundary.map { Array($0.polygons.joined()) } ?? []
    guard rings.allSatisfy({ $0.count >= 4 && $0.allSatisfy { Self.isPlace($0.x, $0.y) } }) else {
      return ".boundary has a ring that is not of 4 positions or more in degrees"
    }
    // Names are appended to folder paths.
    for (index, id) in (formerIds ?? []).enumerated() where !RegionNames.isName(id) {
      return ".\(RegionNames.formerIDsKey)[\(index)] is no id: \"\(id)\""
    }
    for file in files where file.file.isEmpty || file.file.utf8.contains(where: { $0 == 0x2f || $0 == 0 }) {
      return " has a file that is no name: \"\(file.file)\""
    }
    for (index, pack) in packs.enumerated() {
      guard Self.isBox(pack.bounds) else { return ".packs[\(index)].bounds are not west, south, east, north" }
      guard Self.areZooms(pack.minzoom, pack.maxzoom) else {
        return ".packs[\(index)].maxzoom is not above minzoom"
      }
      if let root = pack.rootTiles.first(where: { !matrixSet.contains($0) }) {
        return ".packs[\(index)] has a root outside the grid: \(root)"
      }
    }
    return nil
  }

  private static func areZooms(_ first: Int, _ last: Int) -> Bool {
    0 <= first && first <= last && last <= TileID.zoomMax
  }

  private static func isBox(_ numbers: [Double]) -> Bool {
    numbers.count == 4 && numbers[1] <= numbers[3] && isPlace(numbers[0], numbers[1]) && isPlace(numbers[2], numbers[3])
  }

  /// Degrees, with a tolerance for rounding; longitudes continue beyond ±180 for areas across the antimeridian.
  private static func isPlace(_ longitude: Double, _ latitude: Double) -> Bool {
    abs(longitude) <= 540 && abs(latitude) <= 90.000001
  }
}
