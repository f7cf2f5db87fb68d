import Foundation
import MapStoreWire
import TestSupport
import Testing

@testable import MapStoreServer
@testable import PurchaseLedger

/// The ledger's audit events of refusals and downloads.
@Suite(.ownThread) struct AuditTests {
  private func expectEvents(
    _ store: TestStore, _ count: Int, _ isWanted: @escaping @Sendable (String) -> Bool
  ) async throws {
    let found = try await onThread {
      try eventually(seconds: 30) { try store.audits().count(where: isWanted) == count }
    }
    let events = try store.audits()
    #expect(found, "\(events)")
  }

  /// A wrong password counts as a failed sign-in on every route that requires it.
  @Test func wrongPasswordsOfASession() async throws {
    try await TestStore.run { store in
      let anna = try store.person()
      let change = PasswordChange(password: "not hers at all", newPassword: "another long one")
      #expect(try await store.send("PUT", StoreRoute.changePassword.path, token: anna.token, change).status == 403)
      let erasure = AccountErasure(password: "not hers at all")
      #expect(try await store.send("DELETE", StoreRoute.eraseAccount.path, token: anna.token, erasure).status == 403)
      let id = anna.session.account.id
      try await expectEvents(store, 2) {
        $0.contains("\"sign-in\"") && $0.contains("wrong-credentials") && $0.contains(id)
      }
    }
  }

  @Test func auditNamesTheMissingRegion() async throws {
    try await TestStore.run { store in
      let anna = try store.person()
      let request = DownloadRequest(regionId: "atlantis" + String(repeating: "x", count: 900), kind: .bundle)
      #expect(try await store.send("POST", StoreRoute.downloads.path, token: anna.token, request).status == 404)
      try await expectEvents(store, 1) { $0.contains("atlantis") && $0.contains("not-found") && $0.utf8.count < 600 }
    }
  }

  /// A file counts as sent when all of its bytes were sent, in parts or at once; the last byte alone is not enough.
  @Test func partsOfAFile() async throws {
    try await TestStore.run { store in
      let anna = try store.person()
      _ = try await store.post([try store.evidence("alps", for: anna)], as: anna)
      let url = try await store.ticket("alps", as: anna).url
      for range in ["bytes=-1", "bytes=600000-", "bytes=0-99999", "bytes=100001-", "bytes=-1"] {
        #expect(try await store.send("GET", url, ["Range": range]).status == 206, "\(range)")
      }
      #expect(try await store.send("GET", url, ["Range": "bytes=100000-"]).status == 206)
      try await expectEvents(store, 1) { $0.contains("\"sent\"") }
      #expect(try await store.send("GET", url).status == 403)
    }
  }

  /// A device's requests at each start do not grow the ledger: equal grants are one event a day, and `HEAD` writes
  /// nothing, also after a restart.
  @Test func repeatedRequestsAddNoEvents() throws {
    let shop = try ServerProcess.Shop()
    let session = try shop.openSession()
    for round in 0..<2 {
      let server = try ServerProcess(shop)
      for _ in 0..<5 {
        #expect(try server.get(StoreRoute.grants.path, token: session.token).status == 200)
        let head = try TestStore.request(port: server.port, "HEAD", StoreRoute.grants.path, token: session.token)
        #expect(head.status == 200)
      }
      #expect(try server.events("\"audit\"") == (round == 0 ? 1 : 2))
      guard round == 0 else { break }
      let bought = try server.send(
        "POST", StoreRoute.purchases.path, token: session.token,
        PurchaseSubmission(transactions: [try shop.evidence("alps")]))
      #expect(bought.status == 200)
      // Changed grants are an event.
      #expect(try server.get(StoreRoute.grants.path, token: session.token).status == 200)
      #expect(try server.events("\"offline-grant\"") == 2)
      server.process.send(SIGKILL)
      _ = server.process.wait()
    }
  }

  /// A link that is requested repeatedly, and one that is refused repeatedly, are one event a day each.
  @Test func repeatedLinkRequestsAreOneEventADay() async throws {
    try await TestStore.run { store in
      let anna = try store.person()
      _ = try await store.post([try store.evidence("alps", for: anna)], as: anna)
      var ticket = try await store.ticket("alps", as: anna)
      for _ in 0..<4 { ticket = try await store.ticket("alps", as: anna) }
      try await expectEvents(store, 1) { $0.contains("\"granted\"") }
      store.wait(milliseconds: 900_000)
      for method in ["HEAD", "GET", "HEAD", "GET", "GET"] {
        #expect(try await store.send(method, ticket.url).status == 403)
      }
      try await expectEvents(store, 1) { $0.contains("link-refused") }
      store.wait(milliseconds: 86_400_000)
      let later = Person(session: try store.ledger.openSession(lasting: 1_000_000), credentials: nil)
      #expect(try await store.send("GET", StoreRoute.grants.path, token: later.token).status == 200)
      store.wait(milliseconds: 1000)
      #expect(try await store.send("GET", StoreRoute.grants.path, token: later.token).status == 200)
      try await expectEvents(store, 1) { $0.contains("\"offline-grant\"") }
    }
  }

  private typealias Person = TestStore.Person

  /// Sign-outs wait for the ledger's lock and do not delay searches.
  @Test func searchesDoNotWaitForSignOuts() async throws {
    try await TestStore.run { store in
      let anna = try store.person()
      let (ledger, port) = (store.ledger, store.server.port)
      let isHeld = Locked(false)
      let isOver = Locked(false)
      let holder = Task {
        try await onThread {
          try ledger.write { _ in
            isHeld.withLock { $0 = true }
            #expect(eventually(seconds: 120) { isOver.withLock { $0 } })
          }
        }
      }
      try await onThread {
        defer { isOver.withLock { $0 = true } }
        #expect(eventually(seconds: 30) { isHeld.withLock { $0 } })
        let leaving = try (0..<100).map { _ in
          let connection = try HTTPConnection(port: port)
          let path = StoreRoute.signOut.path
          let head = HTTPConnection.head(path, method: "DELETE", ["Authorization": "Bearer \(anna.token)"])
          try connection.send(head)
          return connection
        }
        for number in 0..<20 {
          let answer = try TestStore.request(port: port, "GET", "/v1/catalogue?q=alps+\(number)")
          #expect(answer.status == 200)
        }
        isOver.withLock { $0 = true }
        for connection in leaving { #expect(try [204, 401].contains(connection.response(to: "DELETE").status)) }
      }
      try await holder.value
    }
  }
}
