public import RegionCatalog
import TileIndex

/// `GET /v1/catalogue`: a page of what is for sale.
public struct CatalogPage: Sendable, Hashable, Codable {
  public var regions: [RegionListing]
  /// The number of regions on all pages.
  public var total: Int
  /// All categories of the catalogue with their numbers of regions, whatever the query filters out.
  public var categories: [CategoryCount]
  /// `cursor` of the next page; nil on the last.
  public var nextCursor: String?

  public init(regions: [RegionListing], total: Int, categories: [CategoryCount], nextCursor: String?) {
    (self.regions, self.total, self.categories, self.nextCursor) = (regions, total, categories, nextCursor)
  }
}

public struct CategoryCount: Sendable, Hashable, Codable {
  public var category: String
  public var regions: Int

  public init(category: String, regions: Int) { (self.category, self.regions) = (category, regions) }
}

/// A region in a list.
public struct RegionListing: Sendable, Hashable, Codable {
  public var id: String
  public var productId: String
  public var title: String
  public var category: String
  public var description: String?
  /// West, south, east, north in degrees; west beyond east crosses the antimeridian.
  public var bounds: [Double]
  public var boundary: RegionBoundary?
  public var minzoom: Int
  public var maxzoom: Int
  public var edition: String
  /// Of the whole bundle.
  public var bytes: Int
  public var priceTier: String?
  public var attribution: String?
  /// The number of tile packs; 0 if the region is not split.
  public var packs: Int
  /// Path of the preview image, if there is one.
  public var preview: String?
  /// The extent of the preview if it differs from ``bounds``; in the same form.
  public var previewBounds: [Double]?
  /// For queries with `near`: the region's distance from the place.
  public var near: FoundNear?
  /// The most important places of the region whose names match the query.
  public var places: [FoundPlace]?

  public init(
    id: String, productId: String, title: String, category: String, description: String?, bounds: [Double],
    boundary: RegionBoundary?, minzoom: Int, maxzoom: Int, edition: String, bytes: Int, priceTier: String?,
    attribution: String?, packs: Int, preview: String?
  ) {
    self.id = id
    self.productId = productId
    self.title = title
    self.category = category
    self.description = description
    self.bounds = bounds
    self.boundary = boundary
    self.minzoom = minzoom
    self.maxzoom = maxzoom
    self.edition = edition
    self.bytes = bytes
    self.priceTier = priceTier
    self.attribution = attribution
    self.packs = packs
    self.preview = preview
  }
}

/// A region's distance from the place of a query.
public struct FoundNear: Sendable, Hashable, Codable {
  /// To its outline, or to its bounding box if it has none; 0 inside.
  public var distanceMetres: Int
  /// Whether the place is inside.
  public var isInside: Bool
  /// The tile packs that contain the place, the overview first; empty outside, and for regions that are not split.
  public var packs: [FoundTilePack]

  public init(distanceMetres: Int, isInside: Bool, packs: [FoundTilePack]) {
    (self.distanceMetres, self.isInside, self.packs) = (distanceMetres, isInside, packs)
  }
}

public struct FoundTilePack: Sendable, Hashable, Codable {
  /// For ``DownloadRequest/file``.
  public var file: String
  public var bytes: Int
  public var isOverview: Bool

  public init(file: String, bytes: Int, isOverview: Bool) {
    (self.file, self.bytes, self.isOverview) = (file, bytes, isOverview)
  }
}

/// A place by which a region was found.
public struct FoundPlace: Sendable, Hashable, Codable {
  public var name: String
  /// `city`, `lake`, `peak`; empty if unknown.
  public var kind: String
  /// Degrees.
  public var longitude: Double
  public var latitude: Double

  public init(name: String, kind: String, longitude: Double, latitude: Double) {
    (self.name, self.kind, self.longitude, self.latitude) = (name, kind, longitude, latitude)
  }
}

/// `GET /v1/regions/{id}`: the catalogue's entry of a region: files with sizes and SHA-256, tile packs, patches.
public struct RegionDetails: Sendable, Hashable, Codable {
  public var region: Catalog.Region
  /// False for a retired region, which is visible to its owners only.
  public var isForSale: Bool

  public init(region: Catalog.Region, isForSale: Bool) { (self.region, self.isForSale) = (region, isForSale) }
}

/// `GET /v1/regions/{id}/packs`: the tile packs that a point or box needs, the overview first.
public struct TilePackList: Sendable, Hashable, Codable {
  public var regionId: String
  public var edition: String
  public var packs: [Catalog.TilePack]
  /// Of all tile packs in the list.
  public var bytes: Int

  public init(regionId: String, edition: String, packs: [Catalog.TilePack]) {
    (self.regionId, self.edition, self.packs) = (regionId, edition, packs)
    bytes = packs.reduce(0) { $0 + $1.bytes }
  }
}
