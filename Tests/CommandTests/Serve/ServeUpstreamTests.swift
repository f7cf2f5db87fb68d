import Foundation
import TestSupport
import Testing
import TileIndex

/// Two built servers, of which one is the other's upstream.
@Suite(.ownThread) struct ServeUpstreamTests {
  private func describe(_ folder: TemporaryFolder, _ port: Int, id: String = "relief") throws {
    let text = """
      {"url": "http://127.0.0.1:\(port)/\(id)/{z}/{x}/{y}.png", "format": "png", "maxzoom": 5, "name": "Relief, kept",
       "timeout": 5, "connections": 4, "rate": 1000, "prefetch": true}
      """
    try text.write(toFile: folder.file("kept.upstream.json"), atomically: true, encoding: .utf8)
  }

  /// After each of several kills every tile that was served once is served again without the upstream.
  @Test func upstreamTilesSurviveAKill() throws {
    let far = try TemporaryFolder()
    let bundle = try far.writeBundle("relief.mbtiles", zooms: 0...5, seed: 7, edge: 64)
    let near = try TemporaryFolder()
    var answered: [TileID: [UInt8]] = [:]
    do {
      let upstream = try RunningServer([bundle])
      try describe(near, upstream.port)
      var random = SeededGenerator(seed: 11)
      for round in 0..<4 {
        let server = try RunningServer([near.path])
        let connection = try server.connect()
        for _ in 0..<60 {
          let zoom = Int.random(in: 3...5, using: &random)
          let size = 1 << zoom
          let wanted = TileID(
            unchecked: zoom, Int.random(in: 0..<size, using: &random), Int.random(in: 0..<size, using: &random))
          let response = try connection.request("/kept/\(zoom)/\(wanted.column)/\(wanted.row).png")
          #expect(response.status == 200, "round \(round): \(response)")
          answered[wanted] = response.body
        }
        // With requests and prefetching in progress.
        for row in 0..<4 { try connection.send(HTTPConnection.head("/kept/5/31/\(row).png")) }
        server.process.send(SIGKILL)
        _ = server.process.wait()
      }
      upstream.process.send(SIGKILL)
      _ = upstream.process.wait()
    }
    let path = near.file("kept.mbtiles")
    #expect(try SQLiteFile.rows(path, "PRAGMA integrity_check") == [["ok"]])
    let server = try RunningServer([near.path])
    let connection = try server.connect()
    for (tile, bytes) in answered {
      let response = try connection.request("/kept/\(tile.zoom)/\(tile.column)/\(tile.row).png")
      #expect(response.status == 200 && response.body == bytes, "\(tile)")
    }
    // The file is a valid bundle.
    let reader = try BundleFile.open(path)
    #expect(reader.metadata.name == "Relief, kept")
    let original = try BundleFile.open(bundle)
    for tile in answered.keys { #expect(try reader.tile(tile) == original.tile(tile)) }
  }

  @Test func upstreamErrorsAreNamedAtStart() throws {
    let folder = try TemporaryFolder()
    try #"{"url": "https://a/{z}/{x}/{y}", "format": "png"}"#.write(
      toFile: folder.file("far.upstream.json"), atomically: true, encoding: .utf8)
    let server = try RunningServer([folder.path])
    #expect(server.process.stdout.contains("not served: far: "), "\(server.process.stdout)")
    #expect(server.process.stdout.contains("far.upstream.json: maxzoom: is missing"))
  }
}
