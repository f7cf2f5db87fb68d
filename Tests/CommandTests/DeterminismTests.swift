import Foundation
import TestSupport
import Testing

/// What a cut may use does not show in what it makes.
@Suite struct DeterminismTests {
  @Test func threadsAndMemoryDoNotShowInTheBundle() throws {
    let folder = try TemporaryFolder()
    let below = try folder.writePlacedPicture("below.png", edge: 300)
    let above = try folder.writePlacedPicture("above.png", edge: 90)
    var first: Data?
    for options in [
      ["--threads", "1"], ["--threads", "2"], ["--threads", "5"], ["--memory", "32MB"],
      ["--threads", "3", "--memory", "1GB"],
    ] {
      let run = try Command(built: "tilecut").run(
        ["cut", below, above, "-o", folder.file("out.mbtiles"), "--force", "--name", "same"] + options)
      #expect(run.status == 0, "\(run)")
      let bytes = try folder.bytes("out.mbtiles")
      #expect(bytes == first ?? bytes, "\(options)")
      first = first ?? bytes
    }
    #expect(
      try SQLiteFile.tiles(folder.file("out.mbtiles")) == mercatorTiles(west: 10, south: 40, east: 20, north: 50, 0...5)
    )
  }
}
