import Gazetteer
public import RegionCatalog
import TileImage
import TileIndex

extension CutOptions {
  /// Takes what a region of a manifest says; its gazetteers are read by ``readPlaces(of:in:)``.
  ///
  /// - Parameter manifest: the region's, for the files that it names.
  public mutating func apply(_ region: RegionManifest.Region, of manifest: RegionManifest) {
    let settings = region.settings
    sources = settings.sources.map(manifest.resolved)
    matrixSet = settings.matrixSet
    if let zooms = settings.zooms { zoom = .levels(zooms) }
    bounds = region.bounds ?? region.boundary?.bounds
    boundary = region.boundary
    encoding =
      switch settings.format {
      case .png: .png(PNGOptions())
      case .jpeg: .jpeg(JPEGOptions(quality: settings.quality ?? 85))
      case .webp: .webp(WebPOptions(lossless: settings.quality == nil, quality: settings.quality ?? 85))
      }
    resampling = Resampling(rawValue: settings.resampling) ?? .bilinear
    nodata = settings.nodata
    crs = settings.crs
    name = region.title
    description = region.description
    attribution = settings.attribution
    // MBTiles wants a number there; other editions are told by the row of their own.
    if let number = Double(settings.edition), number.isFinite { version = settings.edition }
    extraMetadata = [
      RegionMetadata.regionKey: region.id, RegionMetadata.productKey: region.productID,
      RegionMetadata.editionKey: settings.edition,
    ]
  }
}

extension CutOptions {
  /// Takes the places of a region's gazetteers, in their order, equal ones once, without those outside its boundary.
  ///
  /// - Throws: ``GazetteerError``.
  public mutating func readPlaces(of region: RegionManifest.Region, in manifest: RegionManifest) throws {
    var known: Set<Place> = []
    places = try region.settings.gazetteers.flatMap { try GazetteerFile.places(inFile: manifest.resolved($0)) }
      .filter { place in
        region.boundary?.contains(longitude: place.longitude, latitude: place.latitude) != false
          && known.insert(place).inserted
      }
  }
}
