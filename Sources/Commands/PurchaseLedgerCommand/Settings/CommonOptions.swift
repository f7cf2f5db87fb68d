import ArgumentParser
import CommandConfiguration

/// The options of every subcommand; nil where the environment, the file or the default decides.
struct CommonOptions: ParsableArguments {
  @Option(help: ArgumentHelp("The ledger. (default: ledger.sqlite)", valueName: "file"), completion: .file())
  var ledger: String?

  @Option(
    help: ArgumentHelp(
      "A JSON file with any of these options, appAppleId, googlePublicKey, packageName and policies.", valueName: "file"
    ),
    completion: .file())
  var config: String?

  @Option(
    help: ArgumentHelp(
      """
      Work as if it were this time, for tests: 2026-11-21T15:00:00Z, or milliseconds since 1970. (default: the \
      present)
      """, valueName: "time"))
  var now: String?

  @Flag(help: "Print JSON.")
  var json = false

  /// The flags that were given, by the names of the configuration.
  var values: FlagValues { FlagValues(["ledger": ledger, "now": now]) }
}

/// Production or sandbox.
struct EnvironmentOption: ParsableArguments {
  @Option(
    help: """
      The stores' environment whose purchases count: production or sandbox. (default: the ledger's, production in a \
      new one)
      """,
    completion: .list(["production", "sandbox"]))
  var environment: String?

  var values: FlagValues { FlagValues(["environment": environment]) }
}

/// The options of subcommands that verify evidence.
struct EvidenceOptions: ParsableArguments {
  @OptionGroup var app: AppOptions
  @OptionGroup var environment: EnvironmentOption

  var values: FlagValues { app.values.adding(environment.values) }
}
