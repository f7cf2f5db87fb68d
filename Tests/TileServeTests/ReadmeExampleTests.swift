import Foundation
import TestSupport
import Testing
import TileIndex
import TileServe

/// The examples of README.md compile and equal those here.
@Suite(.ownThread) struct ReadmeExampleTests {
  private func endpoint() async throws {
    // README begins
    let registry = try TilesetRegistry(["maps"])
    try await withTileServer(registry) { server in  // on any free port
      print(try await server.url(for: "usa"))  // http://127.0.0.1:43210/usa/{z}/{x}/{y}.png
      try await server.wait()  // until the task is cancelled
    }
    await registry.close()
    // README ends
  }

  private func tiles() async throws {
    // README begins
    let registry = try TilesetRegistry(["maps"])
    let tile = try await registry.tile(TileID(zoom: 5, column: 7, row: 12), of: "usa")
    print(tile?.bytes.count ?? 0)
    await registry.close()
    // README ends
  }

  @Test func readmeHasTheseLines() throws {
    let readme = try ReadmeExamples.readme()
    let blocks = try #require(try ReadmeExamples.blocks(inSource: #filePath, importing: ["TileServe", "TileServe"]))
    for block in blocks { #expect(readme.contains(block), "README.md lacks:\n\(block)") }
  }

  /// The folder of the examples does not exist; they run until that error.
  @Test func theExamplesRun() async {
    await #expect(throws: ServeError.self) { try await endpoint() }
    await #expect(throws: ServeError.self) { try await tiles() }
  }
}
