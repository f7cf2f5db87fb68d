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

extension [AppStoreClient] {
  /// Shuts the clients down after the work, also after a failure.
  func closing<Value>(_ work: (Self) async throws -> Value) async throws -> Value {
    let result = await Result { try await work(self) }
    for client in self { try? await client.shutdown() }
    return try result.get()
  }
}

extension [GooglePlayClient] {
  func closing<Value>(_ work: (Self) async throws -> Value) async throws -> Value {
    let result = await Result { try await work(self) }
    for client in self { try? await client.shutdown() }
    return try result.get()
  }
}

extension Result where Failure == any Error {
  fileprivate init(_ work: () async throws -> Success) async {
    do { self = .success(try await work()) } catch { self = .failure(error) }
  }
}
