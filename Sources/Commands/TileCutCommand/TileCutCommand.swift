import ArgumentParser

@main
struct TileCutCommand: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "tilecut", abstract: "Cuts raster maps into MBTiles bundles.")
}
