import ArgumentParser
import CommandConfiguration
import CommandSupport
import Logging

/// The flags of `mapstore serve`; nil where the environment, the file or the default decides.
struct MapStoreFlags: ParsableArguments {
  @OptionGroup(title: "What is sold") var store: Store
  @OptionGroup(title: "Address") var address: Address
  @OptionGroup(title: "App") var app: AppOptions

  /// The regions, their purchases, and a file with more.
  struct Store: ParsableArguments {
    @Option(
      help: ArgumentHelp("The folder with catalogue.json, as tilecut build makes it.", valueName: "folder"),
      completion: .directory)
    var catalogue: String?

    @Option(
      help: ArgumentHelp("The ledger, as purchase-ledger init makes it. (default: ledger.sqlite)", valueName: "file"),
      completion: .file())
    var ledger: String?

    @Option(
      help: ArgumentHelp("A JSON file with any of these options, and more.", valueName: "file"), completion: .file())
    var config: String?
  }

  /// Where the server listens, and how clients reach it.
  struct Address: ParsableArguments {
    @Option(help: "Address to listen on; 0.0.0.0 or :: for all. (default: 127.0.0.1)")
    var host: String?

    @Option(help: "Port; 0 for any that is free. (default: 8090)")
    var port: String?

    @Option(help: ArgumentHelp("Where clients reach the store; download links begin with it.", valueName: "url"))
    var publicUrl: String?
  }

  /// The flags that were given, by the names of the configuration.
  var values: FlagValues {
    FlagValues([
      "catalogue": store.catalogue, "ledger": store.ledger, "host": address.host, "port": address.port,
      "publicUrl": address.publicUrl,
    ]).adding(app.values)
  }
}
