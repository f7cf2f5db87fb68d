import Accounts
import ArgumentParser
import CommandSupport
import PurchaseLedger
import Support

/// `purchase-ledger entitlements`
struct EntitlementsCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "entitlements", abstract: "Lists an account's entitlements, also those that grant nothing.")

  @Argument(help: "Login name or id.")
  var account: String
  @Option(
    help: ArgumentHelp(
      "What was owned at this time, as far as is known now: 2026-11-21T15:00:00Z, or milliseconds since 1970.",
      valueName: "time"))
  var asOf: String?
  @OptionGroup var options: CommonOptions

  func run() async throws {
    let ledger = try LedgerSettings(options).openLedgerToRead()
    let account = try ledger.accounts.existing(account)
    let time = try asOf.map { try TimeArgument.milliseconds($0, option: "--as-of") }
    for entitlement in try time.map({ try ledger.entitlements(of: account, asOf: $0) })
      ?? ledger.entitlements(of: account)
    {
      if options.json {
        printLine(entitlement.json.text)
      } else {
        printLine(entitlement.line)
      }
    }
  }
}

extension Entitlement {
  /// For people.
  var line: String {
    let reason = reason.isEmpty ? "" : " (\(reason))"
    let until = until.map { " until \(TimeText.rfc3339($0))" } ?? ""
    return "\(productID ?? "?")  \(status)\(reason)  since \(TimeText.rfc3339(since))\(until)  "
      + "\(grant.origin) \(grant.id)"
  }

  var json: JSONValue {
    .fields([
      ("productId", .init(productID)), ("status", .string("\(status)")), ("reason", .string(reason)),
      ("store", .string(grant.origin)), ("environment", .string(grant.environment.rawValue)),
      ("originalTransactionId", .string(grant.id)), ("type", .string(productType.rawValue)), ("since", .init(since)),
      ("until", .init(until)),
      ("refundedPercentage", .init(refundedMilli)), ("account", .init(account?.description)),
    ])
  }
}

/// `purchase-ledger history`
struct HistoryCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "history", abstract: "Lists every event about a transaction, in order.")

  @Argument(help: "A transaction's id, or an original transaction's.")
  var transaction: String
  @OptionGroup var options: CommonOptions

  func run() async throws {
    let ledger = try LedgerSettings(options).openLedgerToRead()
    let events = try ledger.history(of: transaction)
    guard !events.isEmpty else {
      throw LedgerError(.input, at: transaction, "no event is about it", remedy: "check the id, or import its evidence")
    }
    for event in events { printLine(options.json ? event.jsonLine : EventText.line(event)) }
  }
}

/// Events as text, one per line.
private enum EventText {
  static func line(_ event: LedgerEvent) -> String {
    "\(event.seq)  \(TimeText.rfc3339(event.recordedAt))  \(text(event.content))"
  }

  private static func text(_ content: EventContent) -> String {
    switch content {
    case .transaction(let fact):
      let copy = fact.transactionID == fact.originalTransactionID ? "" : " of \(fact.originalTransactionID)"
      let refund = fact.revocation.map { ", revoked \(TimeText.rfc3339($0.date))" } ?? ""
      return "transaction \(fact.transactionID)\(copy) \(fact.productID ?? "") \(fact.statement)\(refund), "
        + "signed \(TimeText.rfc3339(fact.signedDate))"
    case .amendment(let fact, let revision):
      return "amendment \(revision.number) of \(fact.transactionID) \(fact.productID ?? ""): "
        + "\(revision.fieldNames.joined(separator: ", ")) as signed \(TimeText.rfc3339(fact.signedDate))"
    case .notification(let fact):
      return "notification \(fact.type)\(fact.subtype.map { " \($0)" } ?? "") \(fact.uuid)"
    case .claim(let key, let account, let isTransfer, _):
      return "\(isTransfer ? "transfer" : "claim") of \(key.id) by \(account)"
    case .accountOpened(let account, _): return "account \(account) opened"
    case .accountErased(let account): return "account \(account) erased"
    case .policy(let name, let value, _): return "policy \(name) = \(value)"
    case .quarantine(let kind, let reason, _, _, _): return "\(kind.name) quarantined: \(reason)"
    case .decision(_, _, let percentage, let policy, let value):
      return "refund of \(Double(percentage) / 1000) %: \(policy) = \(value)"
    case .correction(let run, let kind, let key): return "correction of \(key.id), \(kind.name), run \(run)"
    case .acknowledgement(let key): return "\(key.id) acknowledged"
    case .audit(let kind, let account, let subject, let outcome, _, _):
      return "audit \(kind) \(subject ?? "") \(outcome)\(account.map { " by \($0)" } ?? "")"
    case .trait(let trait): return "\(trait.name.rawValue) of \(trait.key.id): \(trait.value.withoutControls)"
    case .act(let act):
      let words = [
        act.transaction?.id, act.subject, act.account.map { "account \($0)" }, act.other.map { "into \($0)" },
        act.until.map { "until \(TimeText.rfc3339($0))" },
      ]
      return
        "\(act.action.rawValue) \(words.compactMap(\.self).joined(separator: " ")), by \(act.author): \(act.reason)"
    }
  }
}
