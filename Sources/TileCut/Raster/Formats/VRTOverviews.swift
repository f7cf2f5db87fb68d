import RegionCatalog

/// The overviews of a VRT in the file beside it (`.vrt.ovr`), as gdaladdo writes them: TIFF directories with all bands
/// of the VRT.
struct VRTOverviews {
  private let directories: TIFFDirectories
  /// How the directories are read: the bands are those of the VRT.
  private let options: RasterOpenOptions
  private let isMasked: Bool
  private let cache: BlockCache

  /// - Parameter isOpaque: every pixel of the VRT is opaque.
  /// - Returns: nil if there are none, or if they do not tell which pixels are transparent: where no source lies they
  ///   have the nodata value, the alpha or the mask that the VRT states, or else black.
  init?(_ plan: VRTPlan, options: RasterOpenOptions, isOpaque: Bool, warnings: WarningList) {
    let document = plan.document
    let nodata = options.nodata ?? plan.statedNodata
    guard isOpaque || plan.alphaIndex != nil || document.mask != nil || nodata != nil,
      let found = TIFFDirectories(
        beside: document.path, width: document.width, height: document.height, samples: document.bands.count,
        warnings: warnings)
    else { return nil }
    directories = found
    isMasked = !isOpaque && document.mask != nil && plan.alphaIndex == nil
    cache = options.cache ?? BlockCache(bytesMax: options.cacheBytesMax)
    var own = options
    own.bands = plan.shown.map { $0 + 1 }
    own.alpha = plan.alphaIndex.map { .number($0 + 1) } ?? .absent
    own.nodata = nodata
    own.auxiliary = nil
    own.colourTables = plan.colourTable.map { [plan.shown[0] + 1: $0] } ?? options.colourTables
    self.options = own
  }

  /// As ``RasterSource/overview(factorMax:)``.
  func overview(of source: VRTSource, factorMax: Double) throws -> (any RasterSource)? {
    var model: TIFFColourModel?
    let found = directories.overview(factorMax: factorMax, isMasked: isMasked) { part in
      let own = try? part.file.withHandle { handle in
        try TIFFColourModel(part.layout, handle: handle, path: part.file.path, options: options) { _ in }
      }
      guard let own, !own.lacksScale, TIFFImage.canDecode(part, own) else { return false }
      model = own
      return true
    }
    guard let found, let model else { return nil }
    let (layout, mask) = (found.image.layout, found.mask)
    let reader = try GeoTIFFSource.reader(
      found.image, mask: mask, model: model, cache: cache, scratchDirectory: options.scratchDirectory)
    return RasterOverview(
      of: source, reader: reader, width: layout.width, height: layout.height,
      alphaKind: TIFFImage.alphaKind(TIFFPixelDecoder(layout: layout, model: model), part: found.image, mask: mask))
  }
}
