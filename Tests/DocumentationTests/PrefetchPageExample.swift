import OfflineMap
import TileImage

// The example of docs/explanation/prefetch.md, which `SnippetTests` compares with it.

func tilesAhead(
  _ viewport: Viewport, of bundle: MapBundle, draw: (PixelBuffer, ScreenFrame) -> Void
) throws {
  // page.begin
  // 64 MB for tiles and loads in progress, never more.
  let session = try MapSession(bundle: bundle, budget: 64 << 20, decoder: ImageDecoder())
  session.start()

  // For every frame in which the map moved:
  session.update(viewport, phase: .drag)
  // To draw:
  for tile in session.visibleTiles { draw(tile.picture, tile.frame) }

  // When only the app knows that memory is short; the session follows the system:
  session.memoryWarning()
  // page.end
}
