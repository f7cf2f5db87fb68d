import Foundation
import Logging
import MapStoreWire
import PurchaseLedger
import RegionCatalog
import StoreSimulators
import Support
import TestSupport
import Testing

@testable import MapStoreServer

/// What one client may cost, a test for each row of the table in docs/explanation/threat-model.md, behind a proxy: in
/// bytes, numbers, and who is answered before whom.
@Suite(.ownThread) struct CostTests {
  private static let proxy = "127.0.0.1"

  private static func fields(_ address: String) -> [String: String] { ["X-Forwarded-For": address] }

  /// What is near a place is computed in the client's turn: others are answered meanwhile, and a client that asks once
  /// is answered before the second of one that asks thirty times.
  @Test func nearestRegionsDelayNobodyElse() async throws {
    try await TestStore.run(corners: 100) {
      $0.trustedProxies = [Self.proxy]
    } _: { store in
      let path = "\(StoreRoute.catalogue.path)?limit=500&near="
      let all = try await store.send("GET", StoreRoute.catalogue.path)
      let hold = try await store.holdTurns()
      defer { hold.end() }
      let (answered, queue) = (Locked([String]()), store.server.service.capacity.queue)
      var asking: [Task<Void, any Error>] = []
      for number in 0...30 {
        let address = number < 30 ? "10.0.0.1" : "10.0.0.2"
        asking.append(
          Task {
            let answer = try await store.send("GET", "\(path)\(number),45", Self.fields(address))
            #expect(answer.status == 200)
            answered.withLock { $0.append(address) }
          })
        #expect(try await onThread { eventually(seconds: 60) { queue.waitingCount == number + 1 } })
      }
      #expect(try await store.send("GET", StoreRoute.health.path).status == 200)
      #expect(try await store.send("GET", StoreRoute.catalogue.path).body == all.body)
      #expect(try await store.send("GET", StoreRoute.preview.path("alps")).status == 200)
      #expect(answered.withLock { $0.isEmpty })
      hold.end()
      for task in asking { try await task.value }
      // Computed second; answers pass each other on their way.
      #expect(answered.withLock { $0.firstIndex(of: "10.0.0.2") ?? .max } < 15)
    }
  }

  /// Whoever reads the ledger, where that is not quick, waits for a turn of such reads, on another thread than the
  /// event loops, which answer others meanwhile. Each client has at most so many that wait.
  @Test(arguments: ["account", "library", "grants", "downloads", "file", "sign-in"])
  func ledgerReadsLeaveTheLoop(_ name: String) async throws {
    try await TestStore.run {
      $0.trustedProxies = [Self.proxy]
      $0.limits.computationsByAddress = 4
      $0.limits.quickReadSeconds = -1
    } _: { store in
      let anna = try store.person()
      _ = try await store.post([try store.evidence("alps", for: anna)], as: anna)
      let link = try await store.ticket("alps", as: anna).url
      func ask(from address: String) async throws -> Int {
        let fields = Self.fields(address)
        let answer =
          switch name {
          case "account": try await store.send("GET", StoreRoute.account.path, token: anna.token, fields)
          case "library": try await store.send("GET", StoreRoute.library.path, token: anna.token, fields)
          case "grants": try await store.send("GET", StoreRoute.grants.path, token: anna.token, fields)
          case "downloads":
            try await store.send(
              "POST", StoreRoute.downloads.path, token: anna.token, fields,
              body: try WireJSON.encode(DownloadRequest(regionId: "alps", kind: .bundle)))
          case "file": try await store.send("GET", link, fields)
          default:
            try await store.send(
              "POST", StoreRoute.signIn.path, fields,
              body: try WireJSON.encode(Credentials(login: "nobody", password: "a long password")))
          }
        return answer.status
      }
      let hold = try await store.holdTurns(of: { $0.reads })
      defer { hold.end() }
      let reads = store.server.service.capacity.reads
      let asking = (0..<4).map { _ in Task { try await ask(from: "10.0.0.1") } }
      #expect(try await onThread { eventually(seconds: 60) { reads.waitingCount == 4 } })
      #expect(try await store.send("GET", StoreRoute.health.path).status == 200)
      #expect(try await store.send("GET", StoreRoute.catalogue.path).status == 200)
      #expect(try await store.send("GET", StoreRoute.ready.path).status == 200)
      #expect(try await ask(from: "10.0.0.1") == 503)
      let other = Task { try await ask(from: "10.0.0.2") }
      #expect(try await onThread { eventually(seconds: 60) { reads.waitingCount == 5 } })
      hold.end()
      for task in asking + [other] { #expect(try await task.value != 503) }
    }
  }

  /// A kind of read stays on the event loop while it is quick, but for a slow one now and then, and leaves it when each
  /// second one is slow.
  @Test(arguments: [[true, true], [true, false, true]]) func quickReadsAreThoseThatWereQuick(slow: [Bool]) throws {
    let quick = QuickReads(secondsMax: 0.2)
    let (library, session) = (QuickReads.Kind(route: .library, account: nil), QuickReads.Kind(route: nil, account: nil))
    #expect(!quick.contains(library))
    #expect(quick.timing(library) { 7 } == 7 && quick.contains(library) && !quick.contains(session))
    for isSlow in slow {
      #expect(quick.contains(library))
      #expect(throws: CancellationError.self) {
        try quick.timing(library) {
          if isSlow { usleep(300_000) }
          throw CancellationError()
        }
      }
    }
    #expect(!quick.contains(library))
    for _ in 0..<4 { quick.timing(library) {} }
    #expect(quick.contains(library))
  }

