import Foundation
import TestSupport
import TileIndex

@testable import TileCut

extension TemporaryFolder {
  /// The tiles of a cut, whose bundle lies in the folder.
  func tiles(of options: CutOptions, threads: Int = 2) throws -> [TileID: [UInt8]] {
    let path = file("\(UUID().uuidString).mbtiles")
    _ = try Cutter(options, resources: CutResources(threads: threads)).cut(to: path)
    var tiles: [TileID: [UInt8]] = [:]
    try BundleFile.open(path).forEachTile { tiles[$0] = Array($1) }
    return tiles
  }
}
