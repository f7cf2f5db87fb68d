/// What a client gets for a tile that lies in the grid but not in the tileset. The raw value is the word of `--missing`.
public enum MissingTilePolicy: String, Hashable, Sendable, CaseIterable {
  /// 404: the client knows that there is nothing.
  case notFound = "404"
  /// 204 without a body: vector viewers want it.
  case noContent = "204"
  /// A transparent tile (white where the format has no transparency).
  case blank
  /// The part of the nearest ancestor that covers the tile, enlarged; 404 where no ancestor has a tile.
  case overzoom
}
