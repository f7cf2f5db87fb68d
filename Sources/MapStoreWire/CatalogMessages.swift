public import RegionCatalog
import TileIndex

/// `GET /v1/catalogue`: a page of what is for sale.
public struct CatalogPage: Sendable, Hashable, Codable {
  /// The regions of this page.
  public var regions: [RegionListing]
  /// The number of regions on all pages.
  public var total: Int
  /// All categories of the catalogue with their numbers of regions, whatever the query filters out.
  public var categories: [CategoryCount]
  /// `cursor` of the next page; nil on the last.
  public var nextCursor: String?

  /// A page; `nextCursor` is nil on the last.
  package init(regions: [RegionListing], total: Int, categories: [CategoryCount], nextCursor: String?) {
    (self.regions, self.total, self.categories, self.nextCursor) = (regions, total, categories, nextCursor)
  }
}

/// A category of the catalogue, and how much it has.
public struct CategoryCount: Sendable, Hashable, Codable {
  /// The category, as the publisher's manifest names it.
  public var category: String
  /// The number of regions in it that are for sale.
  public var regions: Int

  /// A category with its number of regions.
  package init(category: String, regions: Int) { (self.category, self.regions) = (category, regions) }
}

/// A region in a list.
public struct RegionListing: Sendable, Hashable, Codable {
  /// The name of the region: letters, digits, dots, dashes and underscores.
  public var id: String
  /// The product's id in the app stores.
  public var productId: String
  /// The title for customers.
  public var title: String
  /// One of ``CatalogPage/categories``.
  public var category: String
  /// A text for customers, if the publisher gave one.
  public var description: String?
  /// West, south, east, north in degrees; west beyond east crosses the antimeridian.
  public var bounds: [Double]
  /// The outline, for regions that are no boxes.
  public var boundary: RegionBoundary?
  /// The coarsest zoom of the bundle.
  public var minzoom: Int
  /// The finest zoom of the bundle.
  public var maxzoom: Int
  /// The edition that a purchase gives now.
  public var edition: String
  /// Of the whole bundle.
  public var bytes: Int
  /// The price tier of the manifest; the app stores have the price.
  public var priceTier: String?
  /// The credits that a map of the region has to show.
  public var attribution: String?
  /// The number of tile packs; 0 if the region is not split.
  public var packs: Int
  /// Path of the preview image, if there is one.
  public var preview: String?
  /// The extent of the preview if it differs from ``bounds``; in the same form.
  public var previewBounds: [Double]?
  /// What the operator's products file says that it costs; the app stores charge their own price.
  package var price: ListedPrice?
  /// Whether everybody with an account has it without a purchase; absent otherwise.
  package var isFree: Bool?
  /// For queries with `near`: the region's distance from the place.
  public var near: FoundNear?
  /// The most important places of the region whose names match the query.
  public var places: [FoundPlace]?

  /// A region without what a query finds in it (``near``, ``places``).
  package init(
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

/// A price as customers see it.
package struct ListedPrice: Sendable, Hashable, Codable {
  /// With the decimals of the currency: `4.99`, `500`.
  package var amount: String
  /// A code of ISO 4217.
  package var currency: String
  /// What it says of taxes, for customers.
  package var taxNote: String?

  /// A price; the amount with the decimals of the currency.
  package init(amount: String, currency: String, taxNote: String?) {
    (self.amount, self.currency, self.taxNote) = (amount, currency, taxNote)
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

  /// A distance in metres, and the tile packs that contain the place.
  package init(distanceMetres: Int, isInside: Bool, packs: [FoundTilePack]) {
    (self.distanceMetres, self.isInside, self.packs) = (distanceMetres, isInside, packs)
  }
}

/// A tile pack that contains the place of a query.
public struct FoundTilePack: Sendable, Hashable, Codable {
  /// For ``DownloadRequest/file``.
  public var file: String
  /// The size of its file.
  public var bytes: Int
  /// Whether it is the pack of the coarse zooms, which covers the whole region.
  public var isOverview: Bool

  /// A tile pack by its file and the size of that in bytes.
  package init(file: String, bytes: Int, isOverview: Bool) {
    (self.file, self.bytes, self.isOverview) = (file, bytes, isOverview)
  }
}

/// A place by which a region was found.
public struct FoundPlace: Sendable, Hashable, Codable {
  /// The name that matched.
  public var name: String
  /// `city`, `lake`, `peak`; empty if unknown.
  public var kind: String
  /// Degrees.
  public var longitude: Double
  /// Degrees.
  public var latitude: Double

  /// A place; longitude and latitude in degrees.
  package init(name: String, kind: String, longitude: Double, latitude: Double) {
    (self.name, self.kind, self.longitude, self.latitude) = (name, kind, longitude, latitude)
  }
}

/// `GET /v1/regions/{id}`: the catalogue's entry of a region: files with sizes and SHA-256, tile packs, patches.
public struct RegionDetails: Sendable, Hashable, Codable {
  /// The entry of `catalogue.json`.
  public var region: Catalog.Region
  /// False for a retired region, which is visible to its owners only.
  public var isForSale: Bool

  /// An entry of the catalogue, and whether it is for sale.
  package init(region: Catalog.Region, isForSale: Bool) { (self.region, self.isForSale) = (region, isForSale) }
}

/// `GET /v1/regions/{id}/packs`: the tile packs that a point or box needs, the overview first.
public struct TilePackList: Sendable, Hashable, Codable {
  /// The region that is split.
  public var regionId: String
  /// The edition to which the packs belong.
  public var edition: String
  /// The packs with files, sizes and SHA-256.
  public var packs: [Catalog.TilePack]
  /// Of all tile packs in the list.
  public var bytes: Int

  /// The packs of one edition; their sizes are added up.
  package init(regionId: String, edition: String, packs: [Catalog.TilePack]) {
    (self.regionId, self.edition, self.packs) = (regionId, edition, packs)
    bytes = packs.reduce(0) { $0 + $1.bytes }
  }
}
