import Foundation
import TestSupport
import Testing
import TileIndex

@Suite(.ownThread) struct BundlePatchPropertyTests {
  /// For random changes of random bundles the result is the new edition's file byte for byte.
  @Test(arguments: 1...30 as ClosedRange<UInt64>)
  func applyingAPatchGivesTheNewFile(_ seed: UInt64) throws {
    var random = SeededGenerator(seed: seed)
    let folder = try TemporaryFolder()
    let grid = RandomBundle.grids[Int(seed % 3)]
    let first = RandomBundle(grid, count: Int.random(in: 1...40, using: &random), using: &random)
    let old = try first.write(folder.file("old.mbtiles"))
    let new = try first.changed(using: &random).write(folder.file("new.mbtiles"))
    let made = try BundlePatch.diff(old: old, new: new, output: folder.file("patch"), matrixSet: grid)
    #expect(folder.names == ["new.mbtiles", "old.mbtiles", "patch"])
    let applied = try BundlePatch.apply(
      folder.file("patch"), to: old, output: folder.file("applied.mbtiles"), matrixSet: grid)
    #expect(try folder.bytes("applied.mbtiles") == folder.bytes("new.mbtiles"))
    #expect(made == applied)
    #expect(try made.resultTilesHash == TilesHash.of(BundleFile.open(new, matrixSet: grid)))
    #expect(made.resultSHA256 != nil)
  }

  /// A base with the same tiles in another order gives the same tiles, metadata and places.
  @Test(arguments: 1...12 as ClosedRange<UInt64>)
  func reorderedBaseGivesTheSameContents(_ seed: UInt64) throws {
    var random = SeededGenerator(seed: seed)
    let folder = try TemporaryFolder()
    let grid = RandomBundle.grids[Int(seed % 3)]
    var first = RandomBundle(grid, count: 30, using: &random)
    let old = try first.write(folder.file("old.mbtiles"))
    let new = try first.changed(using: &random).write(folder.file("new.mbtiles"))
    _ = try BundlePatch.diff(old: old, new: new, output: folder.file("patch"), matrixSet: grid)
    first.tiles.reverse()
    let turned = try first.write(folder.file("turned.mbtiles"))
    let applied = try BundlePatch.apply(
      folder.file("patch"), to: turned, output: folder.file("applied.mbtiles"), matrixSet: grid)
    #expect(applied.resultSHA256 == nil)
    #expect(try BundleContents(folder.file("applied.mbtiles"), grid) == BundleContents(new, grid))
  }

  /// A damaged patch gives the right result or is refused, and leaves no file.
  @Test(arguments: 1...8 as ClosedRange<UInt64>)
  func damagedPatchesNeverGiveAWrongResult(_ seed: UInt64) throws {
    var random = SeededGenerator(seed: seed)
    let folder = try TemporaryFolder()
    let first = RandomBundle(.webMercatorQuad, count: 20, using: &random)
    let old = try first.write(folder.file("old.mbtiles"))
    let new = try first.changed(using: &random).write(folder.file("new.mbtiles"))
    _ = try BundlePatch.diff(old: old, new: new, output: folder.file("patch"))
    let whole = try [UInt8](folder.bytes("patch"))
    for _ in 0..<12 {
      var bytes = whole
      if Bool.random(using: &random) {
        bytes[Int.random(in: 0..<bytes.count, using: &random)] ^= UInt8.random(in: 1...255, using: &random)
      } else {
        bytes = Array(bytes.prefix(Int.random(in: 0..<bytes.count, using: &random)))
      }
      try folder.write("damaged", bytes: bytes)
      do {
        try BundlePatch.apply(folder.file("damaged"), to: old, output: folder.file("applied.mbtiles"))
        #expect(try BundleContents(folder.file("applied.mbtiles")) == BundleContents(new))
        try FileManager.default.removeItem(atPath: folder.file("applied.mbtiles"))
      } catch is BundleError {}
      #expect(folder.names == ["damaged", "new.mbtiles", "old.mbtiles", "patch"])
    }
  }
}
