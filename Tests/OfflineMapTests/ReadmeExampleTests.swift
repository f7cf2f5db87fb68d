import OfflineMap
import TestSupport
import Testing

/// The example of README.md compiles and equals that here.
@Suite(.ownThread) struct ReadmeExampleTests {
  private func mapView() async throws {
    // README begins
    let bundle = try MapBundle(path: "usa.mbtiles")
    let session = try MapSession(bundle: bundle, budget: 64 << 20)  // bytes of memory
    let loading = Task { await session.run() }
    session.update(Viewport(longitude: -105.7, latitude: 40.3, zoom: 9, size: (390, 844), scale: 3))
    for tile in session.visibleTiles { print(tile.id, tile.frame, tile.picture.count) }
    for await tile in session.readyTiles() { print("draw", tile.id, "at", tile.frame) }
    loading.cancel()
    // README ends
  }

  @Test func readmeHasTheseLines() throws {
    let readme = try ReadmeExamples.readme()
    let blocks = try #require(try ReadmeExamples.blocks(inSource: #filePath, importing: ["OfflineMap"]))
    for block in blocks { #expect(readme.contains(block), "README.md lacks:\n\(block)") }
  }

  /// The bundle of the example does not exist; it runs until that error.
  @Test func theExampleRuns() async { await #expect(throws: BundleError.self) { try await mapView() } }
}
