import Foundation
import MapStoreWire
import Support
import TestSupport
import Testing

@testable import Accounts
@testable import MapStoreServer
@testable import PurchaseLedger

/// Slow, large, many and broken requests do not delay others.
@Suite(.ownThread) struct LimitTests {
  /// Connections that send a head or a body byte by byte, or read nothing, are closed and delay no other client.
  @Test func slowClientsDelayNoOtherClient() async throws {
    // More than the system's buffers take.
    try await TestStore.run(alpsBytes: 16_000_000) { options in
      options.limits.idleSeconds = 2
      options.limits.requestSeconds = 2
      options.limits.stallSeconds = 2
    } _: { store in
      let anna = try store.person()
      _ = try await store.post([try store.evidence("alps", for: anna)], as: anna)
      let port = store.server.port
      let link = try await store.ticket("alps", as: anna).url
      let body = "POST \(StoreRoute.signIn.path) HTTP/1.1\r\nHost: localhost\r\nContent-Length: 1000\r\n\r\n{"
      let beginnings = ["", "GET / HT", "GET / HTTP/1.1\r\nHost:", body]
      let slow = try await onThread {
        try beginnings.flatMap { text in
          try (0..<10).map { _ in
            let socket = try Socket(port: port)
            if !text.isEmpty { try socket.send(text) }
            return SendableSocket(socket)
          }
        }
      }
      let deaf = try await onThread {
        let socket = try Socket(port: port, receiveBytes: 4096)
        try socket.send("GET \(link) HTTP/1.1\r\nHost: localhost\r\n\r\n")
        return SendableSocket(socket)
      }
      for _ in 0..<20 { #expect(try await store.send("GET", StoreRoute.catalogue.path).status == 200) }
      for socket in slow {
        let isOver = try await onThread { Self.isEnded(socket.socket) }
        #expect(isOver)
      }
      // Buffered bytes arrive, the rest does not.
      let received = try await onThread { Self.rest(deaf.socket) }
      #expect(received < 16_000_000, "\(received)")
      #expect(try await store.send("GET", StoreRoute.health.path).status == 200)
    }
  }

  struct SendableSocket: @unchecked Sendable {
    let socket: Socket
    init(_ socket: Socket) { self.socket = socket }
  }

  /// Waits for the end, at most as long as the socket does.
  private static func isEnded(_ socket: Socket) -> Bool {
    while true {
      do { if try socket.receive().isEmpty { return true } } catch let error as Socket.Failure {
        return error.isReset
      } catch {
        return false
      }
    }
  }

  /// Waits longer than the server does before it reads.
  private static func rest(_ socket: Socket) -> Int {
    Thread.sleep(forTimeInterval: 6)
    var count = 0
    while let more = try? socket.receive(), !more.isEmpty { count += more.count }
    return count
  }

  /// Connections of one address are limited: further ones are closed at once, and each closed one admits another.
  @Test func connectionsOfOneAddress() async throws {
    try await TestStore.run {
      $0.limits.connectionsByAddress = 3
    } _: { store in
      let port = store.server.port
      try await onThread {
        func answer(_ connection: HTTPConnection) -> Int? { try? connection.request(StoreRoute.health.path).status }
        // Answered, and kept open.
        let held = try (0..<3).map { _ in try HTTPConnection(port: port) }
        #expect(held.map(answer) == [200, 200, 200])
        for _ in 0..<3 { #expect((try? HTTPConnection(port: port)).flatMap(answer) == nil) }
        #expect(held.map(answer) == [200, 200, 200])
        held[0].socket.close()
        #expect(eventually { (try? HTTPConnection(port: port)).flatMap(answer) == 200 })
      }
    }
  }

  @Test func largeBodiesAndHeads() async throws {
    try await TestStore.run {
      $0.limits.bodyBytes = 100_000
    } _: { store in
      let anna = try store.person()
      for (path, bytes) in [(StoreRoute.signIn.path, 20_000), (StoreRoute.purchases.path, 100_001)] {
        let answer = try await store.send(
          "POST", path, token: anna.token, body: [UInt8](repeating: 0x20, count: bytes))
        #expect(try answer.status == 413 && answer.problem().type == .tooLarge, "\(answer)")
      }
      // Announced but never sent.
      let announced = try await onThread { [port = store.server.port] in
        let connection = try HTTPConnection(port: port)
        try connection.send("POST /v1/sessions HTTP/1.1\r\nHost: x\r\nContent-Length: 99999999999\r\n\r\n")
        return try connection.response(to: "POST").status
      }
      #expect(announced == 413)
      // Without a length, in chunks.
      let chunked = try await onThread { [port = store.server.port] in
        let connection = try HTTPConnection(port: port)
        try connection.send("POST /v1/sessions HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n")
        try connection.send("8000\r\n" + String(repeating: " ", count: 0x8000) + "\r\n")
        return try connection.response(to: "POST").status
      }
      #expect(chunked == 413)
      let long = try await onThread { [port = store.server.port] in
        let connection = try HTTPConnection(port: port)
        try connection.send("GET / HTTP/1.1\r\nHost: x\r\nX: \(String(repeating: "x", count: 60_000))\r\n\r\n")
        return try connection.response()
      }
      #expect(try long.status == 431 && long.problem().type == .headTooLarge, "\(long)")
      let nonsense = try await onThread { [port = store.server.port] in
        let connection = try HTTPConnection(port: port)
        try connection.send("this is none\r\n\r\n")
        return try connection.response()
      }
      #expect(try nonsense.status == 400 && nonsense.problem().type == .badRequest, "\(nonsense)")
    }
  }

  @Test func ratesAreLimited() async throws {
    try await TestStore.run { options in
      options.limits.passwordsByLogin = .init(burst: 1, perMinute: 1)
      options.limits.requestsByAccount = .init(burst: 5, perMinute: 1)
    } _: { store in
      let anna = try store.person()
      let wrong = Credentials(login: "anna", password: "another password")
      var statuses: [Int] = []
      for _ in 0..<2 { statuses.append(try await store.send("POST", StoreRoute.signIn.path, wrong).status) }
      #expect(statuses == [401, 429])
      let other = try await store.send(
        "POST", StoreRoute.signIn.path, Credentials(login: "bert", password: "another password"))
      #expect(other.status == 401)
      var answers: [HTTPResponse] = []
      for _ in 0..<7 { answers.append(try await store.send("GET", StoreRoute.account.path, token: anna.token)) }
      #expect(answers.map(\.status) == [200, 200, 200, 200, 200, 429, 429])
      #expect(answers[6]["Retry-After"].flatMap { Int($0) } ?? 0 > 0)
      #expect(try await store.send("GET", StoreRoute.catalogue.path).status == 200)
    }
  }

  /// All spellings of a login share its attempts; a login that looks like an account's id does not use up that
  /// account's.
  @Test func loginsAreCountedAsTheLedgerReadsThem() async throws {
    try await TestStore.run { options in
      options.limits.passwordsByLogin = .init(burst: 2, perMinute: 1)
    } _: { store in
      let anna = try store.person()
      var statuses: [Int] = []
      for login in ["anna", " ANNA", "anna \u{a0}", "\u{ff41}nna", "anna\n"] {
        let wrong = Credentials(login: login, password: "another password")
        statuses.append(try await store.send("POST", StoreRoute.signIn.path, wrong).status)
      }
      #expect(statuses == [401, 401, 429, 429, 429])
      for _ in 0..<3 {
        let wrong = Credentials(login: anna.session.account.id, password: "another password")
        _ = try await store.send("POST", StoreRoute.signIn.path, wrong)
      }
      let erased = try await store.send(
        "DELETE", StoreRoute.eraseAccount.path, token: anna.token, AccountErasure(password: "another password"))
      #expect(erased.status == 403, "\(erased)")
    }
  }

  /// The number of answers that wait to be computed is limited, of one address and of all. Nothing else waits for them,
  /// and a ledger that is removed meanwhile is noticed.
  @Test(arguments: [true, false]) func waitingSearchesAreLimitedAndDelayNothingElse(isOneAddress: Bool) async throws {
    try await TestStore.run {
      if isOneAddress { $0.limits.computationsByAddress = 3 } else { $0.limits.computations = 3 }
    } _: { store in
      let (path, service, port) = (StoreRoute.catalogue.path, store.server.service, store.server.port)
      let known = try await store.send("GET", "\(path)?q=alps")
      let all = try await store.send("GET", path)
      let hold = try await store.holdTurns()
      defer { hold.end() }
      let searches = (0..<3).map { number in Task { try await store.send("GET", "\(path)?q=word\(number)").status } }
      let haveCome = try await onThread { eventually(seconds: 60) { service.capacity.queue.waitingCount == 3 } }
      #expect(haveCome)
      let more = try await store.send("GET", "\(path)?q=more")
      #expect(try more.status == 503 && more.problem().type == .unavailable && more["Retry-After"] == "1", "\(more)")
      // A cached result is not a search.
      #expect(try await store.send("GET", "\(path)?q=alps").body == known.body)
      #expect(try await store.send("GET", path).body == all.body)
      let ledger = store.folder.file("ledger.sqlite")
      #expect(rename(ledger, ledger + ".away") == 0)
      let (isNoticed, isBack) = try await onThread {
        func becomes(_ status: Int) throws -> Bool {
          try eventually(seconds: 60) { try TestStore.request(port: port, "GET", "/ready").status == status }
        }
        let isNoticed = try becomes(503)
        rename(ledger + ".away", ledger)
        return (isNoticed, try becomes(200))
      }
      #expect(isNoticed && isBack && service.capacity.queue.waitingCount == 3)
      hold.end()
      for search in searches { #expect(try await search.value == 200) }
      #expect(try await store.send("GET", "\(path)?q=more").status == 200)
    }
  }

  /// Pieces of evidence of one account are limited, in however few requests they arrive.
  @Test func evidencesAreCounted() async throws {
    try await TestStore.run { options in
      options.limits.evidencesByAccount = .init(burst: 10, perMinute: 1)
    } _: { store in
      let (anna, bert) = (try store.person(), try store.person())
      #expect(try await store.post(Array(repeating: "{}", count: 6), as: anna).count == 6)
      func post(_ count: Int, _ person: TestStore.Person) async throws -> HTTPResponse {
        try await store.send(
          "POST", StoreRoute.purchases.path, token: person.token,
          PurchaseSubmission(transactions: Array(repeating: "{}", count: count)))
      }
      let more = try await post(5, anna)
      #expect(more.status == 429 && more["Retry-After"].flatMap { Int($0) } ?? 0 > 0, "\(more)")
      // The rest can be submitted later.
      #expect(try await post(4, anna).status == 200)
      #expect(try await post(10, bert).status == 200)
    }
  }

  @Test(arguments: [
    ("192.0.2.7", "192.0.2.7", "192.0.2.7"), ("::ffff:192.0.2.7", "192.0.2.7", "192.0.2.7"),
    ("2001:DB8:1:2:3:4:5:6", "2001:db8:1:2:3:4:5:6", "20010db800010002/64"),
    ("2001:db8:1:2::", "2001:db8:1:2::", "20010db800010002/64"), ("::1", "::1", "0000000000000000/64"),
    ("fe80::1%eth0", "fe80::1", "fe80000000000000/64"), ("local", "local", "local"), ("", "", ""),
  ])
  func addressesHaveOneText(_ given: String, _ text: String, _ network: String) {
    let address = ClientAddress(given)
    #expect(address.text == text && address.network == network, "\(address)")
  }

  @Test(arguments: [
    ("203.0.113.7:51234", "203.0.113.7"), ("203.0.113.7", "203.0.113.7"), ("[2001:db8::1]:443", "2001:db8::1"),
    ("[2001:db8::1]", "2001:db8::1"), ("2001:db8::1", "2001:db8::1"), ("[::ffff:192.0.2.1]:80", "192.0.2.1"),
    ("unknown", "unknown"), ("", ""), ("[", "["),
  ])
  func proxiesMayTellThePort(_ given: String, _ text: String) {
    #expect(ClientAddress(forwarded: given).text == text)
  }

  /// Each connection of a customer has another port, and none of them is another address.
  @Test func portsAreNoAddresses() async throws {
    try await TestStore.run {
      $0.limits.requestsByAddress = .init(burst: 3, perMinute: 1)
      $0.trustedProxies = ["127.0.0.1"]
    } _: { store in
      for address in ["203.0.113.7:", "[2001:db8::1]:"] {
        var statuses: [Int] = []
        for port in 5000..<5005 {
          let field = ["X-Forwarded-For": "\(address)\(port)"]
          statuses.append(try await store.send("GET", StoreRoute.health.path, field).status)
        }
        #expect(statuses == [200, 200, 200, 429, 429])
      }
    }
  }

  /// Behind a trusted proxy, a flood from one address, or from the many addresses of one customer, is refused, and
  /// other clients are served meanwhile.
  @Test func floodBehindAProxyDelaysNoOtherClient() async throws {
    try await TestStore.run {
      $0.limits.requestsByAddress = .init(burst: 10, perMinute: 1)
      $0.trustedProxies = ["::ffff:127.0.0.1"]
    } _: { store in
      func ask(_ address: String) async throws -> Int {
        try await store.send("GET", StoreRoute.health.path, ["X-Forwarded-For": address]).status
      }
      for number in 0..<12 {
        let (flooding, other) = (try await ask("2001:db8::\(number)"), try await ask("10.0.0.\(number)"))
        #expect(flooding == (number < 10 ? 200 : 429) && other == 200)
      }
      // Addresses that the client itself adds are ignored.
      #expect(try await ask("10.9.9.9, 2001:db8::77") == 429)
      #expect(try await ask("::ffff:10.0.0.1, 127.0.0.1") == 200)
    }
  }

  /// A client that is slow but never stops reading is served to the end.
  @Test func slowButSteadyClientIsServed() async throws {
    try await TestStore.run(alpsBytes: 6_000_000) { options in
      options.limits.stallSeconds = 1
    } _: { store in
      let anna = try store.person()
      _ = try await store.post([try store.evidence("alps", for: anna)], as: anna)
      let link = try await store.ticket("alps", as: anna).url
      let port = store.server.port
      let (received, seconds) = try await onThread {
        let start = ContinuousClock.now
        let socket = try Socket(port: port, receiveBytes: 65_536)
        try socket.send("GET \(link) HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n")
        var count = 0
        // Fast until the pieces are large, then far too slow for one of them within the time.
        while let more = try? socket.receive(), !more.isEmpty {
          count += more.count
          if count > 3_000_000, ContinuousClock.now - start < .seconds(6) { Thread.sleep(forTimeInterval: 0.1) }
        }
        return (count, (ContinuousClock.now - start) / .seconds(1))
      }
      #expect(received > 6_000_000, "\(received) in \(seconds) s")
    }
  }

  /// The queue of password checks is limited; further requests are told to retry.
  @Test func passwordsWaitInABoundedQueue() async throws {
    let (holds, turnedAway, done) = (Locked(true), Locked(0), Locked(0))
    let tasks = (0..<400).map { _ in
      Task {
        do {
          try await Accounts.hash(from: "10.0.0.1") { _ = eventually(seconds: 120) { holds.withLock { !$0 } } }
          done.withLock { $0 += 1 }
        } catch let error as LedgerError where error.code == .busy {
          turnedAway.withLock { $0 += 1 }
        }
      }
    }
    // For sequential requests, and for a few simultaneous ones.
    #expect(try await onThread { eventually(seconds: 60) { turnedAway.withLock { $0 } >= 100 } })
    holds.withLock { $0 = false }
    for task in tasks { try await task.value }
    #expect(done.withLock { $0 } >= 256 && done.withLock { $0 } + turnedAway.withLock { $0 } == 400)
  }

  @Test func floodOfOneAddress() async throws {
    try await TestStore.run {
      $0.limits.requestsByAddress = .init(burst: 10, perMinute: 1)
    } _: { store in
      var statuses: [Int] = []
      for _ in 0..<12 { statuses.append(try await store.send("GET", StoreRoute.health.path).status) }
      #expect(statuses == Array(repeating: 200, count: 10) + [429, 429])
    }
  }

  /// Broken JSON of any kind is 400, never 500, and the server keeps running.
  @Test func mutatedMessages() async throws {
    try await TestStore.run { options in
      // Each password that is well formed costs a second in a debug build.
      options.limits.passwordsByAddress = .init(burst: 3, perMinute: 1)
      options.limits.unsignedMessages = .init(burst: 10, perMinute: 1)
    } _: { store in
      let anna = try store.person()
      let seed = UInt64.random(in: 0 ... .max)
      var random = SeededGenerator(seed: seed)
      let evidence = try store.evidence("alps", for: anna)
      let messages: [(String, [UInt8])] = [
        (StoreRoute.purchases.path, try WireJSON.encode(PurchaseSubmission(transactions: [evidence]))),
        (
          StoreRoute.downloads.path, try WireJSON.encode(DownloadRequest(regionId: "alps", kind: .bundle, edition: "1"))
        ),
        (StoreRoute.appleNotifications.path, Array("{\"signedPayload\":\"\(evidence)\"}".utf8)),
        (StoreRoute.register.path, try WireJSON.encode(Credentials(login: "anna", password: "a long password"))),
        (StoreRoute.signIn.path, try WireJSON.encode(Credentials(login: "anna", password: "a long password"))),
        (
          StoreRoute.googleNotifications.path,
          Array(
            #"{"message":{"data":"e30=","messageId":"1","publishTime":"2026-01-01T00:00:00Z"},"subscription":"s"}"#.utf8
          )
        ),
      ]
      for round in 0..<240 {
        var (path, bytes) = messages[round % messages.count]
        for _ in 0..<Int.random(in: 1...4, using: &random) {
          let place = Int.random(in: 0..<min(bytes.count, 120), using: &random)
          switch Int.random(in: 0..<4, using: &random) {
          case 0: bytes[place] = UInt8.random(in: 0...255, using: &random)
          case 1: bytes.remove(at: place)
          case 2: bytes.insert(contentsOf: Array("[{\"\\u0000,9e999:null]".utf8).shuffled(using: &random), at: place)
          default: bytes.removeLast(Int.random(in: 0..<bytes.count, using: &random))
          }
          if bytes.isEmpty { bytes = [0x7b] }
        }
        let answer = try await store.send("POST", path, token: anna.token, body: bytes)
        #expect(
          [200, 201, 400, 401, 403, 404, 409, 422, 429].contains(answer.status),
          "seed \(seed), round \(round): \(answer)")
      }
      let deep = Array(String(repeating: "[", count: 100_000).utf8)
      #expect(try await store.send("POST", StoreRoute.purchases.path, token: anna.token, body: deep).status == 400)
    }
  }

  @Test func bucketsRefill() {
    let limiter = RateLimiter(.init(burst: 2, perMinute: 60))
    #expect(limiter.take("a") == nil && limiter.take("a") == nil)
    #expect(limiter.take("a") == 1 && limiter.take("b") == nil)
    #expect(limiter.take("c", count: 3) == 1 && limiter.take("c", count: 2) == nil)
  }

  /// Paths are matched exactly: Hummingbird's router alone would ignore empty segments, and answer 404 instead of 405.
  @Test(arguments: [
    ("GET", "/v1/regions/alps", 200, nil as String?), ("HEAD", "/v1/regions/alps", 200, nil),
    ("GET", "/v1/regions/%61lps", 200, nil), ("GET", "/v1/regions/a%2Flps", 404, nil),
    ("GET", "/v1/regions/%zz", 404, nil), ("POST", "/v1/regions/%zz", 404, nil), ("GET", "/v1/regions/", 404, nil),
    ("GET", "/v1/catalogue/", 404, nil), ("GET", "//v1/catalogue", 404, nil), ("GET", "/v1//catalogue", 404, nil),
    ("GET", "/", 200, nil), ("GET", "/nothing", 404, nil), ("POST", "/v1/catalogue", 405, "GET, HEAD"),
    ("PATCH", "/v1/catalogue", 405, "GET, HEAD"), ("GET", "/v1/sessions", 405, "POST, DELETE"),
    ("PUT", "/v1/library", 405, "GET, HEAD, POST"), ("POST", "/v1/catalogue/", 404, nil),
  ])
  func pathsAndMethodsFindTheirRoute(method: String, path: String, status: Int, allow: String?) async throws {
    try await TestStore.run { store in
      let answer = try await store.send(method, path)
      #expect(answer.status == status && answer["Allow"] == allow, "\(answer)")
      if method != "HEAD", status != 200 {
        #expect(answer["Content-Type"] == Problem.contentType, "\(answer)")
        #expect(try WireJSON.decode(Problem.self, from: answer.body).status == status)
      }
    }
  }
}
