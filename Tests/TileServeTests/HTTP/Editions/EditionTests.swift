import Foundation
import Support
import TestSupport
import Testing
import TileImage
import TileIndex

@testable import TileServe

/// Whatever program changes a served file in place, each answer is a tile of one edition with that edition's entity
/// tag, and soon of the new edition. The server gets no lease and no notification of changes here, as on a network
/// drive.
@Suite(.ownThread, .enabled(if: Command(installed: "sqlite3") != nil, "sqlite3 is not installed"))
struct EditionTests {
  let folder: TemporaryFolder
  let elsewhere: TemporaryFolder
  init() throws {
    folder = try TemporaryFolder()
    elsewhere = try TemporaryFolder()
  }

  @Test(arguments: ForeignWriter.allCases) func everyAnswerIsOfOneEdition(writer: ForeignWriter) async throws {
    try await check(writer, answers: 1800)
  }

  /// A million answers of all writers together where tests try all that they can.
  @Test(.long, arguments: ForeignWriter.allCases) func manyAnswers(writer: ForeignWriter) async throws {
    try await check(writer, answers: TestEffort.isFull ? 90_000 : 10_000)
  }

  @Test(arguments: [ForeignWriter.update, .copy]) func withoutTheFastPath(writer: ForeignWriter) async throws {
    try await check(writer, answers: 1800, fastPath: false)
  }

  /// What is drawn of four tiles, converted or laid over one another, has one colour, that of an edition, and for an
  /// entity tag always the same one.
  @Test(arguments: [ForeignWriter.update, .vacuum, .log, .copy, .blocks])
  func drawnTilesAreOfOneEdition(writer: ForeignWriter) async throws {
    let path = folder.file(writer.name)
    let editions = try Edition.all.get()
    try writer.write(editions[0], to: path)
    try writeClear("b.mbtiles")
    let kinds = [("a/3", "@2x.png"), ("a/3", "@2x.webp"), ("a/4", ".webp"), ("a,b/3", "@2x.png"), ("a,b/4", ".png")]
    try await serving([folder.path]) {
      $0.refreshSeconds = 1
    } _: { (served) async throws in
      let counts = Locked((drawn: [String: Int](), colours: [String: Int](), failed: [String]()))
      let isDone = Locked(false)
      let port = served.port
      let clients = (0..<2).map { number in
        Task {
          try await onThread {
            let connection = try HTTPConnection(port: port)
            var random = SeededGenerator(seed: UInt64(number))
            while !isDone.withLock({ $0 }) {
              let (path, ending) = kinds.randomElement(using: &random)!
              let column = Int.random(in: 0..<8, using: &random)
              let target = "/\(path)/\(column)/\(Int.random(in: 0..<8, using: &random))\(ending)"
              let response = try connection.request(target)
              guard response.status == 200 else {
                if response.status != 503 { counts.withLock { $0.failed.append("\(target): \(response)") } }
                continue
              }
              let found = Set(try Self.colours(response).map { Edition.number(of: $0) })
              counts.withLock {
                $0.drawn["\(path)\(ending)", default: 0] += 1
                guard found.count == 1, let number = found.first ?? nil, let tag = response["ETag"] else {
                  return $0.failed.append("\(target): editions \(found)")
                }
                let known = $0.colours.updateValue(number, forKey: target + tag) ?? number
                if known != number { $0.failed.append("\(target): \(tag) of \(known) and \(number)") }
              }
            }
          }
        }
      }
      defer { isDone.withLock { $0 = true } }
      for edition in editions.dropFirst() {
        let new = elsewhere.file("\(edition.number)-\(writer.name)")
        try writer.write(edition, to: new)
        let child = try writer.start(new, over: path)
        #expect(child.wait(timeout: 60).status == 0, "\(child.stderr)")
        for (path, ending) in kinds {
          #expect(
            try eventually(seconds: 30) {
              let response = try served.get("/\(path)/1/1\(ending)")
              return try response.status == 200
                && Self.colours(response).allSatisfy { Edition.number(of: $0) == edition.number }
            }, "\(edition.number) was not drawn as \(path)\(ending)")
        }
      }
      isDone.withLock { $0 = true }
      for client in clients { try await client.value }
      counts.withLock { #expect($0.drawn.count == kinds.count && $0.failed == [], "\($0.drawn)") }
    }
  }

  /// A program that fills a cache, a tile a transaction, without an end: neither "busy" nor the first edition for ever.
  @Test(arguments: ["DELETE", "WAL"]) func cacheThatIsBeingFilledIsServed(mode: String) async throws {
    let path = folder.file("a.mbtiles")
    let (old, new) = (try Edition.number(0), try Edition.number(1))
    try old.writeMBTiles(path)
    try new.writeMBTiles(elsewhere.file("new.mbtiles"))
    let sets = Edition.addresses.map { tile in
      let (column, row) = (tile.column, 15 - tile.row)
      return "UPDATE tiles SET tile_data = (SELECT tile_data FROM new.tiles WHERE tile_column = \(column) AND "
        + "tile_row = \(row)) WHERE tile_column = \(column) AND tile_row = \(row);"
    }
    try elsewhere.write("fill.sql", "ATTACH '\(elsewhere.file("new.mbtiles"))' AS new; \(sets.joined())")
    try await serving([folder.path]) {
      $0.refreshSeconds = 1
    } _: { (served) async throws in
      let clients = EditionClients([old, new], port: served.port)
      defer { clients.stop() }
      clients.start(2)
      let script = """
        sqlite3 '\(path)' 'PRAGMA journal_mode = \(mode)'
        while [ ! -e '\(elsewhere.file("stop"))' ]; do
          sqlite3 '\(path)' '.timeout 20000' '.read \(elsewhere.file("fill.sql"))'
        done
        """
      let child = try Command(path: "/bin/sh").start(["-c", script])
      // Whenever the machine is slow this lasts longer; a server that says "busy" for ever never gets there.
      let last = Edition.addresses.last!
      #expect(try eventually(seconds: 60) { try served.get("/a/4/15/15.png").body == new.bytes(last) })
      for _ in 0..<3 {
        let before = clients.rightCount
        #expect(eventually(seconds: 60) { clients.rightCount >= before + 100 }, "nobody is answered")
      }
      try elsewhere.write("stop", "")
      #expect(child.wait(timeout: 60).status == 0, "\(child.stderr)")
      try await clients.end()
      #expect(clients.failures == [])
    }
  }

