import ArgumentParser
import CommandSupport
import Gazetteer
import RegionCatalog
import Support
import TileCut
import TileImage
import TileIndex

/// Where to, and how the work is done.
struct WorkOptions: ParsableArguments {
  @Option(
    name: [.customShort("o"), .customLong("output")],
    help: "The bundle to write: .mbtiles, .pmtiles, .gpkg, or a folder with a slash at its end.", completion: .file())
  var outputOption: String?
  @Option(
    help: ArgumentHelp(
      "Draw the sources over this bundle, on its grid and zooms; it is replaced unless -o is given.",
      valueName: "bundle"), completion: .file())
  var append: String?
  @Option(help: ArgumentHelp("Worker threads; one a core unless given.", valueName: "n"))
  var threads: Int?
  @Option(help: ArgumentHelp("Memory that the cut may take, such as 512MB.", valueName: "bytes"))
  var memory = BytesArgument(bytes: 256_000_000)
  @Flag(help: "Replace the output if it exists, and drop what a stopped cut of it left.")
  var force = false
  @Flag(help: "Keep the work of a cut that is stopped or killed, and continue it.")
  var resume = false
  @OptionGroup var progress: ProgressOption
  @Flag(
    help: """
      Say what would be cut, and about how many bytes (of MBTiles without -o) and seconds from a sample of tiles, and \
      stop.
      """)
  var dryRun = false
  @Flag(help: "Print JSON.")
  var json = false

  /// The bundle that is written. A dry run writes none, and only its container counts.
  var output: String {
    if let outputOption { return outputOption }
    guard let append else { return dryRun ? "map.mbtiles" : "" }
    // A folder that is added to is one without a slash at its end, too.
    return BundleFile.kind(append) == .folder ? append.withoutSlashes + "/" : append
  }

  func validate() throws {
    try checkResources(threads: threads, memory: memory)
  }
}

/// What is said of the rasters.
struct SourceOptions: ParsableArguments {
  @Option(
    help: ArgumentHelp(
      """
      A text file with the names of more rasters, one a line, such as list.txt of a thousand scans; they are drawn \
      over those named here, and names are relative to the file.
      """,
      valueName: "file"), completion: .file())
  var srcList: String?
  @Option(
    parsing: .unconditionalSingleValue,
    help: ArgumentHelp(
      """
      The coordinate reference system (CRS) of a source's or every source's positions, where they do not say it or say \
      it wrongly: EPSG:25832, WKT, a PROJ string or a .prj file; repeatable.
      """, valueName: "[source=]crs"))
  var crs: [String] = []
  @Option(
    parsing: .unconditionalSingleValue,
    help: ArgumentHelp(
      """
      The value of pixels that show nothing, which become transparent: 0, or one for each band, such as 255,255,255; \
      of a source or of every source; repeatable.
      """, valueName: "[source=]V[,V...]"))
  var nodata: [SourceArgument<NumbersArgument>] = []
  @Option(
    parsing: .unconditionalSingleValue,
    help: ArgumentHelp(
      """
      Bands to show, from 1: one as grey, or red, green and blue; without alpha unless --alpha names it. Of a source \
      or of every source; repeatable.
      """,
      valueName: "[source=]N[,N,N]"))
  var bands: [SourceArgument<BandsArgument>] = []
  @Option(
    parsing: .unconditionalSingleValue,
    help: ArgumentHelp(
      "The alpha band of a source or of every source, or none; what each says unless given; repeatable.",
      valueName: "[source=]N|none"))
  var alpha: [SourceArgument<AlphaArgument>] = []
  @Option(
    parsing: .unconditional,
    help: ArgumentHelp(
      "Values that become black and white, for more than 8 bits; auto: the 2nd and 98th percentile.",
      valueName: "MIN,MAX|auto"))
  var scale: ScaleArgument?
  @Option(
    parsing: .unconditionalSingleValue,
    help: ArgumentHelp(
      """
      GeoJSON with the outline within which a source is drawn, or with the outlines of several by their "location"; \
      repeatable.
      """,
      valueName: "[source=]file"), completion: .file())
  var cutline: [String] = []
  @Option(
    parsing: .unconditionalSingleValue,
    help: ArgumentHelp(
      "Pixels to leave out at the left, top, right and bottom of a source, or of every source; repeatable.",
      valueName: "[source=]L,T,R,B"))
  var crop: [String] = []
  @Flag(help: "The source lies nowhere on Earth (a scan, a plan): cut its pixels as they are.")
  var flat = false

