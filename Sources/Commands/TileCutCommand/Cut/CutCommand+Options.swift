import ArgumentParser
import Gazetteer
import RegionCatalog
import Support
import TileCut
import TileImage
import TileIndex

/// From flags and manifests to the options of a cut.
extension CutCommand {
  /// Flags take precedence over the manifest, and the manifest over defaults.
  func makeOptions() throws -> CutOptions {
    var options = CutOptions(sources: sources)
    if let srcList { options.sources += try SourceList.paths(inFile: srcList) }
    if let first = sources.first, isManifest(first) {
      let manifest = try RegionManifest(path: sources[0], crsLookup: CoordinateReferenceSystem.forGrid)
      guard manifest.regions.count == 1 else {
        throw CutError(
          .invalidOption, path: sources[0], "holds \(manifest.regions.count) regions",
          remedy: "give a manifest with the one region to cut, or use tilecut build")
      }
      options.apply(manifest.regions[0], of: manifest)
      try options.readPlaces(of: manifest.regions[0], in: manifest)
    }
    if let matrix { options.matrixSet = try matrix.matrixSet() }
    if let zoom { options.zoom = zoom.selection }
    options.variableDepth = variableDepth || options.variableDepth
    options.bounds = bounds?.box ?? options.bounds
    if let clip { options.clip = try ClipArea(file: clip) }
    if let buffer {
      guard options.clip != nil else {
        throw CutError(
          .invalidOption, path: sources[0], "is not clipped, so there is nothing to grow by --buffer",
          remedy: "set \"clip\": true in the manifest, or give --clip")
      }
      options.clip?.bufferMetres = buffer
    }
    for text in cutline { try options.addCutlines(text) }
    // What is said of one source goes over what is said of all.
    for text in crop.filter({ !$0.contains("=") }) + crop.filter({ $0.contains("=") }) { try options.addCrop(text) }
    options.isFlat = flat
    try setEncoding(of: &options)
    options.tileSize = tileSize ?? options.tileSize
    options.scaleFactor = scaleFactor ?? options.scaleFactor
    options.resampling = resampling ?? options.resampling
    options.isLinear = linear || options.isLinear
    for text in crs { try options.addCRS(text) }
    for one in nodata { try options.set(one.value.values, of: one.source, \.nodata, \.nodata, option: "--nodata") }
    options.scale = scale?.range ?? options.scale
    for one in bands { try options.set(one.value.bands, of: one.source, \.bands, \.bands, option: "--bands") }
    for one in alpha { try options.set(one.value.band, of: one.source, \.alpha, \.alpha, option: "--alpha") }
    options.name = name ?? options.name
    options.attribution = attribution ?? options.attribution
    options.description = description ?? options.description
    options.type = type ?? options.type
    options.scheme = scheme ?? .xyz
    options.version = version ?? options.version
    for file in gazetteer { options.places += try GazetteerFile.places(inFile: file) }
    return options
  }

  /// Refuses options of other formats than the one that is named; a manifest may name it too.
  func checkFormat() throws {
    if let quality, !(1...100).contains(quality) { throw ValidationError("--quality goes from 1 to 100") }
    if let colors, !(2...256).contains(colors) { throw ValidationError("--colors goes from 2 to 256") }
    let format = format?.format
    if quality != nil, format == nil || format == .png {
      throw ValidationError("--quality needs --format, with another than png")
    }
    guard let format, !format.hasPNG else { return }
    if effort != nil { throw ValidationError("--effort is for PNG tiles, and --format is \(format.rawValue)") }
    if colors != nil { throw ValidationError("--colors is for PNG tiles, and --format is \(format.rawValue)") }
  }

  private func setEncoding(of options: inout CutOptions) throws {
    if let format { options.encoding = TileEncoding(format.format, quality: quality, png: PNGOptions()) }
    guard effort != nil || colors != nil else { return }
    guard options.encoding.formats.contains(.png) else {
      let option = effort != nil ? "--effort" : "--colors"
      throw CutError(
        .invalidOption, path: sources[0], "\(option) is for PNG tiles, and the manifest's format is another",
        remedy: "leave \(option) out, or add --format png")
    }
    options.encoding = options.encoding.changingPNG { png in
      PNGOptions(effort: effort ?? png.effort, colours: colors ?? png.colours)
    }
  }

  func isManifest(_ source: String) -> Bool { source.lowercased().hasSuffix(".json") }

  // MARK: Plans

  /// The cut that words of a command line ask for.
  static func cutter(_ words: [String], _ resources: CutResources) throws -> Cutter {
    // The output's name has no influence on what is planned.
    try Cutter(Self.parse(words + ["--output", "plan.mbtiles"]).makeOptions(), resources: resources)
  }

  /// The cut of a plan. Relative paths count from the folder of the plan's making, where that exists.
  static func cutter(_ plan: ShardPlan, _ resources: CutResources) throws -> Cutter {
    _ = FileSystem.enter(plan.folder)
    return try cutter(plan.arguments, resources)
  }
}
