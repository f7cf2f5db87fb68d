package import TileIndex

extension Catalog.Region {
  /// - Parameters:
  ///   - bounds: degrees.
  ///   - bundle: the file with the whole region.
  package init(
    _ names: RegionNames, title: String, category: String, description: String?, bounds: [Double],
    boundary: RegionBoundary?, matrixSet: TileMatrixSet, edition: String, attribution: String?, priceTier: String?,
    bundle: Catalog.File, facts: Catalog.BundleFacts, preview: Catalog.File?, previewBounds: [Double]?,
    packs: [Catalog.TilePack], patches: [Catalog.Patch]
  ) {
    (id, productId) = (names.id, names.productID)
    formerIds = names.formerIDs.isEmpty ? nil : names.formerIDs
    formerProductIds = names.formerProductIDs.isEmpty ? nil : names.formerProductIDs
    (self.title, self.category, self.description) = (title, category, description)
    (self.bounds, self.boundary) = (bounds, boundary)
    tileMatrixSet = GridDefinition(matrixSet)
    minzoom = facts.zooms.lowerBound
    maxzoom = facts.zooms.upperBound
    format = facts.format
    (file, bytes, sha256) = (bundle.file, bundle.bytes, bundle.sha256)
    tileCount = facts.tileCount
    tilesHash = facts.tilesHash
    (self.edition, self.attribution, self.priceTier) = (edition, attribution, priceTier)
    (self.preview, self.previewBounds) = (preview, previewBounds)
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
