/// A tile and the size of its blob.
package struct SizedTile: Hashable, Sendable {
  package let tile: TileID
  package let bytes: Int

  package init(_ tile: TileID, bytes: Int) { (self.tile, self.bytes) = (tile, bytes) }
}
