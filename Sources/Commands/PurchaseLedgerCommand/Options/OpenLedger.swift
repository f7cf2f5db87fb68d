import PurchaseLedger

extension LedgerSettings {
  /// The ledger with the policies of the file in force; those that the file does not name stay as recorded.
  func openLedger() throws -> Ledger {
    let ledger = try Ledger.open(at: ledgerPath, policy: nil, clock: clock)
    var policy = try ledger.policy
    if let environment, environment != policy.environment {
      throw LedgerError(
        .configuration, at: "environment",
        "is \(environment) here, but \(ledgerPath) was made for \(policy.environment); leave it out or name another ledger"
      )
    }
    let recorded = policy
    for (name, value) in policies { try policy.set(name, to: value) }
    return policy == recorded ? ledger : try Ledger.open(at: ledgerPath, policy: policy, clock: clock)
  }

  /// Whose evidence the ledger takes; its rules on size and clock.
  func identity(for ledger: Ledger) throws -> StoreIdentity {
    identity.bounded(by: try ledger.policy)
  }
}
