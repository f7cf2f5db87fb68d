import CommandConfiguration
import CommandSupport
import PurchaseLedger

extension LedgerSettings {
  /// Access to the stores, with the ledger's limits of size and clock where there is one.
  func storeAccess(for ledger: Ledger? = nil) throws -> StoreAccess {
    StoreAccess(
      identity: try ledger.map(identity) ?? identity, clock: clock, text: { values.text($0) },
      read: { try InputFile.read($0) })
  }

  func appStoreClients(for ledger: Ledger) throws -> [AppStoreClient] {
    try storeAccess(for: ledger).appStoreClients(for: ledger)
  }
}