  /// No reader was open while the file was changed: what lies there may be half of a copy all the same.
  @Test func changeThatNoReaderSawIsNoticed() throws {
    let path = folder.file("a.mbtiles")
    let (old, new) = (try Edition.number(0), try Edition.number(1))
    try old.writeMBTiles(path)
    try new.writeMBTiles(elsewhere.file("new.mbtiles"))
    let tileset = try #require(try TilesetRegistry([folder.path])["a"])
    let tile = Edition.addresses[0]
    #expect(try tileset.storedTile(tile) == old.bytes(tile))
    tileset.source.closeIdle()
    try Data(elsewhere.bytes("new.mbtiles")).write(to: URL(fileURLWithPath: path))
    var found: [UInt8]?
    // By the file's own time, so that it does not matter how long the test was kept from looking.
    var age = 0.0
    #expect(
      eventually {
        found = (try? tileset.storedTile(tile)) ?? nil
        age = (try? FileSystem.status(path))?.age ?? 0
        return found != nil
      })
    #expect(found == new.bytes(tile))
    #expect(age >= ChangingFiles.quietSeconds)
  }

  /// A colour of each quarter of an answer's picture.
  private static func colours(_ response: HTTPResponse) throws -> [RGBA] {
    let pixels = try response.body.withUnsafeBytes { try ImageDecoder.decode($0) }
    let places = [pixels.width / 4, pixels.width * 3 / 4]
    return places.flatMap { x in places.map { y in pixels[x, y] } }
  }

  /// A bundle without a colour, which shows what is below it.
  private func writeClear(_ name: String) throws {
    let sink = try BundleFile.create(folder.file(name), matrixSet: .webMercatorQuad, format: .png)
    defer { sink.discard() }
    let image = try TileEncoder(.png(PNGOptions())).encode(Drawings.uniform(.transparent))
    for tile in Edition.addresses { try sink.put(tile, image) }
    _ = try sink.finish(BundleMetadata(name: "clear"))
  }

  /// The time that a server may take to notice the end of a writer; code that is not optimised takes longer.
  private static var noticeTime: Duration {
    #if DEBUG
      .seconds(4)
    #else
      .seconds(2)
    #endif
  }

  private func check(_ writer: ForeignWriter, answers: Int, fastPath: Bool = true) async throws {
    let path = folder.file(writer.name)
    let first = try Edition.number(0)
    try writer.write(first, to: path)
    try await serving([folder.path]) {
      $0.refreshSeconds = 1
      $0.fastPath = fastPath
    } _: { (served) async throws in
      let clients = EditionClients([first], port: served.port)
      defer { clients.stop() }
      clients.start(3)
      var number = 0
      var (slowest, firstRight) = (Duration.zero, Duration.zero)
      while number < 2 || clients.rightCount < answers {
        number += 1
        let edition = try Edition.number(number)
        clients.add(edition)
        let new = elsewhere.file("\(number)-\(writer.name)")
        try writer.write(edition, to: new)
        let before = clients.rightCount
        let child = try writer.start(new, over: path)
        #expect(child.wait(timeout: 60).status == 0, "\(child.stderr)")
        if writer.isPolite { #expect(clients.rightCount > before, "nobody was answered while the writer was at work") }
        let end = ContinuousClock.now
        for (index, tile) in (Edition.addresses.shuffled().prefix(5) + [Edition.addresses[0]]).enumerated() {
          let bytes = edition.bytes(tile)
          #expect(
            try eventually(seconds: 30) { try served.get("/a/4/\(tile.column)/\(tile.row).png").body == bytes },
            "round \(number): \(tile) is of another edition")
          if index == 0 { firstRight = max(firstRight, ContinuousClock.now - end) }
          // What an earlier edition was identified by does not count any more.
          for old in clients.editions where old.number != edition.number {
            // Another thread may look at the file once more meanwhile, and answer 503.
            var again: HTTPResponse?
            _ = try eventually(seconds: 30) {
              again = try served.get("/a/4/\(tile.column)/\(tile.row).png", ["If-None-Match": old.tag(tile)])
              return again?.status != 503
            }
            #expect(
              again?.status == 200 && again?.body == bytes, "round \(number): \(tile), \(again?.status ?? 0)")
          }
        }
        slowest = max(slowest, ContinuousClock.now - end)
        try? FileManager.default.removeItem(atPath: new)
      }
      try await clients.end()
      #expect(clients.failures == [])
      // Beside the other tests of `make test` it may be any time.
      if TestEffort.current >= .long { #expect(firstRight < Self.noticeTime) }
      print(
        "\(writer): \(clients.rightCount) answers, \(clients.busyCount) of 503, \(number) editions, the first tile "
          + "of one within \(firstRight), the last within \(slowest)")
    }
  }
}
