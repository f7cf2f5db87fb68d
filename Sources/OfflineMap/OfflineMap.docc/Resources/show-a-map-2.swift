import OfflineMap

/// Opens a bundle, and says what it shows.
func openMap(_ path: String) throws -> MapBundle {
  let bundle = try MapBundle(path: path)
  print(bundle.metadata.name, bundle.metadata.zooms, bundle.metadata.attribution ?? "")
  return bundle
}

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
