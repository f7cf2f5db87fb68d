import TestSupport
import TileIndex

extension SmallArchive {
  /// An archive of random tiles, some of them equal, some in runs.
  static func random(using random: inout some RandomNumberGenerator, zoomMax: Int = 6) -> SmallArchive {
    var archive = SmallArchive()
    for _ in 0..<Int.random(in: 1...120, using: &random) {
      let zoom = Int.random(in: 0...zoomMax, using: &random)
      let side = 1 << zoom
      let tile = TileID(
        unchecked: zoom, Int.random(in: 0..<side, using: &random), Int.random(in: 0..<side, using: &random))
      let bytes = blob(UInt8.random(in: 0...20, using: &random), count: Int.random(in: 0...9, using: &random))
      let first = tile.hilbertID
      for id in first..<(first + UInt64.random(in: 1...12, using: &random)) { archive.tiles[id] = bytes }
    }
    archive.leafEntries = Bool.random(using: &random) ? Int.random(in: 1...9, using: &random) : nil
    archive.leafLevels = Int.random(in: 1...3, using: &random)
    archive.internalCompression = UInt8.random(in: 1...2, using: &random)
    return archive
  }
}
