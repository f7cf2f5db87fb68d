import ArgumentParser
import CommandSupport
import RegionCatalog
import Support
import TileCut
import TileImage
import TileIndex

/// `tilecut cut`
struct CutCommand: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "cut",
    abstract: "Cuts rasters into a bundle.",
    discussion: """
      SOURCE is a GeoTIFF, a JPEG 2000 with its position inside, a VRT, or a PNG, JPEG or WebP with a world file and \
      .prj beside it; also its URL (http, https), or - for standard input. Several are drawn one over the other. \
      A region manifest (.json with one region) stands for all that it says of it; options go over it.
      """)

  @Argument(help: ArgumentHelp("Rasters to cut, or one region manifest.", valueName: "source"))
  var sources: [String] = []
  @Option(
    help: ArgumentHelp(
      """
      A text file with the names of more rasters, one a line, such as list.txt of a thousand scans; they are drawn \
      over those named here, and names are relative to the file.
      """,
      valueName: "file"))
  var srcList: String?
  @Option(
    name: [.customShort("o"), .customLong("output")],
    help: "The bundle to write: .mbtiles, .pmtiles, .gpkg, or a folder with a slash at its end.")
  var outputOption: String?
  @Option(
    help: ArgumentHelp(
      "Draw the sources over this bundle, on its grid and zooms; it is replaced unless -o is given.",
      valueName: "bundle"))
  var append: String?
  @Option(
    help: ArgumentHelp(
      """
      The grid of the tiles, a tile matrix set: \(MatrixArgument.names), or a file with one in OGC's JSON form. \
      (default: WebMercatorQuad)
      """,
      valueName: "name|file.json"))
  var matrix: MatrixArgument?
  @Option(
    help: ArgumentHelp(
      "Pixels of a tile's edge: 256, or 512 with the detail of the next zoom. (default: 256)",
      valueName: "n"))
  var tileSize: Int?
  @Option(
    help: ArgumentHelp(
      "Pixels of a tile for each of the screen; 2 for dense screens (@2x). (default: 1)",
      valueName: "n"))
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
  @Option(
    parsing: .unconditional,
    help: ArgumentHelp(
      """
      West, south, east and north in degrees: the part to cut, or the place of a source that does not say where it lies.
      """,
      valueName: "W,S,E,N"))
  var bounds: BoundsArgument?
  @Option(
    help: ArgumentHelp("GeoJSON with the area to show; everything outside it is transparent.", valueName: "file"))
  var clip: String?
  @Option(help: ArgumentHelp("Metres by which the area of --clip grows on the ground.", valueName: "metres"))
  var buffer: Double?
  @Option(
    parsing: .unconditionalSingleValue,
    help: ArgumentHelp(
      """
      GeoJSON with the outline within which a source is drawn, or with the outlines of several by their "location"; \
      repeatable.
      """,
      valueName: "[source=]file"))
  var cutline: [String] = []
  @Option(
    parsing: .unconditionalSingleValue,
    help: ArgumentHelp(
      "Pixels to leave out at the left, top, right and bottom of a source, or of every source; repeatable.",
      valueName: "[source=]L,T,R,B"))
  var crop: [String] = []
  @Flag(help: "The source lies nowhere on Earth (a scan, a plan): cut its pixels as they are.")
  var flat = false
  @Option(
    help: """
      Tile format: png, jpeg, webp, or one where opaque and another elsewhere: auto (JPEG and PNG), jpeg+webp, \
      webp+png. (default: png)
      """)
  var format: FormatArgument?
  @Option(
    help: ArgumentHelp(
      "Quality of JPEG and WebP, 1-100; --format webp is lossless unless it is given. (default: 85)", valueName: "n"))
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
  @Option(help: "The tileset's name; the first source's file name unless given.")
  var name: String?
  @Option(help: "Whom the data must be credited to.")
  var attribution: String?
  @Option(help: "What the tileset shows.")
  var description: String?
  @Option(
    help: """
      Whether the map fills the screen, baselayer, or is drawn over another, overlay, such as clouds or trails. \
      (default: baselayer)
      """)
  var type: BundleMetadata.Kind?
  @Option(help: "The version of the tileset, which programs that show it can print. (default: 1)")
  var version: String?
  @Option(
    help: ArgumentHelp(
      "Places to look for on the map: GeoJSON, or a table of geonames.org; repeatable.", valueName: "file"))
  var gazetteer: [String] = []
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
      The coordinate reference system (CRS) of a source's or every source's positions, where they do not say it or say \
      it wrongly: EPSG:25832, WKT, a PROJ string or a .prj file; repeatable.
      """, valueName: "[source=]crs"))
  var crs: [String] = []
  @Option(
    parsing: .unconditional,
    help: ArgumentHelp(
      "Values that become black and white, for more than 8 bits; auto: the 2nd and 98th percentile.",
      valueName: "MIN,MAX|auto"))
  var scale: ScaleArgument?
  @Option(help: "How rows count in a folder: xyz from the north, tms from the south. (default: xyz)")
  var scheme: TileScheme?
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
  @Option(help: ArgumentHelp("Worker threads; one a core unless given.", valueName: "n"))
  var threads: Int?
  @Option(help: ArgumentHelp("Memory that the cut may take, such as 512MB.", valueName: "bytes"))
  var memory = BytesArgument(bytes: 256_000_000)
  @Flag(help: "Replace the output if it exists, and drop what a stopped cut of it left.")
  var force = false
  @Flag(help: "Keep the work of a cut that is stopped or killed, and continue it.")
  var resume = false
  @Option(
    help: ArgumentHelp(
      "Cut a shard of what tilecut plan wrote; sources and options are the plan's.",
      valueName: "plan"))
  var plan: String?
  @Option(
    help: ArgumentHelp(
      "The shard to cut: its number, or auto for that in \(ShardNumber.variables.joined(separator: ", ")).",
      valueName: "n|auto"))
  var shard: ShardArgument?
  @OptionGroup var shardOptions: ShardListOptions
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
  private var output: String { outputOption ?? append ?? (dryRun ? "map.mbtiles" : "") }

  func validate() throws {
    if plan != nil {
      guard shard != nil, sources.isEmpty, srcList == nil, outputOption == nil, append == nil, !resume, !dryRun, !force
      else { throw ValidationError("--plan goes with --shard, and sources, options and output are the plan's") }
      return
    }
    if shard != nil || !shardOptions.isEmpty {
      throw ValidationError("--shard, --shard-offset and --shard-list need --plan")
    }
    if output.isEmpty { throw ValidationError("Missing expected argument '--output <output>'") }
    if append != nil, matrix != nil || flat || tileSize != nil || scaleFactor != nil {
      throw ValidationError(
        "--append takes the grid of the bundle: leave --matrix, --tile-size, --scale-factor and --flat out")
    }
    if append != nil, format == nil, colors != nil || effort != nil {
      throw ValidationError("--append keeps the bundle's format: name it with --format for --colors and --effort")
    }
    if append != nil, variableDepth {
      throw ValidationError("--append draws at all zooms of the bundle: leave --variable-depth out")
    }
    if append != nil, resume { throw ValidationError("--resume is for new bundles, not for --append") }
    if let tileSize, tileSize != 256, tileSize != 512 { throw ValidationError("--tile-size is 256 or 512") }
    if let scaleFactor, !(1...2).contains(scaleFactor) { throw ValidationError("--scale-factor is 1 or 2") }
    try checkFormat()
    if let threads, !(1...1024).contains(threads) { throw ValidationError("--threads goes from 1 to 1024") }
    if memory.bytes < 32_000_000 { throw ValidationError("--memory must be at least 32MB") }
    if name?.isEmpty == true { throw ValidationError("--name is empty") }
    if version?.isEmpty == true { throw ValidationError("--version is empty") }
    try requireFolder(output, for: scheme)
    if sources.isEmpty, srcList == nil { throw ValidationError("name a source to cut, or --src-list") }
    if sources.count > 1 || srcList != nil, sources.contains(where: isManifest) {
      throw ValidationError("a region manifest goes alone, without other sources")
    }
    if let buffer, !(buffer.isFinite && buffer >= 0) {
      throw ValidationError("--buffer is a number of metres from 0 on")
    }
    if buffer != nil, clip == nil, !sources.contains(where: isManifest) {
      throw ValidationError("--buffer needs --clip")
    }
  }

  func run() throws {
    let resources = CutResources(threads: threads, memoryBytes: memory.bytes)
    if let plan, let shard {
      let number = ShardNumber(shard: shard, options: shardOptions)
      return try ShardRun(
        plan: plan, number: number, resources: resources, progress: progress.style, json: json, cutter: Self.cutter
      ).run()
    }
    try cancellable { try cut(resources, $0) }
  }

  /// - Parameter begin: from here on a signal cancels the cut.
  private func cut(_ resources: CutResources, _ begin: () -> CutCancellation) throws {
    let options = try makeOptions()
    if dryRun {
      if append == nil { try BundleFile.check(output: output, grid: options.matrixSet) }
    } else {
      // Checked before a large source is unpacked, which takes minutes.
      try OutputFile.protect(
        sources + options.sources + options.drawing.flatMap(\.files) + gazetteer + [clip, srcList].compactMap { $0 },
        from: output)
      let isDone = resume && CutCheckpoints.isPublishing(output)
      try BundleFile.check(output: output, replacing: force || outputOption == nil || isDone)
      if !resume { try dropLeftover() }
    }
    let folder = FileSystem.split(output).folder
    let addition = try append.map { bundle in
      try BundleAppend(
        to: bundle, options: options, encoding: format == nil ? nil : options.encoding, resources: resources,
        scratchDirectory: folder)
    }
    let cutter = try addition?.cutter ?? Cutter(options, resources: resources, scratchDirectory: folder)
    let warnings = cutter.warnings
    for taken in cutter.givenCRS where !crs.isEmpty {
      printError("tilecut: --crs \(taken.source.map { "of \($0) " } ?? "")is \(taken.title)")
    }
    for warning in warnings { printError("tilecut: warning: \(warning)") }
    if let version, Double(version)?.isFinite != true {
      printError(
        "tilecut: warning: --version \(version) is not a number, as MBTiles 1.3 wants it; some readers may object")
    }
    if let scale = cutter.automaticScale {
      printError("tilecut: the values \(scale.low) to \(scale.high) become 0 to 255 (--scale auto)")
    }
    if dryRun {
      let report = DryRunReport(
        cutter, estimate: addition == nil ? try cutter.estimate(for: output) : nil, addition: try addition?.estimate())
      if json { printText(try prettyJSON(report)) } else { report.lines.forEach(printLine) }
      return
    }
    // Until here no named file was written, so a signal may kill the process.
    let cancellation = begin()
    let printer = ProgressPrinter(style: progress.style)
    do {
      let show: (CutProgress) -> Void = { printer.show($0) }
      let replacing = force || outputOption == nil
      let summary =
        try addition?.write(to: output, replacing: replacing, cancellation: cancellation, onProgress: show)
        ?? cutter.cut(
          to: output, replacing: replacing,
          checkpoints: resume ? try checkpoints() : nil, cancellation: cancellation, onProgress: show)
      printer.finish()
      // Some damage is found only when pixels are decoded.
      for warning in summary.warnings where !warnings.contains(warning) { printError("tilecut: warning: \(warning)") }
      try WrittenBundle(summary, output).show(json: json)
      if !json, let traffic = cutter.traffic {
        printLine("fetched \(formatted(bytes: traffic.bytes)) in \(counted(traffic.requests, "request"))")
      }
    } catch {
      printer.finish()
      let isRefused = (error as? CutError)?.code == .invalidOption
      if resume, !isRefused, let left = CutCheckpoints.leftover(of: output), !left.isInUse {
        printError("tilecut: \(left.tilesDone) of \(counted(left.tilesTotal, "tile")) are kept; --resume continues")
      }
      throw error
    }
  }

  private func checkpoints() throws -> CutCheckpoints {
    var checkpoints = CutCheckpoints(toolVersion: try ToolVersion.ofBuild())
    checkpoints.onContinuing = { done, total in
      printError("tilecut: \(done) of \(counted(total, "tile")) are there from before")
    }
    return checkpoints
  }

  /// The work of a stopped cut is neither used nor removed unless the user says so.
  private func dropLeftover() throws {
    guard let left = CutCheckpoints.leftover(of: output) else { return }
    let work = "\(left.tilesDone) of \(counted(left.tilesTotal, "tile"))"
    guard !left.isInUse else {
      throw BundleError(
        .busy, path: output, "another tilecut cuts it with --resume",
        remedy: "wait for that one, or choose another name")
    }
    guard force else {
      throw BundleError(
        .exists, path: output, "a cut of it was stopped after \(work), which are in \(left.folder)",
        remedy: "continue with --resume, or start anew with --force")
    }
    CutCheckpoints.removeLeftover(of: output)
    printError("tilecut: the \(work) that a stopped cut of \(output) left were removed")
  }
}
