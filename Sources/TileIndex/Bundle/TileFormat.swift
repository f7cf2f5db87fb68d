/// What a tile's bytes are. The raw value is the word that MBTiles metadata uses for it.
public enum TileFormat: String, Sendable, CaseIterable {
  case png
  case jpg
  case webp
  case pbf
}
