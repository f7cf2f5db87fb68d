import Foundation
import MapStoreWire
import RegionCatalog
import Support
import TestSupport
import Testing

@testable import MapStoreClient

/// Answers to a download that are not the file's: of a network's sign-in page, a proxy, another server.
@Suite(.ownThread) struct StrangeAnswerTests {
  private let shop: SampleShop
  private let store: ChaosStore
  private let region: Catalog.Region

  init() throws {
    shop = try SampleShop()
    region = try shop.publish("alps")
    store = try ChaosStore(shop, owned: ["alps"])
  }

  private static let page = Array("<html>Welcome on board</html>".utf8)
  private static let longPage = [UInt8](repeating: UInt8(ascii: " "), count: 300_000)

  /// What comes in the middle of a download, several times.
  static let strangers: [(String, ChaosAnswer)] = [
    ("a page", ChaosAnswer(headers: [("Content-Type", "text/html; charset=utf-8")], body: page)),
    ("a page without a type", ChaosAnswer(body: page)),
    ("a page in chunks", ChaosAnswer(headers: [("Content-Type", "text/html"), chunked], body: longPage)),
    ("a page in place of a part", ChaosAnswer(status: 206, headers: [("Content-Type", "text/html")], body: page)),
    ("a redirect", ChaosAnswer(status: 302, headers: [("Location", "http://10.0.0.1/login")])),
    ("a request to sign in to the network", ChaosAnswer(status: 511, body: page)),
    ("a conflict", ChaosAnswer(status: 409)), ("a condition", ChaosAnswer(status: 412)),
    ("no such range", ChaosAnswer(status: 416, headers: [("Content-Range", "bytes */29")])),
    ("a part of a smaller file", ChaosAnswer(status: 206, headers: [("Content-Range", "bytes 0-28/29")], body: page)),
    (
      "another SHA-256",
      ChaosAnswer(headers: [("ETag", "\"\(String(repeating: "0", count: 64))\"")], body: page)
    ),
  ]
  private static let chunked = ("Transfer-Encoding", "chunked")

