import ArgumentParser

@main
struct MapStoreCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(commandName: "mapstore", abstract: "the map shop")
}