  func apply(to options: inout CutOptions) throws {
    for text in cutline { try options.addCutlines(text) }
    // What is said of one source goes over what is said of all.
    for text in crop.filter({ !$0.contains("=") }) + crop.filter({ $0.contains("=") }) { try options.addCrop(text) }
    options.isFlat = flat
    for text in crs { try options.addCRS(text) }
    for one in nodata { try options.set(one.value.values, of: one.source, \.nodata, \.nodata, option: "--nodata") }
    options.scale = scale?.range ?? options.scale
    for one in bands { try options.set(one.value.bands, of: one.source, \.bands, \.bands, option: "--bands") }
    for one in alpha { try options.set(one.value.band, of: one.source, \.alpha, \.alpha, option: "--alpha") }
  }
}

/// Which part is cut, in which tiles.
struct AreaOptions: ParsableArguments {
  @Option(
    parsing: .unconditional,
    help: ArgumentHelp(
      """
      West, south, east and north in degrees: the part to cut, or the place of a source that does not say where it lies.
      """,
      valueName: "W,S,E,N"))
  var bounds: BoundsArgument?
  @Option(
    help: ArgumentHelp("GeoJSON with the area to show; everything outside it is transparent.", valueName: "file"),
    completion: .file())
  var clip: String?
  @Option(help: ArgumentHelp("Metres by which the area of --clip grows on the ground.", valueName: "metres"))
  var buffer: Double?
  @Option(
    help: ArgumentHelp(
      """
      The grid of the tiles, a tile matrix set: \(MatrixArgument.names), or a file with one in OGC's JSON form. \
      (default: WebMercatorQuad)
      """,
      valueName: "name|file.json"), completion: .file())
  var matrix: MatrixArgument?
  @Option(
    help: ArgumentHelp(
      "Pixels of a tile's edge: 256, or 512 with the detail of the next zoom. (default: 256)",
      valueName: "n"), completion: .list(["256", "512"]))
  var tileSize: Int?
  @Option(
    help: ArgumentHelp(
      "Pixels of a tile for each of the screen; 2 for dense screens (@2x). (default: 1)",
      valueName: "n"), completion: .list(["1", "2"]))
  var scaleFactor: Int?
  @Option(
    help: ArgumentHelp(
      "Zoom levels to store, such as 8 or 0-12; unless given, from 0 to the one that shows each pixel of the sources.",
      valueName: "N|MIN-MAX"))
  var zoom: ZoomArgument?
  @Flag(
    help: """
      End each area at the zoom that shows each pixel of the sources there, at most the deepest of --zoom, so that a \
      fine source does not deepen all of a coarse one.
      """)
  var variableDepth = false

  /// Whether something is said of the grid.
  var hasGrid: Bool { matrix != nil || tileSize != nil || scaleFactor != nil }

  func validate() throws {
    if let tileSize, tileSize != 256, tileSize != 512 { throw ValidationError("--tile-size is 256 or 512") }
    if let scaleFactor, !(1...2).contains(scaleFactor) { throw ValidationError("--scale-factor is 1 or 2") }
    if let buffer, !(buffer.isFinite && buffer >= 0) {
      throw ValidationError("--buffer is a number of metres from 0 on")
    }
  }

  /// - Parameter path: of the manifest, for messages.
  func apply(to options: inout CutOptions, path: String?) throws {
    if let matrix { options.matrixSet = try matrix.matrixSet() }
    if let zoom { options.zoom = zoom.selection }
    options.variableDepth = variableDepth || options.variableDepth
    options.bounds = bounds?.box ?? options.bounds
    options.tileSize = tileSize ?? options.tileSize
    options.scaleFactor = scaleFactor ?? options.scaleFactor
    if let clip { options.clip = try ClipArea(file: clip) }
    guard let buffer else { return }
    guard options.clip != nil else {
      throw CutError(
        .invalidOption, path: path, "is not clipped, so there is nothing to grow by --buffer",
        remedy: "set \"clip\": true in the manifest, or give --clip")
    }
    options.clip?.bufferMetres = buffer
  }
}

