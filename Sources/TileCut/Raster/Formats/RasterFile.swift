/// Opens rasters of all supported formats, from files, standard input and servers.
package enum RasterFile {
  /// Opens a raster. Its format is detected from the content, not from the name.
  ///
  /// - Throws: ``CutError`` `.unreadableSource` if the file cannot be read; `.badSource` if it is damaged or its format
  ///   is not supported; `.noGeoreference` if its position is unknown; `.invalidOption` if an option does not fit it.
  package static func open(path: String, options: RasterOpenOptions) throws -> any RasterSource {
    try open(options.file(named: path), options: options)
  }

  private static var files: VRTFiles { VRTFiles(open: open(path:options:), valueSample: valueSample) }

  /// Opens a raster in a file that is open already.
  static func open(_ file: SourceFile, options: RasterOpenOptions) throws -> any RasterSource {
    do {
      let source = try source(file, options: options)
      // A mask that could not be looked for would be missing without a word.
      if let failure = file.remote?.failure { throw failure }
      return source
    } catch {
      throw file.remote?.failure ?? error
    }
  }

  private static func source(_ file: SourceFile, options: RasterOpenOptions) throws -> any RasterSource {
    let path = file.path
    let options = try options.withAuxiliary(beside: file)
    switch RasterFormat(file.prefix(RasterFormat.bytesWanted)) {
    case .tiff: return try GeoTIFFSource(file, options: options)
    case .png: return try ImageSource(png: file, options: options)
    case .jpeg: return try ImageSource(jpeg: file, options: options)
    case .webp: return try ImageSource(webp: file, options: options)
    case .jpeg2000: return try JP2Source(file, options: options)
    case .vrt: return try VRTSource(file, files: files, options: options)
    case nil:
      throw CutError(
        .badSource, path: path, file.size == 0 ? "is empty" : "is no raster of a known format",
        remedy: "give a GeoTIFF, PNG, JPEG, JPEG 2000, WebP or VRT file; others can be converted with gdal_translate")
    }
  }

  /// A sample of the values of a raster's colours; nil if they need no scale.
  ///
  /// - Throws: ``CutError`` as for ``open(path:options:)``.
  static func valueSample(_ file: SourceFile, options: RasterOpenOptions) throws -> ValueSample? {
    let options = try options.withAuxiliary(beside: file).withAuxiliaryNodata
    switch RasterFormat(file.prefix(RasterFormat.bytesWanted)) {
    case .tiff: return try GeoTIFFSource.valueSample(file, options: options)
    case .png: return try PNGRowSource.valueSample(file, options: options)
    case .jpeg2000: return try JP2Image.valueSample(file, options: options)
    case .vrt: return try VRTSource.valueSample(file, files: files, options: options)
    case .jpeg, .webp, nil: return nil
    }
  }

  /// Whether a raster's colours need a scale, because they have more than 8 bits.
  ///
  /// - Throws: ``CutError`` as for ``open(path:options:)``.
  static func needsScale(_ file: SourceFile, options: RasterOpenOptions) throws -> Bool {
    switch RasterFormat(file.prefix(RasterFormat.bytesWanted)) {
    case .tiff: try GeoTIFFSource.needsScale(file, options: options.withAuxiliary(beside: file))
    case .png: try PNGRowSource.needsScale(path: file.readablePath)
    case .jpeg2000: try JP2Image.needsScale(file, options: options)
    case .vrt: try valueSample(file, options: options) != nil
    case .jpeg, .webp, nil: false
    }
  }
}

extension RasterOpenOptions {
  fileprivate func withAuxiliary(beside file: SourceFile) throws -> RasterOpenOptions {
    var options = self
    options.auxiliary = file.isPlain ? try AuxiliaryFile(beside: file.path) : nil
    return options
  }
}
