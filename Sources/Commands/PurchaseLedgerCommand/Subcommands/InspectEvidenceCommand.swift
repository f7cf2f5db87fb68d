import ArgumentParser
import CommandSupport
import PurchaseLedger
import Support

/// `purchase-ledger inspect`
struct InspectEvidenceCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "inspect",
    abstract: "Verifies and decodes evidence without recording it.",
    discussion: """
      Exits with 0 when it is valid, with 1 when it is refused or would be quarantined. Checks whose option is missing \
      are skipped; Apple's evidence needs a root certificate. A purchases.products answer of Google's does not name its \
      product and token: wrap it as for import, {"evidence": ..., "productId": ..., "purchaseToken": ...}.
      """)

  @Argument(help: ArgumentHelp("One piece of evidence; - for standard input.", valueName: "file"), completion: .file())
  var file: String
  @Option(
    name: .customLong("as"),
    help: ArgumentHelp(
      "What the evidence is, if it is not recognised or taken for something else. (default: detected)",
      valueName: "kind"))
  var kind: KindArgument?
  @OptionGroup var evidence: EvidenceOptions
  @OptionGroup var options: CommonOptions

  func run() async throws {
    let settings = try LedgerSettings(options, evidence.values)
    var identity = settings.identity
    identity.requiredEnvironment = settings.environment
    identity.requiresApp = false
    let verifier = try EvidenceVerifier(identity: identity)
    do {
      let bytes = try InputFile.read(file)
      let wrapper = try EvidenceWrapper(bytes)
      var context = wrapper?.context ?? EvidenceContext()
      context.environment = context.environment ?? settings.environment
      let evidence = try await verifier.read(
        wrapper?.evidence ?? bytes, as: wrapper?.kind ?? kind?.kind, context: context, at: settings.clock.now())
      for line in options.json ? [EvidenceText.json(evidence).text] : EvidenceText.lines(evidence) { printLine(line) }
      if evidence.quarantine != nil { throw ExitCode(.found) }
    } catch let refusal as VerificationError {
      printLine(options.json ? EvidenceText.json(refusal).text : "refused: \(EvidenceText.line(refusal))")
      throw ExitCode(.found)
    }
  }
}

/// A kind of evidence by its name.
struct KindArgument: ExpressibleByArgument {
  let kind: EvidenceKind

  init?(argument: String) {
    guard let kind = EvidenceKind(name: argument) else { return nil }
    self.kind = kind
  }

  static var allValueStrings: [String] { EvidenceKind.allCases.map(\.name) }
  static var defaultCompletionKind: CompletionKind { .list(allValueStrings) }
}
