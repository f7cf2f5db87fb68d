import Crypto
import CryptoExtras
import Foundation
import MapStoreClient
import MapStoreServer
import MapStoreWire
import Support
import TestSupport
import Testing
import TileIndex

/// The device's library against the server itself.
@Suite(.ownThread) struct RealClientTests {
  private func client(_ store: TestStore, _ person: TestStore.Person?) throws -> StoreClient {
    try StoreClient(address: store.server.url, session: StoreSession(person?.session))
  }

  private func catalog(
    _ store: TestStore, _ name: String, _ grants: OfflineGrants.Rule = .init(),
    _ change: (inout OfflineRegionOptions) -> Void = { _ in }
  ) throws -> OfflineRegionManager {
    var options = OfflineRegionOptions()
    options.reserveBytes = 0
    options.clock = DeviceClock { TestStore.now }
    change(&options)
    return try OfflineRegionManager(folder: store.folder.file(name), options: options, grants: grants)
  }

  /// The client keeps its device token beyond the session: others who use up the login's attempts do not lock it out.
  @Test func aClientIsKnownAgain() async throws {
    try await TestStore.run {
      $0.limits.passwordsByLoginEverywhere = .init(burst: 8, perMinute: 0)
    } _: { store in
      let credentials = Credentials(login: "anna", password: "a long password")
      let client = try client(store, nil)
      _ = try await client.register(credentials)
      try await client.signIn(credentials)
      try await client.signOut()
      var others = 0
      while try await store.send("POST", StoreRoute.signIn.path, credentials).status != 429, others < 8 { others += 1 }
      #expect(others < 8)
      #expect(try await client.signIn(credentials).deviceToken != nil)
      let token = client.session.deviceToken
      await client.shutdown()
      // Kept by the app while there is no session.
      let later = try StoreClient(address: store.server.url, session: StoreSession(nil, deviceToken: token))
      try await later.signIn(credentials)
      await later.shutdown()
    }
  }

