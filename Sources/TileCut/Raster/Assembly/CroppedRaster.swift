import RegionCatalog
import TileIndex

/// A raster without some pixels at its sides.
final class CroppedRaster: RasterSource {
  let path: String
  let width: Int
  let height: Int
  let georeference: Georeference
  private let base: any RasterSource
  /// Where it begins, in the base's pixels.
  private let left: Int
  private let top: Int

  var alphaKind: AlphaKind { base.alphaKind }
  var warnings: [String] { base.warnings }
  var cutline: RegionBoundary? { base.cutline }

  /// - Parameter isFlat: the raster has no place on Earth, so its corner is that of the grid.
  /// - Throws: ``CutError`` `.invalidOption` if nothing is left.
  init(_ base: any RasterSource, _ crop: SourceSettings.Crop, isFlat: Bool = false) throws {
    let width = base.width - crop.left - crop.right
    let height = base.height - crop.top - crop.bottom
    guard width > 0, height > 0 else {
      throw CutError(
        .invalidOption, path: base.path, "the crop leaves nothing of its \(base.width) x \(base.height) pixels",
        remedy: "give the pixels to leave out at each side: left, top, right, bottom")
    }
    (self.base, left, top, path) = (base, crop.left, crop.top, base.path)
    (self.width, self.height) = (width, height)
    if isFlat {
      georeference = FlatImage(width: width, height: height).georeference
      return
    }
    georeference = base.georeference.part(origin: SIMD2(Double(crop.left), Double(crop.top)))
  }

  private init(_ base: any RasterSource, left: Int, top: Int, width: Int, height: Int, georeference: Georeference) {
    (self.base, self.left, self.top, path) = (base, left, top, base.path)
    (self.width, self.height, self.georeference) = (width, height, georeference)
  }

  func overview(factorMax: Double) throws -> (any RasterSource)? {
    let part = MosaicOverviews.Part(
      source: base, rect: PixelRect(x: -left, y: -top, width: base.width, height: base.height))
    guard let found = try MosaicOverviews(of: [part], width: width, height: height, factorMax: factorMax) else {
      return nil
    }
    return CroppedRaster(
      found.parts[0].source, left: left / found.factor, top: top / found.factor, width: found.width,
      height: found.height, georeference: georeference.coarser(by: found.factor))
  }

  private func inBase(_ rect: PixelRect) -> PixelRect {
    PixelRect(x: rect.x + left, y: rect.y + top, width: rect.width, height: rect.height)
  }

  func read(_ window: PixelRect, into target: UnsafeMutableRawPointer, rowBytes: Int) throws -> Bool {
    try base.read(inBase(window), into: target, rowBytes: rowBytes)
  }

  func mayBeVisible(_ window: PixelRect) -> Bool { base.mayBeVisible(inBase(window)) }
}
