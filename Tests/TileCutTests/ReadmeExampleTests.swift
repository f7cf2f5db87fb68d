import Foundation
import TestSupport
import Testing
import TileCut
import TileIndex

/// The examples in README.md compile, and equal the code here.
@Suite(.ownThread) struct ReadmeExampleTests {
  private func cut() throws {
    // README begins
    var options = CutOptions(sources: ["usa.tif"])
    options.name = "Continental United States"
    let summary = try Cutter(options).cut(to: "usa.mbtiles")
    print(summary.tileCount, summary.zoomMax)
    // README ends
  }

  private func read() throws -> [UInt8]? {
    // README begins
    let bundle = try BundleFile.open("usa.mbtiles")
    let tile = try TileID(zoom: 5, column: 7, row: 12)
    let png = try bundle.tile(tile)  // nil where the bundle has none
    // README ends
    return png
  }

  @Test func readmeContainsTheExamples() throws {
    let readme = try ReadmeExamples.readme()
    let blocks = try #require(try ReadmeExamples.blocks(inSource: #filePath, importing: ["TileCut", "TileIndex"]))
    for block in blocks { #expect(readme.contains(block), "README.md lacks:\n\(block)") }
  }

  /// The examples run until they miss usa.tif, which the tests do not have.
  @Test func examplesRun() {
    let cutError = #expect(throws: CutError.self) { try cut() }
    #expect(cutError?.code == .unreadableSource && cutError?.path == "usa.tif")
    let readError = #expect(throws: BundleError.self) { try read() }
    #expect(readError?.code == .notFound && readError?.path == "usa.mbtiles")
  }
}
