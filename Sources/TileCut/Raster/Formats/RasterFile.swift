/// Opens rasters of every supported format.
package enum RasterFile {
  /// Opens a raster, recognised by what is in it, not by its name.
  ///
  /// - Throws: ``CutError`` `.unreadableSource` when the file cannot be read; `.badSource` when it is damaged or of no supported
  ///   format; `.noGeoreference` when it is not known where it lies; `.invalidOption` when an option does not fit it.
  package static func open(path: String, options: RasterOpenOptions) throws -> any RasterSource {
    let file = try SourceFile(path: path)
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

/// Formats told apart by their first bytes.
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
