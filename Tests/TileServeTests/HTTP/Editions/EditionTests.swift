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

  /// Tiles that are drawn of four others have one colour, that of an edition.
  @Test(arguments: [ForeignWriter.update, .vacuum, .log, .copy, .blocks])
  func drawnTilesAreOfOneEdition(writer: ForeignWriter) async throws {
    let path = folder.file(writer.name)
    let editions = try Edition.all.get()
    try writer.write(editions[0], to: path)
    try await serving([folder.path]) {
      $0.refreshSeconds = 1
    } _: { (served) async throws in
      let colours = Set(editions.map(\.colour.word))
      let counts = Locked((drawn: 0, failed: [String]()))
      let isDone = Locked(false)
      let port = served.port
      let clients = (0..<2).map { number in
        Task {
          try await onThread {
            let connection = try HTTPConnection(port: port)
            var random = SeededGenerator(seed: UInt64(number))
            while !isDone.withLock({ $0 }) {
              let tile = TileID(
                unchecked: 3, Int.random(in: 0..<8, using: &random), Int.random(in: 0..<8, using: &random))
              let response = try connection.request("/a/3/\(tile.column)/\(tile.row)@2x.png")
              guard response.status == 200 else {
                if response.status != 503 { counts.withLock { $0.failed.append("\(tile): \(response)") } }
                continue
              }
              let pixels = try Self.pixels(response)
              let found = Set([(0, 0), (127, 0), (0, 127), (127, 127)].map { pixels[$0.0, $0.1].word })
              counts.withLock {
                $0.drawn += 1
                if found.count != 1 || !found.isSubset(of: colours) { $0.failed.append("\(tile): \(found)") }
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
        #expect(
          try eventually(seconds: 30) {
            let response = try served.get("/a/3/1/1@2x.png")
            return try response.status == 200
              && Self.pixels(response)[5, 5].word == edition.colour.word
          }, "\(edition.number) was not drawn")
      }
      isDone.withLock { $0 = true }
      for client in clients { try await client.value }
      counts.withLock { #expect($0.drawn > 0 && $0.failed == []) }
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

  private static func pixels(_ response: HTTPResponse) throws -> PixelBuffer {
    try response.body.withUnsafeBytes { try ImageDecoder.decode($0) }
  }

  private func check(_ writer: ForeignWriter, answers: Int) async throws {
    let path = folder.file(writer.name)
    let first = try Edition.number(0)
    try writer.write(first, to: path)
    try await serving([folder.path]) {
      $0.refreshSeconds = 1
    } _: { (served) async throws in
      let clients = EditionClients([first], port: served.port)
      defer { clients.stop() }
      clients.start(3)
      var number = 0
      var slowest = Duration.zero
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
        for tile in Edition.addresses.shuffled().prefix(5) + [Edition.addresses[0]] {
          let bytes = edition.bytes(tile)
          #expect(
            try eventually(seconds: 30) { try served.get("/a/4/\(tile.column)/\(tile.row).png").body == bytes },
            "round \(number): \(tile) is of another edition")
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
      print(
        "\(writer): \(clients.rightCount) answers, \(clients.busyCount) of 503, \(number) editions, the last tile "
          + "of one within \(slowest)")
    }
  }
}
