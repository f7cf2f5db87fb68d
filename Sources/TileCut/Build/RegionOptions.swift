import RegionCatalog
import TileIndex

extension CutOptions {
  /// What a manifest says of the cut of a region, without its places, which ``readPlaces(of:in:)`` reads.
  ///
  /// - Parameter manifest: resolves the file names in the region.
  package init(of region: RegionManifest.Region, in manifest: RegionManifest) {
    let settings = region.settings
    self = settings.cut
    sources = sources.map(manifest.resolved)
    drawing = drawing.map { $0.renamingFiles(manifest.resolved) }
    if settings.clip, let outline = region.boundary {
      bounds = region.bounds
      clip = ClipArea(outline, bufferMetres: settings.buffer)
    } else {
      bounds = region.bounds ?? region.boundsAcrossAntimeridian ?? region.boundary?.bounds
      boundary = region.boundary
    }
    name = region.title
    description = region.description
    extraMetadata = [
      RegionMetadata.regionKey: region.id, RegionMetadata.productKey: region.productID,
      RegionMetadata.editionKey: settings.edition,
    ]
  }

  /// Reads the places of a region's gazetteers in their order, without places outside of its boundary.
  ///
  /// - Throws: ``GazetteerError``.
  package mutating func readPlaces(of region: RegionManifest.Region, in manifest: RegionManifest) throws {
    places = try region.settings.gazetteers.flatMap { try GazetteerFile.places(inFile: manifest.resolved($0)) }
      .filter { place in
        region.boundary?.contains(longitude: place.longitude, latitude: place.latitude) != false
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
    let (wanted, matrixSet) = (region.settings.preview, region.settings.cut.matrixSet)
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
