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
  /// True for an elevation model, whose pixels become ``HeightCode``; set by ``forHeights``.
  var readsHeights = false
  /// Overrides the file's statement about its alpha band.
  package var alpha: AlphaBand?
  /// The colours of values that a VRT states, by the bands' numbers from 1. An empty table of tables says that all
  /// values are levels, whatever colours the file has for them. Nil means what the file says, or the file beside it.
  var colourTables: [Int: ColourTable]?
  /// How many VRT files lead to this one.
  var vrtDepth = 0
  /// Bytes of decoded pixels to cache; ignored if there is a ``cache``.
  package var cacheBytesMax: Int
  /// A cache shared with other rasters.
  package var cache: BlockCache?
  /// The value of `--memory` in MB that suffices for a cache of some bytes; nil where there is no such option.
  var memoryAdvice: (@Sendable (_ cacheBytes: Int) -> Int)?
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
  /// What to do about a file that takes more of the cache than there is.
  func remedy(cacheBytes: Int, orElse other: String) -> String {
    memoryAdvice.map { "give --memory \($0(cacheBytes))MB, or \(other)" } ?? other
  }

  /// Opens an elevation model: the first band's values as ``HeightCode``, whatever is said of the bands of pictures.
  var forHeights: RasterOpenOptions {
    var options = withAnyScale
    options.readsHeights = true
    options.colourTables = [:]
    options.bands = [1]
    options.alpha = nil
    options.keeps8Bit = false
    return options
  }

  /// Opens whatever needs a scale, to look at its values: any scale says that the samples need not be 8-bit.
  var withAnyScale: RasterOpenOptions {
    var options = self
    options.scale = SampleScale(unchecked: 0, 1)
    options.keeps8Bit = true
    return options
  }

  /// The nodata value of the file beside the raster counts unless one is given.
  var withAuxiliaryNodata: RasterOpenOptions {
    var options = self
    options.nodata = options.nodata ?? options.auxiliary?.nodata
    return options
  }

  /// The colour tables of the file beside the raster count unless a VRT states others. GDAL reads them there for TIFF
  /// and JPEG alone.
  var withAuxiliaryColours: RasterOpenOptions {
    var options = self
    if let tables = auxiliary?.colourTables, !tables.isEmpty { options.colourTables = options.colourTables ?? tables }
    return options
  }

  /// The colours of the values of the one band that is shown.
  var colourTable: ColourTable? { colourTables?[bands?.first ?? 1] }

  /// The smallest and largest value of some bands that the file beside the raster, or else the raster itself, states.
  /// Nil unless all of them are known, and with a nodata value that whoever computed them may not have known.
  ///
  /// - Parameters:
  ///   - bands: numbers from 1.
  ///   - own: what the raster states, by numbers of bands.
  func statedRange(of bands: [Int], own: [Int: ClosedRange<Double>] = [:]) -> ClosedRange<Double>? {
    guard nodata == nil || nodata == auxiliary?.nodata else { return nil }
    let ranges = bands.compactMap { auxiliary?.rangeByBand[$0] ?? own[$0] }
    guard ranges.count == bands.count, let low = ranges.map(\.lowerBound).min(),
      let high = ranges.map(\.upperBound).max()
    else { return nil }
    return low...high
  }
}

/// The user's choice of bands for one raster, as indices from 0.
enum BandSelection {
  /// The bands to show, one or three; nil if the user chose none.
  ///
  /// - Throws: ``CutError`` `.invalidOption` if the raster has no such band.
  static func colours(_ options: RasterOpenOptions, bandCount: Int, path: String) throws -> [Int]? {
    try options.bands?.map { try index($0, option: "--bands", bandCount: bandCount, path: path) }
  }

  /// The alpha band that the user chose; nil if there is none.
  ///
  /// - Throws: ``CutError`` `.invalidOption` if the raster has no such band.
  static func alpha(_ options: RasterOpenOptions, bandCount: Int, path: String) throws -> Int?? {
    switch options.alpha {
    case nil: return nil
    case .absent: return .some(nil)
    case .number(let number): return try index(number, option: "--alpha", bandCount: bandCount, path: path)
    }
  }

  private static func index(_ number: Int, option: String, bandCount: Int, path: String) throws -> Int {
    guard (1...bandCount).contains(number) else {
      throw CutError(
        .invalidOption, path: path, "has no band \(number)",
        remedy: bandCount == 1 ? "it has one band: \(option) 1" : "\(option) takes its bands from 1 to \(bandCount)")
    }
    return number - 1
  }
}

extension RasterOpenOptions {
  /// Opens a source by its name: a path, `-` for standard input, or a URL.
  ///
  /// - Throws: ``CutError`` naming the source or the scratch directory.
  func file(named path: String) throws -> SourceFile {
    try SourceFile.source(
      named: path, scratchDirectory: scratchDirectory,
      cache: remoteCache ?? RemoteCache(bytesMax: RemoteCache.bytesMax(memory: cacheBytesMax)))
  }
}
