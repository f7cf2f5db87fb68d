package import RegionCatalog
package import TileIndex

/// How to open a raster. What is nil is read from the file and the files beside it.
package struct RasterOpenOptions: Sendable {
  /// Overrides the file's CRS.
  package var crs: CoordinateReferenceSystem?
  /// The extent of a raster without a georeference, in WGS 84 degrees. The raster is stretched over this box projected
  /// into ``crs`` (WGS 84 by default). Georeferenced rasters ignore it.
  package var bounds: BoundingBox?
  /// True for an image without a place on Earth; see ``FlatImage``.
  package var isFlat = false
  /// Pixels of this value are transparent: one value, or one for each colour band. Overrides the file's nodata value.
  package var nodata: [Double]?
  /// Maps samples to 0...255. Required for more than 8 bits, optional for 8.
  package var scale: SampleScale?
  /// True if ``scale`` is meant for samples of more than 8 bits only.
  package var keeps8Bit = false
  /// The bands to show, from 1: one as grey, or three as red, green and blue. No band is alpha then unless ``alpha``
  /// names one. Nil means what the file says.
  package var bands: [Int]?
  /// Overrides the file's statement about its alpha band.
  package var alpha: AlphaBand?
  /// How many VRT files lead to this one.
  var vrtDepth = 0
  /// Bytes of decoded pixels to cache; ignored if there is a ``cache``.
  package var cacheBytesMax: Int
  /// A cache shared with other rasters.
  package var cache: BlockCache?
  /// What is known from the file beside the raster; ``RasterFile`` sets it.
  var auxiliary: AuxiliaryFile?
  /// The directory for unlinked scratch files, for rasters that cannot be decoded in pieces.
  package var scratchDirectory: String
  /// Bytes of files on servers; nil if there are none.
  package var remoteCache: RemoteCache?

  package init(
    crs: CoordinateReferenceSystem? = nil, bounds: BoundingBox? = nil, nodata: [Double]? = nil,
    scale: SampleScale? = nil, cacheBytesMax: Int = 64 << 20, cache: BlockCache? = nil,
    scratchDirectory: String = "/tmp"
  ) {
    self.crs = crs
    self.bounds = bounds
    self.nodata = nodata
    self.scale = scale
    self.cacheBytesMax = cacheBytesMax
    self.cache = cache
    self.scratchDirectory = scratchDirectory
  }
}

extension RasterOpenOptions {
  /// The nodata value of the file beside the raster counts unless one is given.
  var withAuxiliaryNodata: RasterOpenOptions {
    var options = self
    options.nodata = options.nodata ?? options.auxiliary?.nodata
    return options
  }
}

/// A linear mapping of sample values to 0...255, rounded and clamped.
package struct SampleScale: Hashable, Sendable {
  /// The value that becomes 0.
  package let low: Double
  /// The value that becomes 255; inverts if below `low`.
  package let high: Double

  /// - Throws: ``CutError`` `.invalidOption` if the two are equal or not finite.
  package init(low: Double, high: Double) throws {
    guard low.isFinite, high.isFinite, low != high else {
      throw CutError(
        .invalidOption, "the scale \(low),\(high) is no range", remedy: "give two different numbers: --scale MIN,MAX")
    }
    self.init(unchecked: low, high)
  }

  init(unchecked low: Double, _ high: Double) {
    (self.low, self.high) = (low, high)
  }

  /// The grey level of a value, neither rounded nor clamped. Multiplies before dividing, so that halves stay exact.
  @inline(__always)
  func level(_ value: Double) -> Double { (value - low) * 255 / (high - low) }
}
