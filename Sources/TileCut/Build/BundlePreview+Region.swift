import RegionCatalog
import TileIndex

extension BundlePreview {
  /// The picture that a manifest asks for: of the region's bounds unless it names others, 512 pixels wide unless it gives a zoom or a size.
  ///
  /// - Parameter region: it says itself where it lies when it crosses the antimeridian, since its bundle's bounds go all the way round.
  init(_ region: RegionManifest.Region, of facts: Catalogue.BundleFacts) {
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
