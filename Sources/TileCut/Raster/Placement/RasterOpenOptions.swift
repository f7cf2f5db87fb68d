package import TileIndex

/// How a raster is to be opened; what is not said is read from the file and the files beside it.
package struct RasterOpenOptions: Sendable {
  /// The raster's CRS, in place of what the file says.
  package var crs: CoordinateReferenceSystem?
  /// Where a raster without georeference lies, WGS 84 degrees; it is stretched over this box projected into ``crs`` (longitude and
  /// latitude by default). Ignored for rasters that are georeferenced.
  package var bounds: BoundingBox?
  /// True for a picture that lies nowhere on Earth: whatever it says of itself, see ``FlatImage``.
  package var isFlat = false
  /// Pixels of this value are transparent: one value, or one for each colour band. In place of what the file says.
  package var nodata: [Double]?
  /// Maps samples of more than 8 bits, or 8-bit ones too if given, to 0...255.
  package var scale: SampleScale?
  /// Bytes of decoded pixels to keep, if there is no ``cache``.
  package var cacheBytesMax: Int
  /// A cache shared with other rasters, in place of one of its own.
  package var cache: BlockCache?
  /// Where a raster that cannot be decoded in pieces is spooled to, in a file that is never seen under a name.
  package var scratchDirectory: String

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

/// A linear map of sample values to 0...255, rounded and clamped.
package struct SampleScale: Hashable, Sendable {
  /// Becomes 0.
  package let low: Double
  /// Becomes 255; may lie below `low`, which inverts.
  package let high: Double

  /// - Throws: ``CutError`` `.invalidOption` when the two are equal or not finite.
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

  /// The grey level of a value, not rounded or clamped. Multiplied first, so that halves come out as halves.
  @inline(__always)
  func level(_ value: Double) -> Double { (value - low) * 255 / (high - low) }
}
