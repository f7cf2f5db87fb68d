import CommandSupport
import PurchaseLedger

extension LedgerSettings {
  /// The ledger with the policies of the file in force; those that the file does not name stay as recorded.
  func openLedger() throws -> Ledger {
    let ledger = try Ledger.open(at: ledgerPath, policy: nil, clock: clock)
    try ledger.adopt(configuredPolicy(of: ledger))
    return ledger
  }

  /// The ledger for commands that only look into it: as it is, with the policies that are recorded.
  func openLedgerToRead() throws -> Ledger {
    let ledger = try Ledger.openToRead(at: ledgerPath, clock: clock)
    if try configuredPolicy(of: ledger) != ledger.policy {
      printError(
        "purchase-ledger: policies of the configuration are not in force in \(ledgerPath) yet; the next command that writes to it records them"
      )
    }
    return ledger
  }

  /// - Throws: `LedgerError` when the ledger was made for another environment.
  private func configuredPolicy(of ledger: Ledger) throws -> LedgerPolicy {
    var policy = try ledger.policy
    if let environment, environment != policy.environment {
      throw LedgerError(
        .configuration, at: "environment",
        "is \(environment) here, but \(ledgerPath) was made for \(policy.environment); leave it out or name another ledger"
      )
    }
    for (name, value) in policies { try policy.set(name, to: value) }
    return policy
  }

  /// Whose evidence the ledger takes; its rules on size and clock.
  func identity(for ledger: Ledger) throws -> StoreIdentity {
    identity.bounded(by: try ledger.policy)
  }
}