  /// The pages of a query near a place. The small longitude is sent with an exponent.
  @Test func aQueryFindsRegionsPageByPage() async throws {
    try await TestStore.run { store in
      let client = try client(store, nil)
      let all = try await client.catalogue()
      var query = CatalogQuery(text: "The", near: .init(longitude: 5, latitude: 45), limit: 1)
      var found: [String] = []
      repeat {
        let page = try await client.catalogue(query)
        #expect(page.regions.count == 1 && page.regions.first?.near != nil)
        found += page.regions.map(\.id)
        query.cursor = page.nextCursor
      } while query.cursor != nil
      #expect(found == ["rhine", "rockies", "retired", "alps"])
      let far = try await client.catalogue(CatalogQuery(near: .init(longitude: 0.00001, latitude: -45)))
      #expect(Set(far.regions.map(\.id)) == Set(all.regions.map(\.id)))
      let category = try #require(all.categories.first)
      #expect(try await client.catalogue(CatalogQuery(category: category.category)).total == category.regions)
      await #expect { try await client.catalogue(CatalogQuery(limit: 501)) } throws: {
        ($0 as? MapStoreError)?.code == .refused
      }
      await client.shutdown()
    }
  }

  /// Owners can still install a region that is no longer sold; for others it does not exist.
  @Test func retiredRegionIsVisibleToItsOwnersOnly() async throws {
    let ready = TestCatalog.regions.filter { $0 != "retired" }.map { "\(TestCatalog.product($0)),ready" }
    try await TestStore.run(products: ready.joined(separator: "\n")) { store in
      let (anna, bert) = (try store.person(), try store.person())
      _ = try await store.post([try store.evidence("retired", for: anna)], as: anna)
      let catalog = try catalog(store, "anna")
      let client = try client(store, anna)
      #expect(try await catalog.sync(with: client).regions.first { $0.id == "retired" }?.status == .ownedNotInstalled)
      let file = try await catalog.install("retired", from: client)
      #expect(try store.catalog.bytes("retired-1.mbtiles").count == file.bytes)
      for stranger in [bert, nil] {
        let other = try self.client(store, stranger)
        await #expect { try await other.region("retired") } throws: { ($0 as? MapStoreError)?.code == .unknown }
        await other.shutdown()
      }
      await client.shutdown()
    }
  }

  /// A region is removed from the catalogue although somebody owns it: the installed bundle opens as before, also after
  /// the next sync.
  @Test func regionsRemovedFromTheCatalogStayUsable() async throws {
    try await TestStore.run { store in
      let (anna, bert) = (try store.person(), try store.person())
      for region in ["alps", "rhine"] { _ = try await store.post([try store.evidence(region, for: anna)], as: anna) }
      let rule = OfflineGrants.Rule(keysChanged: { _ in })
      let catalog = try catalog(store, "anna", rule)
      let client = try client(store, anna)
      _ = try await catalog.sync(with: client)
      try await catalog.install("alps", from: client)
      try store.catalog.write(edition: "1", without: ["alps"])
      let isGone = try await onThread {
        try eventually(seconds: 30) {
          try TestStore.request(port: store.server.port, "GET", "/v1/regions/alps").status == 404
        }
      }
      #expect(isGone)
      store.wait(milliseconds: 1000)
      let report = try await catalog.sync(with: client)
      #expect(report.grantsError == nil && !report.regions.contains { $0.id == "alps" && $0.status != nil })
      #expect(try catalog.isUsable("alps") && catalog.isUsable("rhine") && !catalog.isUsable("rockies"))
      // Not of other accounts.
      let berts = try self.client(store, bert)
      _ = try await catalog.sync(with: berts)
      #expect(try catalog.usability(of: "alps") == .notOwned)
      for client in [client, berts] { await client.shutdown() }
    }
  }

  /// A thousand regions of one device do not fit into a request's header.
  @Test func libraryRequestHandlesAThousandInstalledRegions() async throws {
    try await TestStore.run { store in
      let anna = try store.person()
      _ = try await store.post([try store.evidence("alps", for: anna)], as: anna)
      // An installed catalogue of many regions, with one byte for each.
      _ = try catalog(store, "anna")
      let (path, count) = (store.folder.file("anna"), 1000)
      let state = try SQLiteConnection(creating: "\(path)/.mapstore/state.sqlite")
      try state.execute("BEGIN")
      let hash = String(repeating: "0", count: 64)
      for id in ["alps"] + (1..<count).map({ "a-region-with-a-name-of-usual-length-\($0)" }) {
        try state.execute("INSERT INTO installed VALUES ('\(id)', '', '2019-08', 1, '\(hash)', NULL, 1, 1, 0)")
        try store.folder.write("anna/\(id).mbtiles", "x")
      }
      try state.execute("COMMIT")
      let catalog = try catalog(store, "anna")
      #expect(try catalog.installed().count == count)
      let client = try client(store, anna)
      let report = try await catalog.sync(with: client)
      #expect(report.regions.first { $0.id == "alps" }?.status == .updateAvailable)
      #expect(report.regions.count { $0.installed != nil } == count)
      await client.shutdown()
    }
  }

  /// Bought, or installed on a new phone, then used without network: no sync is needed in between.
  @Test func ownedRegionsOpenWithoutNetwork() async throws {
    try await TestStore.run { store in
      let anna = try store.person()
      let client = try client(store, anna)
      let rule = OfflineGrants.Rule(keysChanged: { _ in })
      let catalog = try catalog(store, "anna", rule)
      _ = try await catalog.sync(with: client)
      #expect(try catalog.usability(of: "alps") == .notOwned)
      store.wait(milliseconds: 1000)
      let queue = OneTransaction(signed: try store.evidence("alps", for: anna))
      #expect(try await catalog.submit(queue, to: client).map(\.isFinished) == [true])
      #expect(try catalog.isUsable("alps"))
      let phone = try self.catalog(store, "phone", rule)
      try await phone.install("alps", from: client)
      #expect(try phone.isUsable("alps"))
      await client.shutdown()
    }
  }

  /// Two phones of one account with a limit of one download: the second waits as long as the server says, and keeps
  /// what it has.
  @Test func aSecondPhoneWaitsForTheFirst() async throws {
    try await TestStore.run(alpsBytes: 20_000_000) { options in
      options.limits.transfersByAccount = 1
    } _: { store in
      let anna = try store.person()
      _ = try await store.post([try store.evidence("alps", for: anna)], as: anna)
      let client = try client(store, anna)
      let (isLoading, waits) = (Locked(false), Locked(0))
      let link = try await store.ticket("alps", as: anna).url
      let port = store.server.port
      // The first one begins, and reads nothing more until the second was told to wait.
      let first = Task {
        try await onThread {
          let socket = try Socket(port: port, receiveBytes: 4096)
          try socket.send("GET \(link) HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n")
          _ = try socket.receive()
          isLoading.withLock { $0 = true }
          #expect(eventually(seconds: 60) { waits.withLock { $0 } > 0 })
          socket.close()
        }
      }
      #expect(try await onThread { eventually { isLoading.withLock { $0 } } })
      // Fewer attempts than it has to wait would count.
      let catalog = try catalog(store, "second") { $0.retry.attemptsMax = 1 }
      let file = try await catalog.install("alps", from: client) { progress in
        if progress.phase == .waiting, progress.complaint != nil { waits.withLock { $0 += 1 } }
      }
      try await first.value
      #expect(file.bytes == 20_000_000 && waits.withLock { $0 } > 0)
      await client.shutdown()
    }
  }

  /// The server is restarted with another grant key: a client that fetches keys trusts and stores it.
  @Test func grantKeysRotate() async throws {
    let kept = Locked<[GrantKey]>([])
    let folder = try TemporaryFolder()
    for name in ["old", "new"] { try folder.write(name, bytes: (0..<32).map { _ in UInt8.random(in: 0...255) }) }
    var ids: [String] = []
    for keys in [["old"], ["new"], ["new", "old"]] {
      let before = ids.last
      ids.append(
        try await TestStore.run {
          $0.grantKeys = keys.map { folder.file($0) }
        } _: { store in
          let anna = try store.person()
          _ = try await store.post([try store.evidence("alps", for: anna)], as: anna)
          let client = try client(store, anna)
          let rule = OfflineGrants.Rule(
            keys: kept.withLock { $0 }, keysChanged: { keys in kept.withLock { $0 = keys } })
          let report = try await catalog(store, "anna", rule).sync(with: client)
          #expect(report.grantsError == nil, "\(keys)")
          await client.shutdown()
          let signed = try GrantChecks.signed(
            try await store.send("GET", StoreRoute.grants.path, token: anna.token))
          let trusted = kept.withLock { $0 }
          #expect(try GrantChecks.isSigned(signed, by: GrantKeys(keys: trusted)), "after \(before ?? "none")")
          return signed.keyId
        })
    }
    #expect(ids[0] != ids[1] && ids[1] == ids[2])
  }

  /// A purchase that has to be approved or paid later stays pending and unfinished in the app store, and grants its
  /// region once it is paid.
  @Test func pendingPurchaseIsFinishedOnceItIsPaid() async throws {
    let key = try _RSA.Signing.PrivateKey(keySize: .bits2048)
    @Sendable func signed(_ state: Int, for person: TestStore.Person) throws -> String {
      let text =
        #"""
        {"orderId":"GPA.1","packageName":"\#(TestStore.bundleID)","productId":"\#(TestCatalog.product("alps"))",\#
        "purchaseTime":\#(TestStore.now - 9_000),"purchaseState":\#(state),"purchaseToken":"token-of-the-test",\#
        "obfuscatedAccountId":"\#(person.appAccountToken)"}
        """#
      let signature = try key.signature(for: Insecure.SHA1.hash(data: Data(text.utf8)), padding: .insecurePKCS1v1_5)
      let evidence = ["json": text, "signature": signature.rawRepresentation.base64EncodedString()]
      return String(decoding: try WireJSON.encode(evidence), as: UTF8.self)
    }
    try await TestStore.run(googleKey: Array(key.publicKey.derRepresentation)) { store in
      let anna = try store.person()
      let client = try client(store, anna)
      let catalog = try catalog(store, "anna")
      let waiting = try await catalog.sync(with: client, queue: OneTransaction(signed: try signed(4, for: anna)))
      #expect(waiting.purchases.map(\.result.outcome) == [.pending], "\(waiting.purchases)")
      #expect(waiting.purchases.allSatisfy { !$0.isFinished && $0.isOpen })
      #expect(waiting.regions.first { $0.id == "alps" }?.status == .pendingApproval)
      await #expect { try await catalog.install("alps", from: client) } throws: {
        ($0 as? MapStoreError)?.code == .notOwned
      }
      let paid = try await catalog.sync(with: client, queue: OneTransaction(signed: try signed(0, for: anna)))
      #expect(paid.purchases.map(\.result.outcome) == [.booked], "\(paid.purchases)")
      #expect(paid.purchases.allSatisfy { $0.isFinished })
      // The refused install had ended then.
      #expect(paid.regions.first { $0.id == "alps" }?.status == .ownedNotInstalled && paid.resumed.isEmpty)
      await client.shutdown()
    }
  }

  private struct OneTransaction: StoreQueue {
    let id = "7"
    let signed: String
    func outstanding() async throws -> [OutstandingTransaction] { [OutstandingTransaction(id: id, signed: signed)] }
    func finish(_ id: String) async throws {}
  }
}
