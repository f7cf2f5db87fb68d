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

  @Option(help: "production or sandbox.")
  var environment: String?

  @Option(help: ArgumentHelp("The app's licensing key at Google, DER, PEM or base64.", valueName: "file"))
  var googlePublicKey: String?

  @Option(help: "The app's package name at Google.")
  var packageName: String?

  @Option(help: ArgumentHelp("A fixed clock: milliseconds since 1970 or RFC 3339.", valueName: "time"))
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

/// The progress option of long-running subcommands.
struct ProgressOption: ParsableArguments {
  @Option(help: "auto, bar, plain, json or none.")
  var progress: ProgressStyle = .auto

  /// - Parameter noun: what is counted, in the plural.
  func printer(_ noun: String) -> CountPrinter { CountPrinter(style: progress, noun: noun) }
}

/// Shows the progress of a count.
final class CountPrinter: Sendable {
  private let noun: String
  private let printer: ProgressPrinter

  init(style: ProgressStyle, noun: String) {
    self.noun = noun
    printer = ProgressPrinter(style: style)
  }

  /// - Parameters:
  ///   - done: how many `noun` are done.
  ///   - fraction: of the whole; nil when that is not known.
  func show(_ done: Int, fraction: Double?) {
    let seconds = printer.seconds
    printer.show(
      seconds: seconds, fraction: fraction, text: text(done, fraction, seconds), json: json(done, fraction, seconds))
  }

  func show(_ done: Int, of total: Int) { show(done, fraction: total > 0 ? Double(done) / Double(total) : nil) }

  /// Removes the bar from the terminal.
  func finish() { printer.finish() }

  private func json(_ done: Int, _ fraction: Double?, _ seconds: Double) -> String {
    JSONValue.fields([
      ("done", .init(done)), ("of", .string(noun)),
      ("fraction", fraction.map { .number(DecimalText.fixed($0, 4)) } ?? .null),
      ("seconds", .number(DecimalText.fixed(seconds, 3))),
    ]).text
  }

  private func text(_ done: Int, _ fraction: Double?, _ seconds: Double) -> String {
    let share = fraction.map { " (\(Int(min($0, 1) * 100)) %)" } ?? ""
    return "\(done) \(noun)\(share), \(Int(Double(done) / max(seconds, 0.001)))/s"
  }
}
