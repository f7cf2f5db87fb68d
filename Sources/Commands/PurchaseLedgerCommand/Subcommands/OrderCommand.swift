import Accounts
import ArgumentParser
import CommandSupport
import PurchaseLedger
import Support

/// `purchase-ledger order`
struct OrderCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "order", abstract: "Finds the purchases of an order number that a customer reads out.",
    discussion: """
      Google's order numbers (GPA.…) are the ledger's own ids. Apple is asked for its numbers (Look Up Order ID); what \
      it answers is verified and kept for reconcile. The look-up is an event.
      """)

  @Argument(help: "The order number of the store's receipt.")
  var order: String
  @Option(help: ArgumentHelp("Why, for the history.", valueName: "text"))
  var reason = "a customer's order number"
  @OptionGroup(title: "Ledger") var options: CommonOptions
  @OptionGroup(title: "App") var evidence: EvidenceOptions

  func run() async throws {
    let settings = try LedgerSettings(options, evidence.values)
    let ledger = try settings.openLedger()
    defer { ledger.close() }
    var found = try ledger.purchases(ofOrder: order)
    var unrecorded: [String] = []
    if found.isEmpty, try settings.storeAccess().stores.contains(.apple) {
      let report = try await settings.appStoreClients(for: ledger).closing { clients in
        // Apple answers an order of another app with an empty list.
        var report = PullReport()
        for client in clients where report.pieces == 0 {
          report = try await client.pullOrder(order, into: Snapshot(of: ledger))
        }
        return report
      }
      for fact in report.facts {
        if let known = try ledger.purchase(of: fact.key) { found.append(known) } else { unrecorded.append(fact.key.id) }
      }
    }
    try ledger.recordLookUp(of: order, ActReason(reason, by: ActOptions.user))
    for entitlement in found { printLine(options.json ? entitlement.json.text : Self.line(entitlement)) }
    for id in unrecorded {
      printLine(
        options.json
          ? JSONValue.fields([("originalTransactionId", .string(id)), ("recorded", .bool(false))]).text
          : "\(id)  not recorded; run reconcile --apply, then account transfer")
    }
    guard found.isEmpty, unrecorded.isEmpty else { return }
    printError("purchase-ledger: \(order): no store knows this order, or it is of another app")
    throw ExitCode(.found)
  }

  private static func line(_ entitlement: Entitlement) -> String {
    "\(entitlement.line)  \(entitlement.account.map { "account \($0)" } ?? "no account")"
  }
}

/// `purchase-ledger answer`
struct AnswerCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "answer", abstract: "Answers a question of Apple's about a refund, if the customer allows that.",
    discussion: """
      queue lists the questions with their deadlines. Nobody has to answer: Apple decides without. An answer is sent \
      only for an account with a recorded consent. What is not given is not declared; that a map was delivered is \
      taken from what devices report, else --delivery has to say it. Each answer is an event.
      """)

  @Argument(help: "The transaction that the question is about.")
  var transaction: String
  @Option(help: "What Apple should decide: decline, full or prorated. (default: not declared)")
  var preference: Preference?
  @Option(
    help: "The delivery: delivered, quality, wrong-item, outage or other. (default: as devices report)")
  var delivery: Delivery?
  @Option(help: ArgumentHelp("How much of it was used, 0 to 100. (default: not declared)", valueName: "percent"))
  var consumed: Double?
  @Flag(help: "The customer could try a part of it before.")
  var sample = false
  @OptionGroup(title: "Ledger") var options: CommonOptions
  @OptionGroup(title: "App") var evidence: EvidenceOptions

  enum Preference: String, ExpressibleByArgument, CaseIterable {
    case decline, full, prorated
  }

  enum Delivery: String, ExpressibleByArgument, CaseIterable {
    case delivered, quality, outage, other
    case wrongItem = "wrong-item"
  }

  func validate() throws {
    if let consumed, !(0...100).contains(consumed) { throw ValidationError("--consumed must be 0 to 100.") }
  }

  func run() async throws {
    let settings = try LedgerSettings(options, evidence.values)
    let ledger = try settings.openLedger()
    defer { ledger.close() }
    let facts = try ledger.refundFacts(of: transaction)
    guard facts.question.key.store == .apple else {
      throw LedgerError(.input, at: transaction, "is Google's question", remedy: "answer it in the Play console")
    }
    guard facts.consentText != nil else {
      throw LedgerError(
        .account, at: facts.owner?.description ?? transaction, "has not allowed answers about refunds",
        remedy: "leave it unanswered, or record the consent with account consent")
    }
    let answer = RefundAnswer(
      delivery: try delivered(facts), sampleProvided: sample, consumedMilli: consumed.map { Int64($0 * 1000) },
      preference: preference.map { [.decline: .decline, .full: .full, .prorated: .prorated][$0]! })
    try await settings.appStoreClients(for: ledger).closing { clients in
      try await clients.asking { try await $0.answer(answer, about: transaction) }
    }
    try ledger.recordAnswer(to: facts.question, answer.json.text, by: ActOptions.user)
    printLine(options.json ? answer.json.text : "answered \(transaction): \(answer.json.text)")
  }

  private func delivered(_ facts: Ledger.RefundFacts) throws -> RefundAnswer.Delivery {
    switch delivery {
    case .delivered?: return .delivered
    case .quality?: return .quality
    case .wrongItem?: return .wrongItem
    case .outage?: return .outage
    case .other?: return .other
    case nil: break
    }
    guard facts.isInstalled else {
      throw LedgerError(
        .input, at: "--delivery", "is needed: no device has reported that it has \(facts.productID ?? "the product")",
        remedy: "say what you know, or leave the question unanswered")
    }
    return .delivered
  }
}
