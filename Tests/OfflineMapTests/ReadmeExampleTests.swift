import Foundation
import OfflineMap
import TestSupport
import Testing

/// The example of README.md compiles, equals that here, and runs; so does one of the tutorial.
@Suite(.ownThread) struct ReadmeExampleTests {
  private let folder: TemporaryFolder
  init() throws { folder = try TemporaryFolder() }

  private func mapView() async throws {
    // The example's file lies in the folder of the test.
    // swift-format-ignore: AlwaysUseLowerCamelCase
    func MapBundle(path: String) throws -> OfflineMap.MapBundle { try OfflineMap.MapBundle(path: folder.file(path)) }
    // README begins
    let bundle = try MapBundle(path: "usa.mbtiles")
    let session = try MapSession(bundle: bundle, budget: 64 << 20)  // bytes of memory
    session.start()
    let ready = session.readyTiles()  // first, so that no tile arrives unseen
    let view = Viewport(longitude: -105.7, latitude: 40.3, zoom: 9, size: (390, 844), scale: 3)
    session.update(view)
    for tile in session.visibleTiles { print(tile.tileID, tile.frame, tile.picture.count) }
    for await result in ready {
      switch result {
      case .success(let tile): print("draw", tile.tileID, "at", tile.frame)
      case .failure(let failure): print(failure)  // a damaged tile, or a file that was changed
      }
      break  // an app goes on until the view is gone
    }
    // README ends
  }

  /// The example of the tutorial's about an app's folders.
  private func appMap() throws -> (MapBundle, URL)? {
    // A map that comes with the app:
    guard let file = Bundle.main.url(forResource: "usa", withExtension: "mbtiles") else { return nil }
    let bundle = try MapBundle(url: file)
    // Maps that the app downloads, the folder of MapStoreClient:
    let support = FileManager.default.urls(for: .applicationSupportDirectory, in: .userDomainMask)[0]
    let regions = support.appending(path: "regions")
    return (bundle, regions)
  }

  /// The programs of the tests come without a map.
  @Test func appsFoldersAreNamed() throws { #expect(try appMap() == nil) }

  @Test func readmeHasTheseLines() throws {
    let readme = try ReadmeExamples.readme()
    let blocks = try #require(try ReadmeExamples.blocks(inSource: #filePath, importing: ["OfflineMap"]))
    for block in blocks { #expect(readme.contains(block), "README.md lacks:\n\(block)") }
  }

  /// It draws and ends with bundles that have the whole screen, that end at a coarser zoom as README's own does, and
  /// that have a part of the screen.
  @Test func theExampleRuns() async throws {
    let view = Viewport(longitude: -105.7, latitude: 40.3, zoom: 9, size: (390, 844), scale: 3)
    let coarser = Viewport(longitude: -105.7, latitude: 40.3, zoom: 5, size: (390, 844))
    #expect(coarser.tileZoom < view.tileZoom)
    let image = try SampleTiles.image(1)
    for tiles in [Array(view.tiles), Array(coarser.tiles), Array(view.tiles.prefix(1))] {
      let writer = try BundleWriter(
        path: folder.file("usa.mbtiles"), matrixSet: .webMercatorQuad, format: .png, replacing: true)
      for tile in tiles { try writer.put(tile, image) }
      _ = try writer.finish(BundleMetadata(name: "Rocky Mountains"))
      try await mapView()
    }
  }
}
