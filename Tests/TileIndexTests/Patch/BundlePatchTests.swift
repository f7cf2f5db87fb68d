import Foundation
import TestSupport
import Testing
import TileIndex

@Suite(.ownThread) struct BundlePatchTests {
  let folder: TemporaryFolder
  init() throws { folder = try TemporaryFolder() }

  private func bundle(
    _ name: String, zoom: Int = 5, seed: UInt8 = 0, changing: [TileID: [UInt8]] = [:], format: TileFormat = .png,
    set: TileMatrixSet = .webMercatorQuad, version: String = "1"
  ) throws -> String {
    let writer = try BundleWriter(path: folder.file(name), matrixSet: set, format: format, replacing: true)
    for (index, tile) in set.wholeRange(zoom: zoom).enumerated() {
      let bytes =
        format == .png ? blob(UInt8(truncatingIfNeeded: index) &+ seed) : [0xff, 0xd8, 0xff, UInt8(index & 255)]
      try writer.put(tile, changing[tile] ?? bytes)
    }
    _ = try writer.finish(BundleMetadata(name: "Map", version: version))
    return folder.file(name)
  }

  private let changed = TileID(unchecked: 5, 7, 9)

  @Test func patchOfOneTileIsSmall() throws {
    let old = try bundle("old.mbtiles")
    let new = try bundle("new.mbtiles", changing: [changed: blob(3, count: 1000)])
    let summary = try BundlePatch.diff(old: old, new: new, output: folder.file("patch"))
    #expect(summary.changedTiles == 1 && summary.removedTiles == 0)
    #expect(summary.patchBytes < 8_000, "\(summary.patchBytes)")
    #expect(summary.patchBytes == (try folder.bytes("patch").count))
  }

  @Test func equalBundlesHaveAnEmptyPatch() throws {
    let old = try bundle("old.mbtiles")
    let summary = try BundlePatch.diff(old: old, new: bundle("same.mbtiles"), output: folder.file("patch"))
    #expect(summary.changedTiles == 0 && summary.removedTiles == 0 && summary.patchBytes < 6_000)
    #expect(summary.baseTilesHash == summary.resultTilesHash)
    try BundlePatch.apply(folder.file("patch"), to: old, output: folder.file("applied.mbtiles"))
    #expect(try folder.bytes("applied.mbtiles") == folder.bytes("old.mbtiles"))
  }

  @Test func baseMayBeReplacedByTheResult() throws {
    let old = try bundle("old.mbtiles")
    let new = try bundle("new.mbtiles", changing: [changed: blob(3)], version: "2")
    _ = try BundlePatch.diff(old: old, new: new, output: folder.file("patch"))
    try BundlePatch.apply(folder.file("patch"), to: old, output: old, replacing: true)
    #expect(try folder.bytes("old.mbtiles") == folder.bytes("new.mbtiles"))
    let error = #expect(throws: BundleError.self) {
      try BundlePatch.apply(folder.file("patch"), to: old, output: folder.file("again.mbtiles"))
    }
    #expect(error?.code == .mismatch && error?.description.contains("already has the tiles") == true)
  }

  @Test func otherBasesAreRefused() throws {
    let old = try bundle("old.mbtiles")
    let new = try bundle("new.mbtiles", changing: [changed: blob(3)])
    _ = try BundlePatch.diff(old: old, new: new, output: folder.file("patch"))
    let others = [
      try bundle("other.mbtiles", seed: 1), try bundle("retitled.mbtiles", version: "7"),
      try bundle("degrees.mbtiles", zoom: 4, set: .worldCRS84Quad),
    ]
    for other in others {
      let error = #expect(throws: BundleError.self) {
        try BundlePatch.apply(folder.file("patch"), to: other, output: folder.file("out.mbtiles"))
      }
      #expect(error?.code == .mismatch && error?.path == other && error?.remedy?.isEmpty == false, "\(error!)")
      #expect(!folder.names.contains("out.mbtiles"))
    }
    // Arguments in the wrong order.
    let swapped = #expect(throws: BundleError.self) {
      try BundlePatch.apply(old, to: folder.file("patch"), output: folder.file("out.mbtiles"))
    }
    #expect(swapped?.code == .malformed && swapped?.remedy?.hasPrefix("name the patch first") == true)
  }

  @Test func differentGridsOrFormatsAreRefused() throws {
    let old = try bundle("old.mbtiles")
    for (other, word) in [
      (try bundle("jpeg.mbtiles", format: .jpg), "jpg"),
      (try bundle("degrees.mbtiles", set: .worldCRS84Quad), "WorldCRS84Quad"),
    ] {
      let error = #expect(throws: BundleError.self) {
        try BundlePatch.diff(old: old, new: other, output: folder.file("patch"))
      }
      #expect(error?.code == .mismatch && error?.message.contains(word) == true)
      #expect(!folder.names.contains("patch") && folder.names.allSatisfy { !$0.hasPrefix(".") })
    }
  }

  /// Bases rewritten by other tools: the tiles are the same, in another order.
  @Test func flatAndVacuumedBasesAreAccepted() throws {
    let old = try bundle("old.mbtiles", zoom: 3)
    let new = try bundle("new.mbtiles", zoom: 3, changing: [TileID(unchecked: 3, 1, 1): blob(3)])
    _ = try BundlePatch.diff(old: old, new: new, output: folder.file("patch"))
    do {
      let database = try Database(old)
      try database.run("CREATE TABLE flat AS SELECT * FROM tiles")
      try database.run("DROP VIEW tiles")
      try database.run("ALTER TABLE flat RENAME TO tiles")
      try database.run("DROP TABLE map")
      try database.run("DROP TABLE images")
      try database.run("VACUUM")
    }
    let applied = try BundlePatch.apply(folder.file("patch"), to: old, output: folder.file("applied.mbtiles"))
    #expect(applied.resultSHA256 == nil)
    #expect(try BundleContents(folder.file("applied.mbtiles")) == BundleContents(new))
  }

  @Test func existingPatchesAreKeptWithoutReplacing() throws {
    let old = try bundle("old.mbtiles")
    try folder.write("patch", "precious")
    let error = #expect(throws: BundleError.self) {
      try BundlePatch.diff(old: old, new: old, output: folder.file("patch"))
    }
    #expect(error?.code == .exists)
    #expect(try folder.bytes("patch") == Data("precious".utf8))
    _ = try BundlePatch.diff(old: old, new: old, output: folder.file("patch"), replacing: true)
  }
}
