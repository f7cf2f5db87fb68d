import ArgumentParser
import CommandSupport
import Support
import TileCut
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
  @OptionGroup var settings: SettingOptions<SourceSection>
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
  @OptionGroup var settings: SettingOptions<AreaSection>

  /// Whether something is said of the grid.
  var hasGrid: Bool { ["matrix", "tileSize", "scaleFactor"].contains { settings.texts[$0] != nil } }

  func validate() throws {
    if let buffer, !(buffer.isFinite && buffer >= 0) {
      throw ValidationError("--buffer is a number of metres from 0 on")
    }
  }

  /// - Parameter path: of the manifest, for messages.
  func apply(to options: inout CutOptions, path: String?) throws {
    options.bounds = bounds?.box ?? options.bounds
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
  @OptionGroup var settings: SettingOptions<TileSection>
  @Option(help: "How rows count in a folder: xyz from the north, tms from the south. (default: xyz)")
  var scheme: TileScheme?

  /// Those of the encoding.
  var encoding: [String: [String]] { settings.texts.filter { CutSetting.encodingNames.contains($0.key) } }
}

/// What the bundle says of itself.
struct MetadataOptions: ParsableArguments {
  @Option(help: "The tileset's name; the first source's file name unless given.")
  var name: String?
  @Option(help: "What the tileset shows.")
  var description: String?
  @OptionGroup var settings: SettingOptions<MetadataSection>
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
    options.description = description ?? options.description
    options.version = version ?? options.version
    for file in gazetteer { options.places += try GazetteerFile.places(inFile: file) }
  }
}