  /// Many quick reads of one client wait for no turn.
  @Test func quickReadsWaitForNoTurn() async throws {
    try await TestStore.run {
      $0.limits.quickReadSeconds = 3_600
    } _: { store in
      let anna = try store.person()
      #expect(try await store.send("GET", StoreRoute.account.path, token: anna.token).status == 200)
      let hold = try await store.holdTurns(of: { $0.reads })
      defer { hold.end() }
      #expect(try await store.send("GET", StoreRoute.account.path, token: anna.token).status == 200)
    }
  }

  /// Waiting for its turn an answer that its client knows costs nothing.
  @Test func knownAnswersAreNotComputed() async throws {
    try await TestStore.run { store in
      let path = "\(StoreRoute.catalogue.path)?near=1,45"
      for accepted in [[:], ["Accept-Encoding": "gzip"]] {
        let tag = try #require(try await store.send("GET", path, accepted)["ETag"])
        let hold = try await store.holdTurns()
        defer { hold.end() }
        let again = try await store.send("GET", path, accepted.merging(["If-None-Match": tag]) { $1 })
        #expect(again.status == 304 && again["ETag"] == tag)
      }
    }
  }

  /// The page that is put together from the regions' texts is the message, byte by byte.
  @Test(arguments: [
    "", "limit=2", "near=-15,45", "near=3,44&limit=1", "q=alps", "q=nothing", "category=park&near=179,-45",
    "limit=2&cursor=rockies", "q=the&near=-15,45",
  ]) func pagesAreTheMessage(_ query: String) throws {
    let folder = try TemporaryFolder()
    let catalog = try TestCatalog(folder, corners: 50)
    let contents = try catalog.catalogue()
    let snapshot = CatalogSnapshot(
      contents, products: nil,
      places: PlaceDirectory(contents.regions, folder: catalog.path, logger: .init(label: "test")))
    let parsed = try CatalogSearch(Query(query))
    let page = try parsed.page(of: snapshot)
    #expect(try parsed.document(of: snapshot) == WireJSON.encode(page))
    #expect(query == "q=nothing" || !page.regions.isEmpty)
  }

  /// Answers that are made for one client, and not read, are counted: an address holds its part, others get theirs.
  @Test func unreadAnswersAreBounded() async throws {
    try await TestStore.run(corners: 20_000) {
      $0.trustedProxies = [Self.proxy]
      $0.limits.answersBytes = 16 << 20
    } _: { store in
      let (answers, port) = (store.server.service.capacity.answers, store.server.port)
      let path = "\(StoreRoute.catalogue.path)?near="
      let size = try await store.send("GET", "\(path)0,45").body.count
      #expect(size > 2 << 20)
      let statuses = try await onThread {
        var held: [Socket] = []
        for number in 1...12 {
          let socket = try Socket(port: port, receiveBytes: 2048)
          let head = HTTPConnection.head("\(path)\(number),45", Self.fields("10.0.0.\(number % 3)"))
          try socket.send(Array(String(repeating: head, count: 4).utf8))
          held.append(socket)
        }
        #expect(eventually(seconds: 60) { answers.total >= 3 * (size - 4096) })
        for _ in 0..<20 {
          #expect(answers.total <= 16 << 20)
          Thread.sleep(forTimeInterval: 0.02)
        }
        // One that reads what it asks for, from another address, while the others hold theirs.
        let statuses = try (0..<3).map {
          try TestStore.request(port: port, "GET", "\(path)\($0),44", Self.fields("10.1.0.1")).status
        }
        #expect(answers.total >= 3 * (size - 4096))
        for socket in held { socket.close() }
        #expect(eventually(seconds: 60) { answers.total == 0 })
        return statuses
      }
      #expect(statuses == [200, 200, 200])
    }
  }

