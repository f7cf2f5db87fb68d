import RegionCatalog

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
