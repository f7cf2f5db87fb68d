extension BundleReader {
  /// What the tiles are, by the first of them; nil when there are none, or they are something else.
  package func tileFormat() throws -> TileFormat? {
    for zoom in try zooms() {
      guard let range = try range(zoom: zoom) else { continue }
      // Tiles of a sparse level may be anywhere in its rectangle; a look at some will do before all are walked through.
      for tile in range.prefix(1024) {
        if let format = try withTile(tile, { TileFormat(sniffing: $0) }) { return format }
      }
      var found: TileFormat??
      do {
        try forEachTile(in: range) { _, bytes in
          found = .some(TileFormat(sniffing: bytes))
          throw Enough()
        }
      } catch is Enough {}
      if let found { return found }
    }
    return nil
  }
}

/// Ends a walk.
private struct Enough: Error {}
