public import TileIndex

/// What is on the shelf: the regions that can be had, their files, parcels and patches. Stored as `catalogue.json` beside the files; docs/catalogue.md describes it.
///
/// Read and written without Foundation, so that a server starts as quickly with it as without.
public struct Catalogue: Hashable, Sendable, Codable {
  /// A file of the shelf.
  public struct File: Hashable, Sendable, Codable {
    /// Its name; lies beside the catalogue.
    public var file: String
    public var bytes: Int
    /// SHA-256 of the file, 64 hexadecimal digits in lower case.
    public var sha256: String

    public init(file: String, bytes: Int, sha256: String) {
      (self.file, self.bytes, self.sha256) = (file, bytes, sha256)
    }
  }

  /// One map that is sold as a whole. Keys as in the document.
  public struct Region: Hashable, Sendable, Codable {
    public var id: String
    public var productId: String
    public var title: String
    public var category: String
    public var description: String?
    /// Degrees: where the bundle has pixels. A west greater than the east crosses the antimeridian.
    public var bounds: [Double]
    /// The outline, where the publisher drew one.
    public var boundary: RegionBoundary?
    var grid: GridDefinition
    public var minzoom: Int
    public var maxzoom: Int
    /// The tiles' format, as MBTiles has it.
    public var format: TileFormat
    /// The bundle with the whole region.
    public var file: String
    public var bytes: Int
    public var sha256: String
    public var tileCount: Int
    /// The aggregate hash of the bundle's tiles.
    public var tilesHash: String
    public var edition: String
    public var preview: File?
    /// What the preview shows, where that is not ``bounds``.
    public var previewBounds: [Double]?
    public var attribution: String?
    public var priceTier: String?
    /// Parts of the region, from the overview to the details; empty for regions that are not split.
    public var parcels: [Parcel]
    /// Ways from earlier editions to this one.
    public var patches: [Patch]

    /// The grid of the region's tiles.
    public var matrixSet: TileMatrixSet { grid.matrixSet }
    /// ``bounds`` as a box.
    public var boundingBox: BoundingBox {
      BoundingBox(west: bounds[0], south: bounds[1], east: bounds[2], north: bounds[3])
    }
  }

  /// A part of a region that is a bundle by itself: the tiles under its roots, but for those under deeper roots of other parcels.
  public struct Parcel: Hashable, Sendable, Codable {
    public var file: String
    public var bytes: Int
    public var sha256: String
    /// Degrees: the box around its tiles.
    public var bounds: [Double]
    /// The coarsest and the finest zoom with tiles.
    public var zooms: ClosedRange<Int>
    /// The tops of its subtrees, as zoom/column/row. Each tile of the region belongs to the parcel with the deepest root that it lies under.
    var roots: [TileName]
    public var tileCount: Int
    /// True for the coarser levels above other parcels.
    public var isOverview: Bool

    public var rootTiles: [TileID] { roots.map(\.tile) }
  }

  /// What makes this edition of a region out of an earlier one.
  public struct Patch: Hashable, Sendable, Codable {
    public var fromEdition: String
    /// The aggregate hash of the earlier edition's tiles, by which a device knows whether the patch fits.
    public var fromTilesHash: String
    public var file: String
    public var bytes: Int
    public var sha256: String

    public init(fromEdition: String, fromTilesHash: String, file: String, bytes: Int, sha256: String) {
      (self.fromEdition, self.fromTilesHash) = (fromEdition, fromTilesHash)
      (self.file, self.bytes, self.sha256) = (file, bytes, sha256)
    }
  }

  /// The name of the document in its folder.
  public static let fileName = "catalogue.json"
  /// The format's version.
  public static let versionNow = 1

  public var version: Int
  /// In the order of the manifest.
  public var regions: [Region]

  public init(regions: [Region]) { (version, self.regions) = (Self.versionNow, regions) }

  /// The region of an id, or nil.
  public subscript(id: String) -> Region? { regions.first { $0.id == id } }
}

extension Catalogue.Region {
  /// The names of all its files.
  public var files: [Catalogue.File] {
    [Catalogue.File(file: file, bytes: bytes, sha256: sha256)] + (preview.map { [$0] } ?? [])
      + parcels.map { Catalogue.File(file: $0.file, bytes: $0.bytes, sha256: $0.sha256) }
      + patches.map { Catalogue.File(file: $0.file, bytes: $0.bytes, sha256: $0.sha256) }
  }
}

/// A tile in a document: `zoom/column/row`.
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
