import ArgumentParser
import TileIndex

/// `tilecut convert`
struct ConvertCommand: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "convert",
    abstract: "Writes a bundle in another container: MBTiles, PMTiles, GeoPackage, or a folder.",
    discussion: "Tiles, metadata and places stay as they are. The name of the output chooses the container.")

  @Argument(
    help: ArgumentHelp("A bundle of any maker: MBTiles, PMTiles, GeoPackage, or a folder.", valueName: "bundle"),
    completion: .file())
  var bundle: String
  @Argument(
    help: ArgumentHelp(
      "The bundle to write: .mbtiles, .pmtiles, .gpkg, or a folder with a slash at its end.", valueName: "output"),
    completion: .file())
  var second: String?
  @Option(name: [.short, .long], help: "The bundle to write, as in the other commands.", completion: .file())
  var output: String?
  @OptionGroup var options: BundleOutputOptions

  func validate() throws {
    guard (second == nil) != (output == nil) else {
      throw ValidationError("name one bundle to write: tilecut convert BUNDLE OUTPUT")
    }
    try options.validate(second ?? output ?? "")
  }

  func run() throws {
    let output = second ?? self.output ?? ""
    try options.check(output, inputs: [bundle])
    let reader = try openBundle(bundle)
    var convert = BundleConvert(scheme: options.rows)
    convert.hashes = options.tileHashes
    try options.write(output, of: reader.knownTileCount) { [convert] in
      try convert.write(reader, to: output, replacing: options.file.force, progress: $0)
    }
  }
}
