import ArgumentParser
import CommandSupport
import PurchaseLedger
import Support

/// `purchase-ledger entitlements`
struct EntitlementsCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "entitlements", abstract: "Lists what an account owns, and what is booked to it.")

  @Argument(help: "Login name or id.")
  var account: String
  @OptionGroup var options: CommonOptions

  func run() async throws {
    let ledger = try LedgerSettings(options).openLedgerToRead()
    for entitlement in try ledger.entitlements(of: ledger.accounts.existing(account)) {
      if options.json {
        printLine(entitlement.json.text)
      } else {
        let reason = entitlement.reason.isEmpty ? "" : " (\(entitlement.reason))"
        printLine(
          "\(entitlement.productID ?? "?")  \(entitlement.status)\(reason)  since \(TimeArgument.text(entitlement.since))"
            + "  \(entitlement.grant.store.rawValue) \(entitlement.grant.id)")
      }
    }
  }
}

extension Entitlement {
  var json: JSONValue {
    .fields([
      ("productId", .init(productID)), ("status", .string("\(status)")), ("reason", .string(reason)),
      ("store", .string(grant.store.rawValue)), ("environment", .string(grant.environment.rawValue)),
      ("originalTransactionId", .string(grant.id)), ("type", .string(productType.rawValue)), ("since", .init(since)),
      ("refundedPercentage", .init(refundedMilli)), ("account", .init(account?.description)),
    ])
  }
}
