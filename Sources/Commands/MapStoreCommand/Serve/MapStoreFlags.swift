import ArgumentParser
import CommandConfiguration
import CommandSupport
import Logging

/// The flags of `mapstore serve`; nil where the environment, the file or the default decides.
struct MapStoreFlags: ParsableArguments {
  @Option(
    help: ArgumentHelp("The folder with catalogue.json, as tilecut build makes it.", valueName: "folder"),
    completion: .directory)
  var catalogue: String?

  @Option(
    help: ArgumentHelp("The ledger, as purchase-ledger init makes it. (default: ledger.sqlite)", valueName: "file"),
    completion: .file())
  var ledger: String?

  @Option(help: ArgumentHelp("A JSON file with any of these options.", valueName: "file"), completion: .file())
  var config: String?

  @Option(
    help: ArgumentHelp(
      """
      Products and their states, a line "product id,state" each, or JSON; read again when it changes. (default: all \
      are for sale)
      """,
      valueName: "file"), completion: .file())
  var products: String?

  @Option(help: "Address to listen on; 0.0.0.0 or :: for all. (default: 127.0.0.1)")
  var host: String?

  @Option(help: "Port; 0 for any that is free. (default: 8090)")
  var port: String?

  @Option(help: ArgumentHelp("Where clients reach the store; download links begin with it.", valueName: "url"))
  var publicUrl: String?

  @Option(
    parsing: .singleValue,
    help: ArgumentHelp(
      """
      A secret of 32 bytes or more that signs download links; repeatable, the first signs, all are accepted. (default: \
      a random one for this process)
      """,
      valueName: "file"), completion: .file())
  var hmacKeyFile: [String] = []

  @Option(
    parsing: .singleValue,
    help: ArgumentHelp(
      """
      An Ed25519 key that signs grants for devices; repeatable, the first signs. (default: a random one for this \
      process)
      """,
      valueName: "file"), completion: .file())
  var grantKeyFile: [String] = []

  @Option(
    help: ArgumentHelp(
      "nginx's internal location for the catalogue folder: nginx then sends the files (X-Accel-Redirect).",
      valueName: "path"))
  var accelPrefix: String?

  @Option(
    help: ArgumentHelp(
      "Addresses of proxies whose X-Forwarded-For is trusted, separated by commas.", valueName: "addresses"))
  var trustedProxies: String?

  @OptionGroup var app: AppOptions

  @Flag(help: "Refuse Apple's notifications of version 1, which are unsigned.")
  var refuseAppleV1 = false

  @Option(
    help: ArgumentHelp(
      """
      Google's public keys (https://www.googleapis.com/oauth2/v3/certs), read again when they change: only pushes with \
      a valid token are accepted. (default: all are accepted)
      """,
      valueName: "file"), completion: .file())
  var googlePushKeys: String?

  @Option(help: ArgumentHelp("The audience that the token of a push must name.", valueName: "text"))
  var googlePushAudience: String?

  @Option(
    help: ArgumentHelp("The service account that the token of a push must name. (default: any)", valueName: "address"))
  var googlePushAccount: String?

  @Option(
    help: ArgumentHelp(
      "How long SIGTERM waits for running requests. (default: 10)", valueName: "seconds"))
  var drainTimeout: String?

  @Option(
    help: "The least messages to log: trace, debug, info, notice, warning, error or critical. (default: info)",
    completion: .list(Logger.Level.allCases.map(\.rawValue)))
  var logLevel: String?

  @Option(
    help: ArgumentHelp("Folders with Leaflet, separated by commas.", valueName: "folders"), completion: .directory)
  var web: String?

  /// The flags that were given, by the names of the configuration.
  var values: FlagValues {
    FlagValues(
      [
        "catalogue": catalogue, "ledger": ledger, "products": products, "host": host, "port": port,
        "publicUrl": publicUrl, "accelPrefix": accelPrefix, "trustedProxies": trustedProxies, "logLevel": logLevel,
        "web": web, "googlePushKeys": googlePushKeys, "googlePushAudience": googlePushAudience,
        "googlePushAccount": googlePushAccount, "drainTimeout": drainTimeout,
      ],
      switches: ["refuseAppleV1": refuseAppleV1],
      lists: ["hmacKeyFiles": hmacKeyFile, "grantKeyFiles": grantKeyFile]
    ).adding(app.values)
  }
}
