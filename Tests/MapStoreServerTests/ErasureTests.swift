import Foundation
import MapStoreWire
import Support
import TestSupport
import Testing

@testable import PurchaseLedger

/// Erasure while others read and write.
@Suite(.ownThread) struct ErasureTests {
  /// While a reader is open, erased data stay in the log and no request waits; when it ends, the log is emptied.
  @Test func erasingWaitsForNoReader() async throws {
    try await TestStore.run { store in
      let anna = try await store.person(registering: "anna-who-wants-to-be-forgotten")
      let bert = try store.person()
      let log = store.folder.file("ledger.sqlite-wal")
      let (reads, isDone) = (Locked(false), Locked(false))
      let ledger = store.ledger
      let reader = Task {
        try await onThread {
          try ledger.read { db in
            // From its first statement on it sees one state of the file.
            _ = try db.cached("SELECT count(*) FROM credential").first { $0.int(0) }
            reads.withLock { $0 = true }
            #expect(eventually(seconds: 120) { isDone.withLock { $0 } })
          }
        }
      }
      #expect(try await onThread { eventually { reads.withLock { $0 } } })
      let start = ContinuousClock.now
      let erased = try await store.send(
        "DELETE", StoreRoute.eraseAccount.path, token: anna.token, AccountErasure(password: "a long password"))
      #expect(erased.status == 204, "\(erased)")
      #expect(try await store.post([try store.evidence("alps", for: bert)], as: bert)[0].outcome == .booked)
      // The reader stays for half a minute.
      #expect(ContinuousClock.now - start < .seconds(25))
      #expect(try Data(contentsOf: URL(fileURLWithPath: log)).count > 0)
      isDone.withLock { $0 = true }
      try await reader.value
      let isEmpty = try await onThread {
        try eventually(seconds: 60) { try Data(contentsOf: URL(fileURLWithPath: log)).isEmpty }
      }
      #expect(isEmpty)
      let file = try Data(contentsOf: URL(fileURLWithPath: store.folder.file("ledger.sqlite")))
      #expect(file.range(of: Data("anna-who-wants".utf8)) == nil)
    }
  }
}