  /// Bodies that never end, from many addresses, fill the memory for bodies. Who comes then is served: registration,
  /// sign-in, and the app store's signed notification.
  @Test func unfinishedBodiesKeepNobodyOut() async throws {
    try await TestStore.run {
      $0.trustedProxies = [Self.proxy]
      $0.limits.bodiesBytes = 2 << 20
    } _: { store in
      let (bodies, port) = (store.server.service.capacity.bodies, store.server.port)
      let transaction = try store.evidence("alps")
      try await onThread {
        var held: [Socket] = []
        for path in [StoreRoute.signIn.path, StoreRoute.appleNotifications.path] {
          for number in 0..<160 {
            let socket = try Socket(port: port)
            var fields = Self.fields("10.0.0.\(number % 40)")
            fields["Content-Length"] = "\(16 << 10)"
            let head = HTTPConnection.head(path, method: "POST", fields)
            // Some are ended for others.
            try? socket.send(Array(head.utf8) + [UInt8](repeating: 0x20, count: 16 << 10 - 100))
            held.append(socket)
          }
        }
        #expect(eventually(seconds: 60) { bodies.small.total > 480 << 10 && bodies.notifications.total > 480 << 10 })
        func send(_ path: String, _ body: [UInt8]) throws -> Int {
          try TestStore.request(port: port, "POST", path, Self.fields("10.1.0.1"), body: body).status
        }
        // Too short for a password: an answer about what was read.
        let wrong = try WireJSON.encode(Credentials(login: "anna", password: "short"))
        #expect(try send(StoreRoute.register.path, wrong) == 422)
        let payload = try store.authority.notification(
          type: "ONE_TIME_CHARGE", uuid: "6a1c9f8e-0000-4000-8000-000000000007", signedDate: TestStore.now,
          environment: .production, bundleID: TestStore.bundleID, transaction: Array(transaction.utf8))
        let notification = "{\"signedPayload\":\"\(String(decoding: payload, as: UTF8.self))\"}"
        #expect(try send(StoreRoute.appleNotifications.path, Array(notification.utf8)) == 200)
        #expect(bodies.total <= 2 << 20 && bodies.takenCount > 0)
        for socket in held { socket.close() }
        #expect(eventually(seconds: 60) { bodies.total == 0 })
      }
    }
  }

  /// Connections beyond the limit of all: the address with most of them loses one for each of another address.
  @Test func connectionsOfOneAddressGiveWay() async throws {
    try await TestStore.run {
      $0.limits.connections = 6
    } _: { store in
      let (port, connections) = (store.server.port, store.server.service.capacity.connections)
      try await onThread {
        let held = try (0..<6).map { _ in try Socket(port: port) }
        #expect(eventually(seconds: 60) { connections.total == 6 })
        for _ in 0..<3 {
          let other = HTTPConnection(try Socket(port: port, source: 2))
          #expect(try other.request(StoreRoute.health.path).status == 200)
        }
        #expect(connections.takenCount >= 1 && connections.total <= 6)
        for socket in held { socket.close() }
      }
    }
  }

  /// Whoever has many accounts and their devices has no more attempts at passwords at one address than strangers, and
  /// other addresses have theirs.
  @Test func devicesOfOneAddressShareALimit() async throws {
    try await TestStore.run {
      $0.trustedProxies = [Self.proxy]
      $0.limits.passwordsByAddress = .init(burst: 2, perMinute: 1)
    } _: { store in
      let limit = store.server.service.passwordsByDeviceAddress
      #expect(limit.take("10.0.0.1") == nil && limit.take("10.0.0.1") == nil)
      let anna = try await store.person(registering: "anna")
      func signIn(from address: String) async throws -> Int {
        let credentials = Credentials(
          login: "anna", password: "a long password", deviceToken: anna.session.deviceToken)
        return try await store.send(
          "POST", StoreRoute.signIn.path, Self.fields(address), body: try WireJSON.encode(credentials)
        ).status
      }
      #expect(try await signIn(from: "10.0.0.1") == 429)
      #expect(try await signIn(from: "10.0.0.2") == 201)
    }
  }
}
