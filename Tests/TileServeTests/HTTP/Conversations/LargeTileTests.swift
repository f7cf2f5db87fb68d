import Foundation
import TestSupport
import Testing
import TileIndex

@testable import TileServe

/// Tiles of up to 120 kB: each response is whole, whatever happens to the socket and the bundle's file.
@Suite(.ownThread) struct LargeTileTests {
  /// Tiles of 1 to 120 kB that are not valid images.
  @discardableResult
  private func write(_ folder: TemporaryFolder, _ name: String, seed: UInt64) throws -> [TileID: [UInt8]] {
    var random = SeededGenerator(seed: seed)
    var tiles: [TileID: [UInt8]] = [:]
    let writer = try BundleWriter(path: folder.file(name), matrixSet: .webMercatorQuad, format: .png)
    for column in 0..<4 {
      for row in 0..<4 {
        let start = UInt8.random(in: 0...255, using: &random)
        let count = Int.random(in: 1000...120_000, using: &random)
        let bytes =
          [0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a]
          + (0..<count).map { start &+ UInt8(truncatingIfNeeded: $0 &* 7 &+ $0 >> 8) }
        tiles[tile(2, column, row)] = bytes
        try writer.put(tile(2, column, row), bytes)
      }
    }
    _ = try writer.finish(BundleMetadata(name: name))
    return tiles
  }

  private func path(_ tile: TileID) -> String { "/big/\(tile.zoom)/\(tile.column)/\(tile.row).png" }

  @Test func everyResponseIsTheRequestedTile() async throws {
    let folder = try TemporaryFolder()
    let tiles = try write(folder, "big.mbtiles", seed: 1)
    try await serving([folder.path]) { (served) async throws in
      let port = served.port
      // Several clients on both loops, one of them with pipelined requests.
      let clients = (0..<6).map { number in
        Task {
          try await onThread {
            let connection = try HTTPConnection(port: port)
            var random = SeededGenerator(seed: UInt64(number))
            for _ in 0..<30 {
              let asked = (0..<(number == 0 ? 8 : 1)).map { _ in tiles.randomElement(using: &random)! }
              try connection.send(asked.map { HTTPConnection.head(path($0.key)) }.joined())
              for (tile, bytes) in asked {
                let response = try connection.response()
                #expect(response.status == 200 && response.body == bytes, "client \(number), \(tile)")
              }
            }
          }
        }
      }
      for client in clients { try await client.value }
    }
  }

  @Test func fileMayBeReplacedWhileItIsSent() async throws {
    let folder = try TemporaryFolder()
    var tiles = try write(folder, "big.mbtiles", seed: 2)
    try await serving([folder.path]) { (served) async throws in
      let connection = try served.connect()
      let largest = tiles.max { $0.value.count < $1.value.count }!.key
      for round in 3..<8 {
        for _ in 0..<3 { #expect(try connection.request(path(largest)).body == tiles[largest]!) }
        // Thirty responses that the client has not read when the bundle is replaced: more than the socket's buffer.
        try connection.send(String(repeating: HTTPConnection.head(path(largest)), count: 30))
        _ = try eventually { try served.metric("tileserve_connections")! >= 2 }
        if round % 2 == 0 {
          for tileset in served.registry.tilesets { tileset.source.closeIdle() }
          for _ in 0..<30 { #expect(try connection.response().body == tiles[largest]!) }
        } else {
          let new = try write(folder, "new.part", seed: UInt64(round))
          #expect(rename(folder.file("new.part"), folder.file("big.mbtiles")) == 0)
          served.registry.refresh()
          let old = tiles[largest]!
          tiles = new
          // Old or new, but whole.
          for _ in 0..<30 {
            let body = try connection.response().body
            #expect(body == old || body == new[largest]!)
          }
        }
        for (tile, bytes) in tiles { #expect(try connection.request(path(tile)).body == bytes) }
      }
    }
  }

  /// Single requests are answered past the pipeline until the socket is full in the middle of a response.
  @Test func slowReaderGetsEveryByte() async throws {
    let folder = try TemporaryFolder()
    let tiles = try write(folder, "big.mbtiles", seed: 4).sorted { $0.key < $1.key }
    try await serving([folder.path]) { (served) async throws in
      let connection = try served.connect()
      for (tile, bytes) in tiles { #expect(try connection.request(path(tile)).body == bytes) }
      for round in 0..<3 {
        // About 9 MB.
        let asked = (0..<150).map { tiles[($0 * 7 + round) % tiles.count] }
        for (tile, _) in asked {
          try connection.send(HTTPConnection.head(path(tile)))
          usleep(300)
        }
        // Unsent bytes go to no other client, on either loop.
        for other in try (0..<4).map({ _ in try served.connect() }) {
          for _ in 0..<2 {
            for (tile, bytes) in tiles.prefix(4) { #expect(try other.request(path(tile)).body == bytes) }
          }
        }
        for (tile, bytes) in asked { #expect(try connection.response().body == bytes, "\(tile)") }
      }
    }
  }

  /// A bundle is overwritten in place: truncated tiles cannot be sent, and no other request is affected.
  @Test func truncatedFileDoesNotAffectOtherRequests() async throws {
    let folder = try TemporaryFolder()
    let tiles = try write(folder, "big.mbtiles", seed: 5)
    let others = try write(folder, "other.mbtiles", seed: 6)
    try await serving([folder.path]) { (served) async throws in
      let connection = try served.connect()
      for _ in 0..<3 { for (tile, bytes) in tiles { #expect(try connection.request(path(tile)).body == bytes) } }
      #expect(truncate(folder.file("big.mbtiles"), 30_000) == 0)
      for (tile, bytes) in tiles {
        let response = try? served.connect().request(path(tile))
        #expect(response.map { $0.status != 200 || $0.body == bytes } ?? true)
        let again = try? connection.request(path(tile))
        #expect(again.map { $0.status != 200 || $0.body == bytes } ?? true)
      }
      for (tile, bytes) in others {
        let target = path(tile).replacingOccurrences(of: "/big/", with: "/other/")
        #expect(try served.get(target).body == bytes)
      }
    }
  }

  @Test func conditionalAndHeadRequestsWorkAsForSmallTiles() async throws {
    let folder = try TemporaryFolder()
    let tiles = try write(folder, "big.mbtiles", seed: 9)
    let (tile, bytes) = tiles.max { $0.value.count < $1.value.count }!
    try await serving([folder.path]) { (served) async throws in
      let connection = try served.connect()
      let first = try connection.request(path(tile))
      for _ in 0..<3 {
        let again = try connection.request(path(tile))
        #expect(again.fields.filter { $0.name != "Date" } == first.fields.filter { $0.name != "Date" })
        #expect(again.body == bytes)
        let tag = try #require(again["ETag"])
        #expect(try connection.request(path(tile), ["If-None-Match": tag]).status == 304)
        let head = try connection.request(path(tile), method: "HEAD")
        #expect(head["Content-Length"] == "\(bytes.count)" && head.body.isEmpty)
      }
      // Closed after the answer, and whole.
      let last = try served.get(path(tile), ["Connection": "close"])
      #expect(last.body == bytes)
    }
  }
}
