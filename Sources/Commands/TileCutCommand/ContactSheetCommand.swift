import ArgumentParser
import TileCut
import TileIndex

/// `tilecut contact-sheet`
struct ContactSheetCommand: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "contact-sheet", abstract: "Draws a bundle as one PNG, a panel for each zoom.")

  @Argument(help: ArgumentHelp("An MBTiles bundle with raster tiles.", valueName: "bundle"))
  var bundle: String
  @Option(name: [.short, .long], help: "The PNG to write.")
  var output: String
  @Flag(help: "Replace the output if it exists.")
  var force = false

  func run() throws {
    try OutputFile.protect([bundle], from: output)
    try OutputFile.check(output, replacing: force)
    let png = try ContactSheet().png(of: MBTilesReader(path: bundle))
    try OutputFile.write(png, to: output, replacing: force)
    print("\(output): \(formatted(bytes: png.count))")
  }
}
