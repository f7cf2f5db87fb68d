import ArgumentParser
import CommandSupport
import TileIndex

/// `tilecut convert`
struct ConvertCommand: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "convert",
    abstract: "Writes a bundle in another container: MBTiles, PMTiles, GeoPackage, or a folder.",
    discussion: "Tiles, metadata and places stay as they are. The name of the output chooses the container.")

  @Argument(
    help: ArgumentHelp("A bundle of any maker: MBTiles, PMTiles, GeoPackage, or a folder.", valueName: "bundle"))
  var bundle: String
  @Argument(
    help: ArgumentHelp(
      "The bundle to write: .mbtiles, .pmtiles, .gpkg, or a folder with a slash at its end.", valueName: "output"))
  var second: String?
  @Option(name: [.short, .long], help: "The bundle to write, as in the other commands.")
  var output: String?
  @Option(help: "How rows count in a folder: xyz from the north, tms from the south. (default: xyz)")
  var scheme: TileScheme?
  @Flag(help: "Replace the output if it exists.")
  var force = false
  @Flag(help: "Print JSON.")
  var json = false
  @OptionGroup var progress: ProgressOption

  func validate() throws {
    guard (second == nil) != (output == nil) else {
      throw ValidationError("name one bundle to write: tilecut convert BUNDLE OUTPUT")
    }
    try requireFolder(second ?? output ?? "", for: scheme)
  }

  func run() throws {
    let output = second ?? self.output ?? ""
    try OutputFile.protect([bundle], from: output)
    try BundleFile.check(output: output, replacing: force)
    let reader = try BundleFile.open(bundle)
    let convert = BundleConvert(scheme: scheme ?? .xyz)
    let summary = try progress.showing(of: reader.knownTileCount) { shown in
      try stoppable { try convert.write(reader, to: output, replacing: force, progress: shown) }
    }
    try WrittenBundle(summary, output).show(json: json)
  }
}
