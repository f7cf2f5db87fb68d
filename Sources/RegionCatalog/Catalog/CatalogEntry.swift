package import TileIndex

extension Catalog.Region {
  /// - Parameter bundle: the file with the whole region.
  package init(
    _ region: RegionManifest.Region, bundle: Catalog.File, facts: Catalog.BundleFacts, preview: Catalog.File?,
    packs: [Catalog.TilePack], patches: [Catalog.Patch]
  ) {
    id = region.id
    productId = region.productID
    formerIds = region.formerIDs.isEmpty ? nil : region.formerIDs
    formerProductIds = region.formerProductIDs.isEmpty ? nil : region.formerProductIDs
    title = region.title
    category = region.category
    description = region.description
    let across = region.boundsAcrossAntimeridian
    bounds = across.map { [$0.west, facts.bounds[1], $0.east, facts.bounds[3]] } ?? facts.bounds
    boundary = region.boundary
    tileMatrixSet = GridDefinition(region.settings.matrixSet)
    minzoom = facts.zooms.lowerBound
    maxzoom = facts.zooms.upperBound
    format = facts.format
    (file, bytes, sha256) = (bundle.file, bundle.bytes, bundle.sha256)
    tileCount = facts.tileCount
    tilesHash = facts.tilesHash
    edition = region.settings.edition
    self.preview = preview
    previewBounds = region.settings.preview.bounds.map { [$0.west, $0.south, $0.east, $0.north] }
    attribution = region.settings.attribution
    priceTier = region.settings.priceTier
    self.packs = packs
    self.patches = patches
  }
}

extension Catalog {
  /// The properties of a finished bundle.
  package struct BundleFacts: Hashable, Sendable, Codable {
    package var bounds: [Double]
    package var zooms: ClosedRange<Int>
    package var format: TileFormat
    package var tileCount: Int
    package var tilesHash: String

    package init(bounds: [Double], zooms: ClosedRange<Int>, format: TileFormat, tileCount: Int, tilesHash: String) {
      (self.bounds, self.zooms, self.format) = (bounds, zooms, format)
      (self.tileCount, self.tilesHash) = (tileCount, tilesHash)
    }
  }
}

extension Catalog.TilePack {
  package init(
    _ file: Catalog.File, bounds: [Double], zooms: ClosedRange<Int>, roots: [TileID], tileCount: Int, isOverview: Bool
  ) {
    (self.file, bytes, sha256) = (file.file, file.bytes, file.sha256)
    (self.bounds, self.roots) = (bounds, roots.map(TileName.init))
    (minzoom, maxzoom) = (zooms.lowerBound, zooms.upperBound)
    (self.tileCount, self.isOverview) = (tileCount, isOverview)
  }
}
