import RegionCatalog

/// A source of a VRT's mask: white where pixels are visible, black where they are hidden.
final class VRTMask: RasterSource {
  static let visible = UInt32.max
  static let hidden: UInt32 = 0xff00_0000

  let path: String
  let width: Int
  let height: Int
  let alphaKind = AlphaKind.opaque
  let georeference: Georeference
  let warnings: [String]
  private let base: any RasterSource
  /// The mask of the file counts, and not the values of a band.
  private let isMask: Bool

  /// - Parameter options: for a file of the VRT.
  init(_ source: VRTDocument.Source, files: VRTFiles, options: RasterOpenOptions) throws {
    var own = source.isMask ? options.withAnyScale : options.forHeights
    if source.isMask {
      // Whatever its pixels are.
      (own.bands, own.alpha, own.nodata, own.readsHeights) = (nil, nil, nil, false)
    } else {
      // Values as numbers, of which none is nodata.
      (own.bands, own.alpha, own.nodata) = ([source.band], .absent, [-1e300])
    }
    base = try files.open(source.file, own)
    isMask = source.isMask
    (path, width, height) = (base.path, base.width, base.height)
    (georeference, warnings) = (base.georeference, base.warnings)
  }

  func read(_ window: PixelRect, into target: UnsafeMutableRawPointer, rowBytes: Int) throws -> Bool {
    _ = try base.read(window, into: target, rowBytes: rowBytes)
    let zero = HeightCode.word(0)
    for y in 0..<window.height {
      let words = (target + y * rowBytes).assumingMemoryBound(to: UInt32.self)
      for x in 0..<window.width {
        let isVisible = words[x] != 0 && (isMask || words[x] != zero)
        words[x] = isVisible ? Self.visible : Self.hidden
      }
    }
    return true
  }
}
