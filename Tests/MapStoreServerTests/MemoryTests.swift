import Foundation
import MapStoreWire
import PurchaseLedger
import TestSupport
import Testing

@testable import MapStoreServer

/// The memory of many requests' bodies.
@Suite(.ownThread) struct MemoryTests {
  /// Connections that each send a large body without its last byte, with and without a session: the process stays
  /// small.
  @Test(
    .enabled(if: FileManager.default.fileExists(atPath: "/proc/self/status"), "the system tells no process's memory"),
    arguments: [(StoreRoute.appleNotifications, false), (.purchases, true)])
  func bodiesUnderWayAreBounded(_ route: StoreRoute, hasSession: Bool) throws {
    let shop = try ServerProcess.Shop()
    let server = try ServerProcess(shop)
    let token = hasSession ? try shop.openSession().token : nil
    #expect(try server.get(StoreRoute.ready.path).status == 200)
    let before = try memory(server)
    let bytes = 4 << 20
    var fields = ["Content-Length": "\(bytes)"]
    if let token { fields["Authorization"] = "Bearer \(token)" }
    let part = [UInt8](repeating: 0x20, count: bytes - 1)
    let connections = try (0..<64).map { _ in
      let connection = try HTTPConnection(port: server.port)
      try connection.socket.send(Array(HTTPConnection.head(route.path, method: "POST", fields).utf8))
      // Refused clients are disconnected while they send.
      try? connection.socket.send(part)
      return connection
    }
    let grown = try memory(server) - before
    #expect(grown < 96 << 20, "\(grown >> 20) MB")
    #expect(try server.get(StoreRoute.ready.path).status == 200)
    for connection in connections { connection.socket.close() }
  }

