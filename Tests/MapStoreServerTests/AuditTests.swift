import MapStoreWire
import TestSupport
import Testing

@testable import MapStoreServer
@testable import PurchaseLedger

/// What the ledger remembers of refusals and downloads.
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

  /// A wrong password is a failed sign-in wherever it is asked for.
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

  @Test func whatWasNotFoundIsNamed() async throws {
    try await TestStore.run { store in
      let anna = try store.person()
      let request = DownloadRequest(regionId: "atlantis" + String(repeating: "x", count: 900), kind: .bundle)
      #expect(try await store.send("POST", StoreRoute.downloads.path, token: anna.token, request).status == 404)
      try await expectEvents(store, 1) { $0.contains("atlantis") && $0.contains("not-found") && $0.utf8.count < 600 }
    }
  }

  /// The last byte is not the file: it counts as sent when all of it has gone, in parts or at once.
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

  @Test func partsThatMakeAWhole() throws {
    let parts = SentParts()
    func link(_ file: String, _ account: AccountID) -> DownloadLink {
      DownloadLink(file: file, sha256Start: "0", account: account, region: "r", expiresAt: 0, nonce: file)
    }
    let (anna, bert) = (AccountID.random(), AccountID.random())
    let hers = link("a", anna)
    parts.add(50..<100, of: hers, now: 0)
    #expect(!parts.takeWhole(hers, byteCount: 100))
    parts.add(0..<30, of: hers, now: 0)
    // Cut off within a piece: nobody knows how much of it arrived.
    parts.add(25..<100, of: hers, now: 0)
    #expect(!parts.takeWhole(link("a", bert), byteCount: 100) && !parts.takeWhole(link("b", anna), byteCount: 100))
    #expect(parts.takeWhole(hers, byteCount: 100) && !parts.takeWhole(hers, byteCount: 100))
    // A day later nothing is known.
    parts.add(0..<50, of: hers, now: 100_000)
    parts.add(0..<1, of: link("b", bert), now: 86_500_000)
    parts.add(50..<100, of: hers, now: 86_500_000)
    #expect(!parts.takeWhole(hers, byteCount: 100))
  }

  /// Sign-outs wait for the ledger's lock; nobody who searches waits with them.
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
