import ArgumentParser
import CommandSupport
import Support
import TileCut
import TileIndex

/// `tilecut preview`
struct PreviewCommand: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "preview", abstract: "Draws a place of a bundle as one PNG, or all its zooms on a contact sheet.",
    discussion: """
      Where the bundle has no tile, the nearest coarser one is enlarged. With --zoom a pixel of the picture is one of \
      that zoom; otherwise \
      all of the box is shown.
      """)

  @Argument(
    help: ArgumentHelp("A bundle with raster tiles: MBTiles, PMTiles, GeoPackage, or a folder.", valueName: "bundle"),
    completion: .file())
  var bundle: String
  @Option(name: [.short, .long], help: "The PNG to write.", completion: .file())
  var output: String
  @Option(
    parsing: .unconditional,
    help: ArgumentHelp("What to show, in degrees; the bundle's bounds unless given.", valueName: "W,S,E,N"))
  var bounds: BoundsArgument?
  @Option(help: ArgumentHelp("The zoom to show.", valueName: "N"))
  var zoom: Int?
  @Option(
    help: ArgumentHelp(
      "Pixels of the picture (default: the box's shape, 1024 along its longer edge).", valueName: "WxH"))
  var size: SizeArgument?
  @Flag(help: "A panel for each zoom, with all of its tiles.")
  var contactSheet = false
  @OptionGroup var options: OutputOptions

  func validate() throws {
    if contactSheet, bounds != nil || zoom != nil || size != nil {
      throw ValidationError("--contact-sheet shows all of the bundle: it goes without --bounds, --zoom and --size")
    }
  }

  func run() throws {
    try OutputFile.protect([bundle], from: output)
    if let ending = output.split(separator: ".").last?.lowercased(), Self.otherEndings.contains(ending) {
      throw BundleError(.invalidName, path: output, "a preview is a PNG", remedy: "name it .png")
    }
    try OutputFile.check(output, replacing: options.force)
    let png = try stoppable {
      let reader = try openBundle(bundle)
      return contactSheet
        ? try options.progress.showing(of: reader.knownTileCount) { try ContactSheet().png(of: reader, progress: $0) }
        : try BundlePreview(bounds: bounds?.box, zoom: zoom, size: size?.size)
          .png(of: reader, refusingEmpty: bounds != nil)
    }
    try OutputFile.write(png, to: output, replacing: options.force)
    if options.json {
      let members: [JSONValue.Member] = [.init("path", .string(output)), .init("bytes", .number(png.count))]
      return printText(JSONValue.object(members).indentedText)
    }
    printLine("\(output): \(formatted(bytes: png.count))")
  }

  /// A PNG under such a name would mislead whoever opens it.
  private static let otherEndings: Set<String> = [
    "jpg", "jpeg", "webp", "gif", "tif", "tiff", "pdf", "svg", "mbtiles", "pmtiles", "gpkg", "kmz", "kml", "zip",
  ]
}
