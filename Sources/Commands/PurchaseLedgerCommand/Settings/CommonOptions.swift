import ArgumentParser
import CommandConfiguration
import CommandSupport
import PurchaseLedger
import Support

/// The options of every subcommand; nil where the environment, the file or the default decides.
struct CommonOptions: ParsableArguments {
  @Option(help: ArgumentHelp("The ledger. (default: ledger.sqlite)", valueName: "file"))
  var ledger: String?

  @Option(help: ArgumentHelp("A JSON file with any of these options and the policies.", valueName: "file"))
  var config: String?

  @Option(
    name: .customLong("root-certificate"), parsing: .singleValue,
    help: ArgumentHelp("A root that Apple's evidence must chain to, DER or PEM; repeatable.", valueName: "file"))
  var rootCertificates: [String] = []

  @Option(help: "The app's bundle id at Apple.")
  var bundleId: String?

  @Option(help: ArgumentHelp("The app's number at Apple.", valueName: "number"))
  var appAppleId: String?

  @Option(help: "The store's environment: production or sandbox.")
  var environment: String?

  @Option(help: ArgumentHelp("The app's licensing key at Google, DER, PEM or base64.", valueName: "file"))
  var googlePublicKey: String?

  @Option(help: "The app's package name at Google.")
  var packageName: String?

  @Option(help: ArgumentHelp("The time to take for now: milliseconds since 1970 or RFC 3339.", valueName: "time"))
  var now: String?

  @Flag(help: "Print JSON.")
  var json = false

  /// The flags that were given, by the names of the configuration.
  var values: FlagValues {
    FlagValues(
      [
        "ledger": ledger, "bundleId": bundleId, "appAppleId": appAppleId, "environment": environment,
        "googlePublicKey": googlePublicKey, "packageName": packageName, "now": now,
      ],
      lists: ["rootCertificates": rootCertificates])
  }
}
