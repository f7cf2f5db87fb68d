// snippet.begin
import OfflineMap

/// Shows a part of a bundle as a map view does, until its screen is complete.
///
/// - Returns: the names of the tiles on the screen, and the places to offer for a search.
func showMap(_ path: String, longitude: Double, latitude: Double, search: String) async throws -> (Set<TileID>, [Place])
{
  let bundle = try MapBundle(path: path)
  print(bundle.metadata.name, bundle.metadata.zooms, bundle.metadata.attribution ?? "")

  // 64 MB for tiles. `decode` makes what the app draws; here the bytes are counted only.
  let session = try MapSession(bundle: bundle, budget: 64 << 20) { bytes in (bytes.count, byteCount: bytes.count) }
  let ready = session.readyTiles()
  session.start()

  // For every frame in which the map moved, in points of the view:
  let zoom = Double(bundle.metadata.zooms.upperBound)
  let viewport = Viewport(longitude: longitude, latitude: latitude, zoom: zoom, size: (320, 480), scale: 1)
  session.update(viewport)

  // What is there already, then each tile when it is ready:
  var drawn = Set(session.visibleTiles.map(\.tileID))
  let expected = Set(try await bundle.tiles(in: .world)).intersection(viewport.tiles)
  if !drawn.isSuperset(of: expected) {
    for await result in ready {
      let tile = try result.get()  // a map view would go on, and say which tiles failed
      drawn.insert(tile.tileID)  // draw tile.picture at tile.frame
      if drawn.isSuperset(of: expected) { break }
    }
  }

  // When the app needs memory for something else:
  session.memoryWarning()
  return (drawn, try await bundle.places(matching: search, near: (longitude, latitude)).map(\.place))
}
// snippet.end
