import TestSupport
import Testing
import TileImage

@testable import TileServe

/// GPX files as tilesets, drawn when they are asked for.
@Suite(.ownThread) struct OverlayConversationTests {
  private static let trip =
    "<gpx><trk><trkseg><trkpt lat='40' lon='-60'/><trkpt lat='40' lon='60'/></trkseg></trk></gpx>"

  @Test(arguments: [true, false]) func tilesHaveAlphaAndAreDrawnOnce(fastPath: Bool) async throws {
    let folder = try TemporaryFolder()
    try folder.write("trip.gpx", Self.trip)
    let change: (inout TileServerOptions) -> Void = { $0.fastPath = fastPath }
    try await serving([folder.file("trip.gpx")], change) { (served) async throws in
      let first = try served.get("/trip/1/0/0.png")
      #expect(first.status == 200 && first["Content-Type"] == "image/png", "\(first)")
      let pixels = try first.body.withUnsafeBytes { try ImageDecoder.decode($0) }
      var alphas: [UInt8] = []
      for i in 0..<(pixels.width * pixels.height) {
        alphas.append(pixels.bytes.load(fromByteOffset: i * 4 + 3, as: UInt8.self))
      }
      // Opaque on the line, partly so at its edges, clear elsewhere.
      #expect(alphas.contains(255) && alphas.contains { (1...254).contains($0) })
      #expect(alphas.count { $0 == 0 } > alphas.count * 9 / 10)
      let drawn = try served.metric("tileserve_cache_misses_total")
      #expect(drawn == 1)
      for _ in 0..<3 { #expect(try served.get("/trip/1/0/0.png").body == first.body) }
      #expect(try served.metric("tileserve_cache_misses_total") == drawn)
    }
  }
}
