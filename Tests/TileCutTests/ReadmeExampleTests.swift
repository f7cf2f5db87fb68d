import Foundation
import TestSupport
import Testing
import TileCut
import TileIndex

/// The examples of README.md compile, and are those that stand here.
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

  @Test func readmeHasTheseLines() throws {
    let readme = try ReadmeExamples.readme()
    let blocks = try #require(try ReadmeExamples.blocks(inSource: #filePath, importing: ["TileCut", "TileIndex"]))
    for block in blocks { #expect(readme.contains(block), "README.md lacks:\n\(block)") }
  }

  /// There is no usa.tif where the tests run; the examples get as far as to say so.
  @Test func examplesRun() {
    let cutError = #expect(throws: CutError.self) { try cut() }
    #expect(cutError?.code == .unreadableSource && cutError?.path == "usa.tif")
    let readError = #expect(throws: BundleError.self) { try read() }
    #expect(readError?.code == .notFound && readError?.path == "usa.mbtiles")
  }
}
