/// Opens rasters of all supported formats, from files, standard input and servers.
package enum RasterFile {
  /// Opens a raster. Its format is detected from the content, not from the name.
  ///
  /// - Throws: ``CutError`` `.unreadableSource` if the file cannot be read; `.badSource` if it is damaged or its format
  ///   is not supported; `.noGeoreference` if its position is unknown; `.invalidOption` if an option does not fit it.
  package static func open(path: String, options: RasterOpenOptions) throws -> any RasterSource {
    try open(SourceFile.source(named: path, options), options: options)
  }

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
    var options = options
    options.auxiliary = file.isPlain ? try AuxiliaryFile(beside: path) : nil
    switch RasterFormat(file.prefix(RasterFormat.bytesWanted)) {
    case .tiff: return try GeoTIFFSource(file, options: options)
    case .png: return try ImageSource(png: file, options: options)
    case .jpeg: return try ImageSource(jpeg: file, options: options)
    case .webp: return try ImageSource(webp: file, options: options)
    case .jpeg2000: return try JP2Source(file, options: options)
    case .vrt: return try VRTSource(file, options: options)
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
    switch RasterFormat(file.prefix(RasterFormat.bytesWanted)) {
    case .tiff: return try GeoTIFFSource.valueSample(file, options: options)
    case .png: return try PNGRowSource.valueSample(path: file.readablePath, options: options)
    case .jpeg2000: return try JP2Image.valueSample(file, options: options)
    case .vrt: return try VRTSource.valueSample(file, options: options)
    case .jpeg, .webp, nil: return nil
    }
  }
}

/// The supported formats, told apart by their first bytes.
enum RasterFormat {
  case tiff, png, jpeg, webp, jpeg2000, vrt

  /// A VRT may begin with an XML declaration and comments.
  static let bytesWanted = 1024

  init?(_ bytes: [UInt8]) {
    func starts(_ magic: [UInt8]) -> Bool { bytes.starts(with: magic) }
    if starts([0x49, 0x49, 42, 0]) || starts([0x4d, 0x4d, 0, 42]) || starts([0x49, 0x49, 43, 0])
      || starts([0x4d, 0x4d, 0, 43])
    {
      self = .tiff
    } else if starts([0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a]) {
      self = .png
    } else if starts([0xff, 0xd8]) {
      self = .jpeg
    } else if starts(Array("RIFF".utf8)), bytes.dropFirst(8).starts(with: Array("WEBP".utf8)) {
      self = .webp
    } else if starts([0, 0, 0, 12, 0x6a, 0x50, 0x20, 0x20]) || starts([0xff, 0x4f, 0xff, 0x51]) {
      self = .jpeg2000
    } else if VRTDocument.isVRT(bytes) {
      self = .vrt
    } else {
      return nil
    }
  }
}