/// How tiles are drawn and stored.
struct TileOptions: ParsableArguments {
  @Option(
    help: """
      Tile format: png, jpeg, webp, or one where opaque and another elsewhere: auto (JPEG and PNG), jpeg+webp, \
      webp+png. (default: png)
      """)
  var format: FormatArgument?
  @Option(
    help: ArgumentHelp(
      """
      Quality of JPEG and WebP, 1-100, with a --format that has them (jpeg, webp, auto, ...), or with --append to such \
      tiles; --format webp is lossless unless it is given. (default: 85)
      """, valueName: "n"))
  var quality: Int?
  @Option(help: ArgumentHelp("Reduce PNG tiles to palettes of at most so many colours, 2-256.", valueName: "n"))
  var colors: Int?
  @Option(help: "How hard PNG tiles are compressed: fast, balanced, or small, which takes longest. (default: balanced)")
  var effort: PNGEffort?
  @Option(
    help: """
      How pixels are interpolated: \(Resampling.allCases.map(\.rawValue).joined(separator: ", ")). \
      (default: bilinear)
      """)
  var resampling: Resampling?
  @Flag(help: "Average coarser zooms in linear light, which keeps small lights bright, not in sRGB values.")
  var linear = false
  @Option(help: "How rows count in a folder: xyz from the north, tms from the south. (default: xyz)")
  var scheme: TileScheme?

  static let qualityNeedsFormat = ValidationError(
    "--quality needs --format, with another than png: jpeg, webp or auto")

  /// Refuses options of other formats than the one that is named; a manifest may name it too.
  func validate() throws {
    if let quality, !(1...100).contains(quality) { throw ValidationError("--quality goes from 1 to 100") }
    if let colors, !(2...256).contains(colors) { throw ValidationError("--colors goes from 2 to 256") }
    let format = format?.format
    if quality != nil, format == .png { throw Self.qualityNeedsFormat }
    guard let format, !format.hasPNG else { return }
    if effort != nil { throw ValidationError("--effort is for PNG tiles, and --format is \(format.rawValue)") }
    if colors != nil { throw ValidationError("--colors is for PNG tiles, and --format is \(format.rawValue)") }
  }

  /// - Parameter path: of the manifest, for messages.
  func apply(to options: inout CutOptions, path: String?) throws {
    options.resampling = resampling ?? options.resampling
    options.isLinear = linear || options.isLinear
    options.scheme = scheme ?? .xyz
    if let format { options.encoding = TileEncoding(format.format, quality: quality, png: PNGOptions()) }
    guard effort != nil || colors != nil else { return }
    guard options.encoding.formats.contains(.png) else {
      let option = effort != nil ? "--effort" : "--colors"
      throw CutError(
        .invalidOption, path: path, "\(option) is for PNG tiles, and the manifest's format is another",
        remedy: "leave \(option) out, or add --format png")
    }
    options.encoding = options.encoding.changingPNG { png in
      PNGOptions(effort: effort ?? png.effort, colours: colors ?? png.colours)
    }
  }
}

/// What the bundle says of itself.
struct MetadataOptions: ParsableArguments {
  @Option(help: "The tileset's name; the first source's file name unless given.")
  var name: String?
  @Option(help: "Whom the data must be credited to.")
  var attribution: String?
  @Option(help: "What the tileset shows.")
  var description: String?
  @Option(
    help: """
      What the map is: a baselayer, which fills the screen, or an overlay, which is drawn over another map, such as \
      clouds or trails. (default: baselayer)
      """)
  var type: BundleMetadata.Kind?
  @Option(help: "The version of the tileset, which programs that show it can print. (default: 1)")
  var version: String?
  @Option(
    help: ArgumentHelp(
      "Places to look for on the map: GeoJSON, or a table of geonames.org; repeatable.", valueName: "file"),
    completion: .file())
  var gazetteer: [String] = []

  func validate() throws {
    if name?.isEmpty == true { throw ValidationError("--name is empty") }
    if version?.isEmpty == true { throw ValidationError("--version is empty") }
  }

  func apply(to options: inout CutOptions) throws {
    options.name = name ?? options.name
    options.attribution = attribution ?? options.attribution
    options.description = description ?? options.description
    options.type = type ?? options.type
    options.version = version ?? options.version
    for file in gazetteer { options.places += try GazetteerFile.places(inFile: file) }
  }
}