  /// The page of a train's network, or whatever stands in for the server for a while: what is there already stays, and
  /// only the rest is asked for.
  @Test(arguments: strangers, Connections.allCases)
  func whatWasReceivedStays(_ stranger: (name: String, answer: ChaosAnswer), over: Connections) async throws {
    store.fault.withLock { $0 = { $0.number == 1 ? .hang(100_000) : .none } }
    let left = Locked(4)
    let answer = stranger.answer
    store.lie.withLock {
      $0 = { [book = store.book] name, honest in
        // The first answer is the server's own.
        guard name.hasPrefix("GET /v1/files/"), book.withLock({ $0.files.count }) > 1 else { return honest }
        return left.withLock { left in
          left -= 1
          return left >= 0
        } ? answer : honest
      }
    }
    let device = try Device(store, idleMax: 0.5, over: over)
    let file = try await device.manager().install("alps", from: device.client)
    #expect(file.sha256 == region.sha256 && left.withLock { $0 } < 0, "\(stranger.name)")
    #expect(try device.folder.bytes("alps.mbtiles") == shop.folder.bytes(region.file), "\(stranger.name)")
    let ranges = store.book.withLock { $0.files.map(\.range) }
    #expect(
      ranges.dropFirst().allSatisfy { $0 == "bytes=100000-\(region.bytes - 1)" }, "\(stranger.name): \(ranges)")
  }

  /// It never comes to an end, and so the install does; what was received waits for the next one.
  @Test(arguments: strangers.every(3)) func aLastingStrangerIsReported(_ stranger: (name: String, answer: ChaosAnswer))
    async throws
  {
    store.fault.withLock { $0 = { $0.number == 1 ? .hang(100_000) : .none } }
    let answer = stranger.answer
    store.lie.withLock {
      $0 = { [book = store.book] name, honest in
        name.hasPrefix("GET /v1/files/") && book.withLock { $0.files.count } > 1 ? answer : honest
      }
    }
    let device = try Device(store, idleMax: 0.5)
    await #expect("\(stranger.name)") { try await device.manager().install("alps", from: device.client) } throws: {
      [.damaged, .unreachable].contains(($0 as? MapStoreError)?.code)
    }
    store.lie.withLock { $0 = { $1 } }
    store.book.withLock { $0.files = [] }
    store.fault.withLock { $0 = { _ in .none } }
    #expect(try await device.manager().install("alps", from: device.client).sha256 == region.sha256)
    #expect(store.book.withLock { $0.files.map { $0.range != nil } } == [true], "\(stranger.name)")
  }

  /// Some bytes now and then are no progress: neither while a connection lasts, nor from one to the next.
  @Test(arguments: ["a byte now and then", "a connection for each byte", "100 Continue"], Connections.allCases)
  func aDownloadHasToComeOn(_ name: String, over: Connections) async throws {
    let bytes = region.bytes
    let files = try RawServer { _ in
      name == "100 Continue"
        ? .init(rest: "HTTP/1.1 100 Continue\r\n\r\n")
        : .init(start: "HTTP/1.1 200 OK\r\nContent-Length: \(bytes)\r\n\r\n", rest: "a")
    }
    defer { files.stop() }
    if name == "a connection for each byte" {
      store.fault.withLock { $0 = { _ in .cut(1) } }
    } else {
      store.lie.withLock {
        $0 = { [address = files.address] name, honest in
          guard name == "POST /v1/downloads", var ticket = try? WireJSON.decode(DownloadTicket.self, from: honest.body)
          else { return honest }
          ticket.url = address + "/file"
          var answer = honest
          answer.body = (try? WireJSON.encode(ticket)) ?? []
          return answer
        }
      }
    }
    let device = try Device(store, idleMax: 1, over: over)
    let manager = try device.manager { $0.retry.attemptsMax = 2 }
    await #expect { try await manager.install("alps", from: device.client) } throws: {
      let error = $0 as? MapStoreError
      return error?.code == .unreachable && error?.message.contains("2 attempts without progress") == true
    }
  }

  private static let impossible = [
    "http://127.0.0.1:65536", "http://localhost:65536", "http://127.0.0.1:99999999999999999999", "http://127.0.0.1:0",
    "http://127.0.0.1:-1", "http://127.0.0.1:+80", "http://127.0.0.1:8x", "http://[]", "http://[::1",
    "http://[::1]:65536", "http://[v1.x]", "http://", "http://:80", "http://a%00b", "http://a b", "http://a\\b",
    "http://user@a", "http://ä", "http://\(String(repeating: "a", count: 300))",
  ]

  /// A client of an address that no server can have is refused at once, and not after all attempts.
  @Test(
    arguments: impossible + [
      "nonsense", "", "/", "file:///maps", "http://h/?x=1", "http://h?", "http://h/#top", "http:/h", "HTTP//h",
    ])
  func impossibleAddresses(_ address: String) throws {
    #expect { try StoreClient(address: address) } throws: { ($0 as? MapStoreError)?.code == .invalidAddress }
    guard let url = URL(string: address) else { return }
    // `URL` corrects some: a space becomes %20, a host of letters Punycode.
    if (try? HTTPAddress(url.absoluteString)) == nil || url.absoluteString.contains("?") {
      #expect { try StoreClient(url: url) } throws: { ($0 as? MapStoreError)?.code == .invalidAddress }
    }
  }

  @Test(arguments: [
    ("HTTP://Maps.Example.com", "http://maps.example.com"), ("https://h/", "https://h"),
    ("https://h:8443/shop//", "https://h:8443/shop"), ("http://[::1]:80", "http://[::1]:80"),
  ])
  func addressesAreTakenInOneForm(_ address: String, is base: String) async throws {
    for client in [try StoreClient(address: address), try StoreClient(url: try #require(URL(string: address)))] {
      #expect(client.address == base)
      await client.shutdown()
    }
  }

  /// The scheme of a URL is read in any case, and a step down from https is refused in any case.
  @Test(arguments: [
    ("HTTPS://h/a", "https://s", true), ("HTTP://h/a", "http://s", true), ("HTTP://h/a", "https://s", false),
    ("/a", "https://s", true), ("a", "https://s", false), ("ftp://h/a", "http://s", false),
  ])
  func schemesOfLinks(_ url: String, of server: String, isTaken: Bool) {
    #expect(((try? AnswerRule.url(url, "url", of: server)) != nil) == isTaken)
  }

  /// A ticket is checked before anything connects to its address.
  @Test(arguments: impossible, Connections.allCases)
  func ticketsOfImpossibleAddresses(_ address: String, over: Connections) async throws {
    store.lie.withLock {
      $0 = { name, honest in
        guard name == "POST /v1/downloads", var ticket = try? WireJSON.decode(DownloadTicket.self, from: honest.body)
        else { return honest }
        ticket.url = address + "/file"
        var answer = honest
        answer.body = (try? WireJSON.encode(ticket)) ?? []
        return answer
      }
    }
    let device = try Device(store, over: over)
    await #expect { try await device.manager().install("alps", from: device.client) } throws: {
      ($0 as? MapStoreError)?.code == .damaged
    }
  }
}
