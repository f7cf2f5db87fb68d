import Foundation
import TestSupport
import Testing

/// The number of threads and the memory of a cut do not change its bytes.
@Suite(.ownThread) struct DeterminismTests {
  /// Deeper than the pictures' own zoom, so that every thread has several units of work. A debug build takes long to
  /// write a PNG.
  @Test(arguments: [("jpeg", 4...8), ("png", 5...6)])
  func bundleBytesDoNotDependOnThreadsOrMemory(_ format: String, _ zooms: ClosedRange<Int>) throws {
    let folder = try TemporaryFolder()
    let below = try folder.writePlacedPicture("below.png")
    let above = try folder.writePlacedPicture("above.png", edge: 20)
    let output = folder.file("out.mbtiles")
    var first: Data?
    for options in [
      ["--threads", "1"], ["--threads", "2", "--memory", "32MB"], ["--threads", "5", "--memory", "1GB"],
    ] {
      let run = try Command(built: "tilecut").run(
        ["cut", below, above, "-o", output, "--force", "--name", "same", "--format", format]
          + ["--zoom", "\(zooms.lowerBound)-\(zooms.upperBound)", "--resampling", "nearest"] + options)
      #expect(run.status == 0, "\(run)")
      let bytes = try folder.bytes("out.mbtiles")
      #expect(bytes == first ?? bytes, "\(options)")
      first = first ?? bytes
    }
    let tiles = try SQLiteFile.tiles(output)
    #expect(tiles == mercatorTiles(west: 10, south: 40, east: 20, north: 50, zooms))
  }
}
