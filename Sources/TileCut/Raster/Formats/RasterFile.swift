/// Opens rasters of all supported formats, from files, standard input and servers.
package enum RasterFile {
  /// Opens a raster. Its format is detected from the content, not from the name.
  ///
  /// - Throws: ``CutError`` `.unreadableSource` if the file cannot be read; `.badSource` if it is damaged or its format
  ///   is not supported; `.noGeoreference` if its position is unknown; `.invalidOption` if an option does not fit it.
  package static func open(path: String, options: RasterOpenOptions) throws -> any RasterSource {
    let file = try SourceFile.source(named: path, options)
    do {
      let source = try open(file, options: options)
      // A mask that could not be looked for would be missing without a word.
      if let failure = file.remote?.failure { throw failure }
      return source
    } catch {
      throw file.remote?.failure ?? error
    }
  }

  private static func open(_ file: SourceFile, options: RasterOpenOptions) throws -> any RasterSource {
    let path = file.path
    switch RasterFormat(file.prefix(16)) {
    case .tiff: return try GeoTIFFSource(file, options: options)
    case .png: return try ImageSource(png: file, options: options)
    case .jpeg: return try ImageSource(jpeg: file, options: options)
    case nil:
      throw CutError(
        .badSource, path: path, file.size == 0 ? "is empty" : "is no raster of a known format",
        remedy: "give a GeoTIFF, PNG or JPEG file; others can be converted with gdal_translate")
    }
  }
}

/// The supported formats, told apart by their first bytes.
enum RasterFormat {
  case tiff, png, jpeg

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
    } else {
      return nil
    }
  }
}
