extension MBTilesReader {
  /// Every tile with the size of its blob, in the order of the index, without reading the blobs.
  ///
  /// - Complexity: O(tiles), and 32 bytes of memory for each.
  package func sizedTiles() throws -> [SizedTile] {
    try reading {
      let statement = try connection.prepare(
        "SELECT zoom_level, tile_column, tile_row, length(tile_data) FROM \(schema.tiles) ORDER BY 1, 2, 3")
      var tiles: [SizedTile] = []
      while try statement.step() {
        let place = Place(zoom: statement.int(0), column: statement.int(1), storedRow: statement.int(2))
        if let tile = tile(at: place), statement.int(3) > 0 {
          tiles.append(SizedTile(tile, bytes: statement.int(3)))
        }
      }
      return tiles
    }
  }
}
