import ArgumentParser
import TileServe

/// `tileserve`: serves bundles over HTTP.
@main
struct TileServeCommand: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "tileserve", abstract: "Serves tile bundles over HTTP, offline.")

  func run() throws {}
}
