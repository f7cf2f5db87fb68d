import Gazetteer
public import RegionCatalog
package import TileImage
import TileIndex

extension CutOptions {
  /// What a manifest says of the cut of a region, without its places.
  init(of region: RegionManifest.Region, in manifest: RegionManifest) {
    self.init(sources: [])
    apply(region, of: manifest)
  }

  /// Takes over the settings of a manifest's region; ``readPlaces(of:in:)`` reads its gazetteers.
  ///
  /// - Parameter manifest: resolves the file names in the region.
  public mutating func apply(_ region: RegionManifest.Region, of manifest: RegionManifest) {
    let settings = region.settings
    sources = settings.sources.map(manifest.resolved)
    drawing = settings.drawing.map { $0.renamingFiles(manifest.resolved) }
    matrixSet = settings.matrixSet
    tileSize = settings.tileSize
    scaleFactor = settings.scaleFactor
    if let zooms = settings.zooms { zoom = .levels(zooms) }
    variableDepth = settings.variableDepth
    sourceSettings = settings.sourceSettings
    if settings.clip, let outline = region.boundary {
      bounds = region.bounds
      clip = ClipArea(outline, bufferMetres: settings.buffer)
    } else {
      bounds = region.bounds ?? region.boundsAcrossAntimeridian ?? region.boundary?.bounds
      boundary = region.boundary
    }
    let png = PNGOptions(effort: PNGEffort(rawValue: settings.effort) ?? .balanced, colours: settings.colors)
    encoding = TileEncoding(settings.format, quality: settings.quality, png: png)
    resampling = Resampling(rawValue: settings.resampling) ?? .bilinear
    isLinear = settings.linear
    nodata = settings.nodata
    scale = settings.scale
    bands = settings.bands
    alpha = settings.alpha
    crs = settings.crs
    name = region.title
    description = region.description
    attribution = settings.attribution
    type = settings.type
    // MBTiles requires a number here; other editions are only in ``RegionMetadata/editionKey``.
    if let number = Double(settings.edition), number.isFinite { version = settings.edition }
    extraMetadata = [
      RegionMetadata.regionKey: region.id, RegionMetadata.productKey: region.productID,
      RegionMetadata.editionKey: settings.edition,
    ]
  }

  /// Reads the places of a region's gazetteers in their order, without duplicates and without places outside of its
  /// boundary.
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

extension BundlePreview {
  /// The preview that a manifest asks for: of the region's bounds unless it gives others, 512 pixels wide unless it
  /// gives a zoom or a size.
  ///
  /// - Parameter region: gives the bounds itself if it crosses the antimeridian, since its bundle's bounds then span
  ///   all longitudes.
  init(_ region: RegionManifest.Region, of facts: Catalog.BundleFacts) {
    let (wanted, matrixSet) = (region.settings.preview, region.settings.matrixSet)
    let box =
      wanted.bounds ?? region.boundsAcrossAntimeridian
      ?? BoundingBox(west: facts.bounds[0], south: facts.bounds[1], east: facts.bounds[2], north: facts.bounds[3])
    self.init(bounds: box, zoom: wanted.zoom)
    guard wanted.zoom == nil || wanted.width != nil || wanted.height != nil else { return }
    var turned = box
    if turned.west > turned.east { turned.east += 360 }
    let shape = matrixSet.crsBounds(ofGeographicBounds: turned)
    func edge(_ pixels: Double) -> Int { min(max(Int(pixels.rounded()), 16), 4096) }
    if let width = wanted.width, let height = wanted.height {
      size = Size(width: width, height: height)
    } else if let height = wanted.height {
      size = Size(width: edge(Double(height) * shape.width / shape.height), height: height)
    } else {
      let width = wanted.width ?? 512
      size = Size(width: width, height: edge(Double(width) * shape.height / shape.width))
    }
  }
}

extension TileEncoding {
  /// The encoding that a manifest or an option names.
  ///
  /// - Parameters:
  ///   - quality: of JPEG and WebP; nil for 85, but of WebP alone for no loss.
  ///   - png: for the tiles that are PNG.
  package init(_ format: RegionSettings.Format, quality: Int?, png: PNGOptions) {
    let jpeg = TileEncoding.jpeg(JPEGOptions(quality: quality ?? 85))
    let webp = TileEncoding.webp(WebPOptions(lossless: false, quality: quality ?? 85))
    switch format {
    case .png: self = .png(png)
    case .jpeg: self = jpeg
    case .webp: self = quality == nil ? .webp(WebPOptions(lossless: true, quality: 85)) : webp
    case .auto: self = .mixed(opaque: jpeg, other: .png(png))
    case .jpegAndWebP: self = .mixed(opaque: jpeg, other: webp)
    case .webPAndPNG: self = .mixed(opaque: webp, other: .png(png))
    }
  }
}
