import Foundation
import TestSupport
import Testing

@testable import TileServe

/// Invalid requests. The next client is always served.
@Suite(.ownThread) struct GarbageTests {
  /// Seeded, so that what fails once fails again. `LONG_TESTS=full` tries more.
  private static let isLong = TestEffort.isFull

  @Test func mutatedRequests() async throws {
    let seed: UInt64 = 20_261_121
    var random = SeededGenerator(seed: seed)
    try await serving([SampleTilesets.path]) {
      $0.limits.requestSeconds = 2
    } _: { (served) async throws in
      let count = Self.isLong ? 100_000 : 700
      for index in 0..<count {
        let bytes = Self.request(&random)
        let connection = try served.connect()
        // The server may close in the middle.
        try? connection.socket.send(bytes)
        if index % 7 == 0 {
          connection.socket.reset()
        } else {
          connection.socket.finishSending()
          let answer = connection.rest()
          #expect(answer.isEmpty || answer.starts(with: "HTTP/1.1 ".utf8), "seed \(seed), request \(index): \(bytes)")
        }
        #expect(try served.get("/health").status == 200, "seed \(seed), request \(index): \(bytes)")
      }
      #expect(try served.isQuiet())
    }
  }

  private static let seeds = [
    "GET /relief/1/0/1.png HTTP/1.1\r\nHost: localhost\r\nIf-None-Match: \"a\"\r\n\r\n",
    "GET /wmts?service=WMTS&request=GetTile&layer=relief&tilematrix=1&tilerow=0&tilecol=0 HTTP/1.1\r\nHost: localhost\r\n\r\n",
    "POST /relief,labels/1/0/0@2x.png HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n0\r\n\r\n",
    "HEAD /%72oads/0/0/0.pbf HTTP/1.0\r\nAccept-Encoding: gzip;q=0.5, *\r\nConnection: keep-alive\r\n\r\n",
    "OPTIONS * HTTP/1.1\r\nHost: localhost\r\nOrigin: http://b\r\nAccess-Control-Request-Method: GET\r\n\r\n",
    "GET http://a:80/tilesets.json?x=%41 HTTP/1.1\r\nHost: localhost\r\nX-Forwarded-Prefix: /p\r\nX-Forwarded-Host: h\r\n\r\n",
  ]

  private static func request(_ random: inout SeededGenerator) -> [UInt8] {
    if Int.random(in: 0..<10, using: &random) == 0 {
      return (0..<Int.random(in: 1...300, using: &random)).map { _ in UInt8.random(in: 0...255, using: &random) }
    }
    var bytes = Array(seeds.randomElement(using: &random)!.utf8)
    for _ in 0..<Int.random(in: 1...4, using: &random) {
      let place = Int.random(in: 0..<bytes.count, using: &random)
      switch Int.random(in: 0..<6, using: &random) {
      case 0: bytes[place] = UInt8.random(in: 0...255, using: &random)
      case 1: bytes.remove(at: place)
      case 2: bytes.insert("\r\n\0 :/%?,@;\"\u{7f}".utf8.randomElement(using: &random)!, at: place)
      case 3: bytes.removeSubrange(place..<min(place + Int.random(in: 1...20, using: &random), bytes.count))
      case 4: bytes.insert(contentsOf: bytes[place...].prefix(30), at: place)
      default: bytes.insert(contentsOf: Array("99999999999999999999".utf8), at: place)
      }
      if bytes.isEmpty { bytes = [0] }
    }
    return bytes
  }

  /// Paths that lead, or seem to lead, out of the folder.
  @Test func filesOutsideTheFolderAreNotServed() async throws {
    let folder = try TemporaryFolder()
    try FileManager.default.createDirectory(atPath: folder.file("tilesets/sub"), withIntermediateDirectories: true)
    try folder.write("secret.json", "the secret")
    try folder.writeBundle("outside.mbtiles", zooms: 0...0, seed: 9)
    try folder.writeBundle("tilesets/inside.mbtiles", zooms: 0...0)
    let secret = try #require(try folder.bytes("outside.mbtiles").range(of: Data(SampleTiles.image(27))))
    #expect(!secret.isEmpty)
    let outside = try SampleTiles.image(27)
    try await serving([folder.file("tilesets")]) { (served) async throws in
      let ups = [
        "..", "%2e%2e", "%2E.", "..%2f..", "..%5c..", "..\\..", "%c0%ae%c0%ae", "%252e%252e", "..;", ".%00.", "…",
        "%ff..", "....",
      ]
      let ends = [
        "secret.json", "outside.json", "outside/0/0/0.png", "outside.mbtiles", "secret.json%00.png",
        "tilesets/inside.mbtiles",
        "etc/passwd", "outside/",
      ]
      let heads = [
        "/", "//", "/_assets/", "/_assets/leaflet/", "/inside/", "/inside/0/0/", "/tms/1.0.0/", "/wmts/1.0.0/", "/sub/",
        "\\",
      ]
      for head in heads {
        for up in ups {
          for end in ends {
            let target = "\(head)\(up)/\(end)"
            let connection = try served.connect()
            try connection.send("GET \(target) HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n")
            let response = try connection.response()
            #expect([400, 404].contains(response.status), "\(target): \(response)")
            #expect(response.body != outside && !response.text.contains("secret\n") && !response.text.contains("root:"))
            #expect(!response.text.contains(folder.path))
          }
        }
      }
      #expect(try served.get("/inside/0/0/0.png").status == 200)
    }
  }

  @Test func disconnectingClients() async throws {
    try await serving([SampleTilesets.path]) { (served) async throws in
      for index in 0..<(Self.isLong ? 10_000 : 200) {
        let connection = try served.connect()
        try connection.send(
          String(repeating: HTTPConnection.head(index % 2 == 0 ? "/relief/1/0/0.png" : "/photo/1/0/0.webp"), count: 20))
        if index % 3 == 0 { _ = try connection.response() }
        connection.socket.reset()
      }
      #expect(try served.get("/health").status == 200)
      #expect(try served.isQuiet())
    }
  }
}
