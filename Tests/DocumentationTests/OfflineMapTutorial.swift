// tutorial.begin
import OfflineMap

/// Opens a bundle, and says what it shows.
func openMap(_ path: String) throws -> MapBundle {
  let bundle = try MapBundle(path: path)
  print(bundle.metadata.name, bundle.metadata.zooms, bundle.metadata.attribution ?? "")
  return bundle
}
// tutorial.1

/// Moves a view eastward, and draws until its last screen is complete.
func moveEast(
  in session: MapSession<[UInt8]>, latitude: Double, draw: (VisibleTile<[UInt8]>) -> Void
) async throws {
  let ready = session.readyTiles()
  session.start()

  // For every frame in which the map moved, in points of the view:
  let zoom = Double(session.bundle.metadata.zooms.upperBound)
  var viewport = Viewport(longitude: 0, latitude: latitude, zoom: zoom, size: (320, 480), scale: 1)
  for longitude in stride(from: 0.0, through: 8.0, by: 0.5) {
    viewport = Viewport(longitude: longitude, latitude: latitude, zoom: zoom, size: (320, 480), scale: 1)
    session.update(viewport, phase: .drag)
    for tile in session.visibleTiles { draw(tile) }
    try await Task.sleep(for: .milliseconds(16))
  }

  // The map rests. Each tile that is still missing is drawn when it arrives:
  session.update(viewport, phase: .rest)
  var drawn = Set(session.visibleTiles.map(\.tileID))
  for tile in session.visibleTiles { draw(tile) }
  let expected = Set(try await session.bundle.tiles(in: .world)).intersection(viewport.tiles)
  if !drawn.isSuperset(of: expected) {
    for await result in ready {
      let tile = try result.get()  // throws a tile's failure
      draw(tile)
      drawn.insert(tile.tileID)
      if drawn.isSuperset(of: expected) { break }
    }
  }
}
// tutorial.2

/// Shows a bundle in a moving view, and gives memory back when the system is short of it.
///
/// - Returns: the bytes that tiles took before and after the warning.
func showMovingMap(
  _ path: String, latitude: Double, draw: (VisibleTile<[UInt8]>) -> Void
) async throws -> (before: Int, after: Int) {
  // 64 MB for tiles, as they are stored: the app decodes them when it draws.
  let session = try MapSession(bundle: openMap(path), budget: 64 << 20)
  try await moveEast(in: session, latitude: latitude, draw: draw)
  let before = session.byteCount
  session.memoryWarning()
  return (before, session.byteCount)
}
// tutorial.3
