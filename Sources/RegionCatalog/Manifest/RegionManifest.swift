public import TileIndex

/// A publisher's list of regions: what to cut, from what, and what to call it. Stored as JSON (`regions.json`); docs/region-manifest.md describes it.
public struct RegionManifest: Hashable, Sendable {
  /// One map that is cut and sold as a whole, with all that categories and defaults say of it.
  public struct Region: Hashable, Sendable {
    /// Short, stable name; letters, digits, dots, dashes and underscores, since it becomes part of file names and URLs.
    public let id: String
    /// What the stores call it; the id unless the manifest says otherwise.
    public let productID: String
    /// What customers read.
    public let title: String
    /// The shelf it stands on: continental, state, park, recreation area, city, ...
    public let category: String
    public let description: String?
    /// WGS 84 degrees; `west` greater than `east` means across the antimeridian. Nil for all that the sources cover.
    public let bounds: BoundingBox?
    /// The outline; tiles that do not touch it are left out.
    public let boundary: RegionBoundary?
    public let settings: RegionSettings

    /// Where a region across the antimeridian lies, with a west greater than the east; nil for all others. Its bundle cannot say so: MBTiles wants west < east.
    package var boundsAcrossAntimeridian: BoundingBox? {
      guard let bounds else { return boundary?.boundsAcrossAntimeridian }
      return bounds.west > bounds.east ? bounds : nil
    }
  }

  /// The manifest's own path.
  public let path: String
  /// In the order of the document, which is that of the catalogue.
  public let regions: [Region]

  /// The folder that the manifest's paths are relative to; empty for the working folder.
  public var folder: String { path.lastIndex(of: "/").map { String(path[..<$0]) + "/" } ?? "" }

  /// A path of the manifest, seen from here.
  public func resolved(_ file: String) -> String { file.hasPrefix("/") ? file : folder + file }
}

/// What regions of one kind have in common: every key may stand in `defaults`, in a category, or in the region itself, which goes over the others.
public struct RegionSettings: Hashable, Sendable {
  /// What tiles are encoded as.
  public enum Format: String, Hashable, Sendable, CaseIterable {
    case png
    case jpeg
    case webp
  }

  /// How target pixels are computed from source pixels, by the names of TileCut.
  public static let resamplings = ["nearest", "bilinear", "cubic", "average"]

  /// The picture that a shop shows.
  public struct Preview: Hashable, Sendable {
    /// WGS 84 degrees; the region's unless given.
    public var bounds: BoundingBox?
    /// The zoom whose pixels the picture's are; unless given, all of the bounds is seen.
    public var zoom: Int?
    /// Pixels; 512 unless a zoom or height is given.
    public var width: Int?
    /// Pixels; what the bounds make of the width unless given.
    public var height: Int?

    public init(bounds: BoundingBox? = nil, zoom: Int? = nil, width: Int? = nil, height: Int? = nil) {
      (self.bounds, self.zoom, self.width, self.height) = (bounds, zoom, width, height)
    }
  }

  /// Raster files, drawn in this order; relative to the manifest.
  public var sources: [String] = []
  /// Zoom levels; nil for 0 to the sources' own.
  public var zooms: ClosedRange<Int>?
  public var matrixSet: TileMatrixSet = .webMercatorQuad
  public var format: Format = .png
  /// 1 to 100, for JPEG and WebP; nil for lossless WebP.
  public var quality: Int?
  public var resampling = "bilinear"
  /// Value without data, one for all bands or one for each.
  public var nodata: [Double]?
  /// The sources' coordinate reference system, over what they say themselves.
  public var crs: String?
  /// Whom the map's data must be credited to.
  public var attribution: String?
  /// The edition on sale; part of file names.
  public var edition = "1"
  /// What it costs, in the stores' words.
  public var priceTier: String?
  public var preview = Preview()
  /// Files with named places; relative to the manifest.
  public var gazetteers: [String] = []
  /// The most bytes that a parcel may have; nil for regions that are not split.
  public var parcelBytesMax: Int?

  public init() {}
}
