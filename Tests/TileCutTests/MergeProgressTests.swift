import Support
import TestSupport
import Testing
import TileImage
import TileIndex

@testable import TileCut

/// How often a merge of shards says how far it is, which is how soon it can be stopped.
@Suite(.ownThread) struct MergeProgressTests {
  @Test func aMergeIntoAnArchiveSaysHowFarItIsWithinAShard() throws {
    let folder = try TemporaryFolder()
    let pixels = PixelBuffer(width: 300, height: 300)
    for pixel in 0..<90_000 { pixels.bytes.storeBytes(of: 0xff33_6699, toByteOffset: pixel * 4, as: UInt32.self) }
    try folder.write("a.pgw", "0.1\n0\n0\n-0.1\n-14.95\n14.95\n")
    try folder.write("a.prj", "EPSG:4326")
    var options = CutOptions(sources: [
      try folder.write("a.png", bytes: TileEncoder(.png(PNGOptions())).encode(pixels))
    ])
    options.zoom = .levels(0...8)
    options.encoding = .png(PNGOptions(effort: .fast))
    let cutter = try Cutter(options)
    let plan = try ShardPlan(cutter, toolVersion: "test", arguments: [], folder: folder.path, tilesMax: 100_000)
    let path = try folder.write("plan.json", plan.json)
    try #require(plan.shards.count == 1)
    let receipt = try cutter.cut(shard: 0, of: plan, path: path)
    var steps: [Int] = []
    let summary = try Cutter(options).merge(plan, path: path, to: folder.file("a.pmtiles")) {
      steps.append($0.tilesDone)
    }
    #expect(summary.tileCount == receipt.tiles && receipt.tiles > 512)
    #expect(steps.contains(256) && steps.contains(512) && steps.last == receipt.tiles && steps == steps.sorted())

    // Within the last zoom, long after the shard was opened.
    let cancellation = CutCancellation()
    let error = #expect(throws: CutError.self) {
      try Cutter(options).merge(plan, path: path, to: folder.file("b.pmtiles"), cancellation: cancellation) {
        if $0.tilesDone == 256 { cancellation.cancel() }
      }
    }
    #expect(error?.code == .cancelled && !folder.names.contains("b.pmtiles"))
  }
}