  /// Previews that nobody reads are on the disk, not in memory, however many are asked for.
  @Test(
    .enabled(if: FileManager.default.fileExists(atPath: "/proc/self/status"), "the system tells no process's memory"))
  func unreadPreviewsAreBounded() throws {
    let server = try ServerProcess(try ServerProcess.Shop(previewBytes: 700_000))
    let path = StoreRoute.preview.path("alps")
    #expect(try server.get(path).body.count == 700_000)
    let before = try memory(server)
    let head = HTTPConnection.head(path, method: "GET", [:])
    let sockets = try (0..<100).map { _ in
      let socket = try Socket(port: server.port, receiveBytes: 2048)
      try socket.send(Array(String(repeating: head, count: 20).utf8))
      return socket
    }
    // Answered after all that was asked before.
    for _ in 0..<50 { #expect(try server.get(StoreRoute.health.path).status == 200) }
    Thread.sleep(forTimeInterval: 1)
    let grown = try memory(server) - before
    #expect(grown < 32 << 20, "\(grown >> 20) MB")
    for socket in sockets { socket.close() }
  }

  /// Connections whose first request was answered, and that wait for a next one.
  @Test(
    .enabled(if: FileManager.default.fileExists(atPath: "/proc/self/status"), "the system tells no process's memory"))
  func idleConnectionsAreSmall() throws {
    let server = try ServerProcess(try ServerProcess.Shop())
    func open(_ count: Int) throws -> [HTTPConnection] {
      try (0..<count).map { number in
        let connection = HTTPConnection(try Socket(port: server.port, source: UInt8(number % 2 + 1)))
        #expect(try connection.request(StoreRoute.health.path).status == 200)
        return connection
      }
    }
    // What the first ones cost once is no cost of a connection.
    let first = try open(40)
    let (before, count) = (try memory(server), 320)
    let idle = try open(count)
    let each = (try memory(server) - before) / count
    #expect(each < 48 << 10, "\(each) bytes")
    for connection in first + idle { connection.socket.close() }
  }

  /// The process's peak memory.
  private func memory(_ server: ServerProcess) throws -> Int {
    let text = try String(contentsOfFile: "/proc/\(server.process.processID)/status", encoding: .utf8)
    let match = try #require(text.firstMatch(of: /VmHWM:\s*(\d+) kB/))
    return try #require(Int(match.1)) << 10
  }

  /// Clients influence the contents of cached libraries, so the cache is limited in bytes and keeps no large entry.
  @Test func keptLibrariesAreBounded() async throws {
    let cache = ReplyCache<LibraryKey>(bytesMax: 4 << 20, ofOneMax: 256 << 10)
    let edition = String(repeating: "e", count: 90)
    for number in 0..<1_000 {
      let installed = Dictionary(uniqueKeysWithValues: (0..<20).map { ("region \($0)", "\(number)\(edition)") })
      let question = LibraryKey(standing: [:], installed: installed)
      let body = cache.body(for: question) { [UInt8](repeating: 0x20, count: 40_000) }
      #expect(cache.known(question) === body && cache.bytes <= 4 << 20)
    }
    // Plain and compressed.
    #expect(cache.bytes > 3 << 20)
    let large = LibraryKey(standing: [0: .owned], installed: [:])
    _ = cache.body(for: large) { [UInt8](repeating: 0x20, count: 200_000) }
    #expect(cache.known(large) == nil)
    try await TestStore.run { store in
      let anna = try store.person()
      func status(_ edition: String) async throws -> Int {
        let message = InstalledRegions([InstalledRegion(id: "alps", edition: edition)])
        return try await store.send("POST", StoreRoute.libraryOfDevice.path, token: anna.token, message).status
      }
      #expect(try await status(String(repeating: "e", count: 100)) == 200)
      for edition in [String(repeating: "e", count: 101), "", "a/b", "\u{0}"] {
        #expect(try await status(edition) == 400, "\(edition)")
      }
      let cache = store.server.service.catalog.snapshot.libraries
      let kept = cache.bytes
      #expect(kept > 0)
    }
  }

  /// Beyond the budget the response is 503, for one account and for one address, until memory is released. Other
  /// clients are served meanwhile.
  @Test(arguments: [true, false]) func requestsBeyondTheBodyBudgetGet503(hasSession: Bool) async throws {
    try await TestStore.run {
      $0.limits.bodiesBytes = 1 << 20
      $0.limits.bodyBytes = 200_000
    } _: { store in
      let (port, bytes) = (store.server.port, 110_000)
      let (anna, bert) = (try store.person(), try store.person())
      let path = hasSession ? StoreRoute.purchases.path : StoreRoute.appleNotifications.path
      var fields = ["Content-Length": "\(bytes)"]
      if hasSession { fields["Authorization"] = "Bearer \(anna.token)" }
      let head = HTTPConnection.head(path, method: "POST", fields)
      let body = [UInt8](repeating: 0x20, count: bytes - 1)
      try await onThread {
        let first = try HTTPConnection(port: port)
        try first.socket.send(Array(head.utf8) + body)
        #expect(eventually(seconds: 30) { store.server.service.capacity.bodies.total == body.count })
        let second = try HTTPConnection(port: port)
        try second.socket.send(Array(head.utf8) + body)
        let answer = try second.response(to: "POST")
        #expect(try answer.status == 503 && answer.problem().type == .unavailable, "\(answer)")
        #expect(answer["Retry-After"].flatMap { Int($0) } ?? 0 > 0 && answer["Connection"] == "close")
        let evidence = try store.evidence("alps", for: bert)
        let other = try TestStore.request(
          port: port, "POST", StoreRoute.purchases.path, token: bert.token,
          body: WireJSON.encode(PurchaseSubmission(transactions: [evidence])))
        #expect(other.status == 200, "\(other)")
        first.socket.close()
        #expect(eventually(seconds: 30) { store.server.service.capacity.bodies.total == 0 })
        let again = try TestStore.request(
          port: port, "POST", path, token: hasSession ? anna.token : nil, body: body)
        #expect(again.status == 400, "\(again)")
      }
    }
  }
}
