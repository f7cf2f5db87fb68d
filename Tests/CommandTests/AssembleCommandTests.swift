import Foundation
import TestSupport
import Testing
import TileImage
import TileIndex

/// The commands `extract`, `merge` and `preview`.
@Suite(.ownThread) struct AssembleCommandTests {
  let folder: TemporaryFolder
  let bundle: String
  let output: String

  init() throws {
    folder = try TemporaryFolder()
    bundle = try folder.writeBundle("world.mbtiles", zooms: 0...3, seed: 1)
    output = folder.file("out.mbtiles")
  }

  private func hash(_ path: String) throws -> TilesHash { try TilesHash.of(BundleFile.open(path)) }

  @Test func mergingTwoExtractedHalvesGivesTheOriginal() throws {
    let (west, east, top) = (folder.file("west.mbtiles"), folder.file("east.mbtiles"), folder.file("top.mbtiles"))
    #expect(try tilecut("extract", bundle, "-o", west, "--bounds", "-180,-90,0,90", "--zoom", "1-3").status == 0)
    #expect(try tilecut("extract", bundle, "-o", east, "--bounds", "0,-90,180,90", "--zoom", "1-3").status == 0)
    #expect(try tilecut("extract", bundle, "-o", top, "--zoom", "0").status == 0)
    let run = try tilecut("merge", west, east, top, "-o", output)
    #expect(run.status == 0 && run.stdout.contains("85 tiles, zoom 0-3"), "\(run)")
    #expect(try hash(output) == hash(bundle))
    for path in [west, east, top, output] { try expectValid(path) }
  }

  @Test func overlayDrawsLaterBundlesOverEarlierOnes() throws {
    let frame = try folder.writeBundle("frame.mbtiles", zooms: 0...0, seed: 9, hollow: true)
    let below = try folder.writeBundle("below.mbtiles", zooms: 0...0, seed: 4)
    expectRefusal(try tilecut("merge", below, frame, "-o", output), status: 65, naming: frame, "--on-conflict")
    #expect(try tilecut("merge", below, frame, "-o", output, "--on-conflict", "overlay").status == 0)
    func pixels(_ path: String) throws -> PixelBuffer {
      let bytes = try #require(try BundleFile.open(path).tile(TileID(zoom: 0, column: 0, row: 0)))
      return try bytes.withUnsafeBytes { try ImageDecoder.decode($0) }
    }
    let (drawn, top, bottom) = (try pixels(output), try pixels(frame), try pixels(below))
    func pixel(_ buffer: PixelBuffer, _ x: Int, _ y: Int) -> UInt32 {
      buffer.bytes.load(fromByteOffset: y * buffer.rowBytes + x * 4, as: UInt32.self)
    }
    #expect(pixel(drawn, 2, 2) == pixel(top, 2, 2) && pixel(drawn, 128, 128) == pixel(bottom, 128, 128))
    #expect(pixel(top, 128, 128) == 0 && pixel(top, 2, 2) != pixel(bottom, 2, 2))
    // An opaque tile hides those below it, and its bytes stay the same.
    #expect(try tilecut("merge", frame, below, "-o", output, "--on-conflict", "overlay", "--force").status == 0)
    #expect(try hash(output) == hash(below))
  }

  /// JPEG has no transparency, so that the white beside a picture covers what lies below.
  @Test func overlaysThatMayCoverOthersAreWarnedOf() throws {
    let below = try folder.writeBundle("below.mbtiles", .jpg, zooms: 0...0, seed: 4)
    let above = try folder.writeBundle("above.mbtiles", .jpg, zooms: 0...0, seed: 9)
    let run = try tilecut("merge", below, above, "-o", output, "--on-conflict", "overlay", "--json")
    #expect(run.status == 0 && run.stderr.contains("\(above): its tiles are JPEG"), "\(run)")
    #expect(run.stdout.contains("its tiles are JPEG") && !run.stderr.contains("\(below):"), "\(run)")
    // Opaque tiles of other formats, whose bounds end within them.
    let png = try folder.writeBundle("png.mbtiles", zooms: 0...0, seed: 4)
    let opaque = try folder.writeBundle("opaque.mbtiles", zooms: 0...0, seed: 9)
    func warnings() throws -> String {
      try tilecut("merge", png, opaque, "-o", output, "--on-conflict", "overlay", "--force").stderr
    }
    #expect(try warnings().isEmpty)
    #expect(try tilecut("metadata", "set", opaque, "bounds", "10,10,20,20").status == 0)
    #expect(try warnings().contains("\(opaque): its tiles at its edge are opaque"))
    let other = try tilecut("merge", below, above, "-o", output, "--on-conflict", "last", "--force")
    #expect(other.status == 0 && other.stderr.isEmpty, "\(other)")
  }

  @Test func extractTakesAPolygonAndNamesErrorsInIt() throws {
    let area = try folder.write(
      "area.geojson", #"{"type": "Polygon", "coordinates": [[[1, 1], [40, 1], [1, 40], [1, 1]]]}"#)
    #expect(try tilecut("extract", bundle, "-o", output, "--polygon", area, "--zoom", "3").status == 0)
    #expect(try BundleFile.open(output).range(zoom: 3) == TileRange(zoom: 3, columns: 4...4, rows: 3...3))
    let bad = try folder.write("bad.geojson", #"{"type": "Polygon", "coordinates": [[[1, 1], [2, 2]]]}"#)
    let other = folder.file("other.mbtiles")
    expectRefusal(
      try tilecut("extract", bundle, "-o", other, "--polygon", bad), status: 65, naming: bad, "coordinates[0]")
    expectRefusal(
      try tilecut("extract", bundle, "-o", other, "--polygon", folder.file("no.json")), status: 66, naming: "no.json")
    expectRefusal(
      try tilecut("extract", bundle, "-o", other, "--zoom", "7"), status: 65, naming: bundle,
      "has no tile of zoom 7; ask for some of its zooms, 0-3")
    expectRefusal(
      try tilecut("extract", bundle, "-o", other, "--zoom", "4-9"), status: 65, naming: "has no tile of zoom 4-9")
    expectRefusal(try tilecut("extract", bundle, "-o", bundle, "--force"), status: 64, naming: bundle)
    expectRefusal(try tilecut("extract", bundle, "-o", other, "--bounds", "1,2,3,-4"), status: 64, naming: "--bounds")
    #expect(!folder.names.contains("other.mbtiles") && folder.names.allSatisfy { !$0.hasPrefix(".") })
  }

  // MARK: - Preview

  private func preview(_ arguments: String...) throws -> PixelBuffer {
    let png = folder.file("out.png")
    let run = try Command(built: "tilecut").run(["preview", bundle, "-o", png, "--force"] + arguments)
    #expect(run.status == 0, "\(run)")
    return try folder.bytes("out.png").withUnsafeBytes { try ImageDecoder.decode($0) }
  }

  @Test func previewHasTheRequestedSize() throws {
    func size(_ pixels: PixelBuffer) -> [Int] { [pixels.width, pixels.height] }
    #expect(try size(preview()) == [1024, 1024])
    #expect(try size(preview("--size", "300x200")) == [300, 200])
    #expect(try size(preview("--zoom", "1")) == [512, 512])
    #expect(try size(preview("--zoom", "3", "--bounds", "0,0,45,40.97989806962013")) == [256, 256])
    #expect(try size(preview("--bounds", "170,-10,-170,10", "--size", "64x64")) == [64, 64])
  }

  @Test func aPreviewOfNothingIsRefused() throws {
    let picture = try folder.writePlacedPicture()
    #expect(try tilecut("cut", picture, "-o", output).status == 0)
    let png = folder.file("out.png")
    let run = try tilecut("preview", output, "-o", png, "--bounds", "100,10,101,11")
    expectRefusal(run, status: 64, naming: output, "shows nothing in the box", "choose one within ")
    #expect(run.stderr.contains(/within (-?\d+(\.\d{1,6})?,?){4}\s/), "\(run)")
    #expect(!folder.names.contains("out.png"))
    #expect(try tilecut("preview", output, "-o", png, "--bounds", "12,42,13,43").status == 0)
  }

  /// At a zoom of the bundle the preview has the pixels of its tiles.
  @Test func previewOfAZoomHasThePixelsOfItsTiles() throws {
    let pixels = try preview("--zoom", "2")
    let reader = try BundleFile.open(bundle)
    for tile in TileMatrixSet.webMercatorQuad.wholeRange(zoom: 2) {
      let bytes = try #require(try reader.tile(tile))
      let expected = try bytes.withUnsafeBytes { try ImageDecoder.decode($0) }
      for y in 0..<256 {
        let row = pixels.bytes + (tile.row * 256 + y) * pixels.rowBytes + tile.column * 1024
        #expect(memcmp(row, expected.bytes + y * 1024, 1024) == 0, "tile \(tile), row \(y)")
      }
    }
  }

  @Test func previewRefusesUnusableArguments() throws {
    let png = folder.file("out.png")
    for (arguments, status, word) in [
      (["--zoom", "31"], 64, "zoom 31"), (["--size", "20000x20000"], 64, "20000 x 20000"),
      (["--size", "0x5"], 64, "--size"), (["--bounds", "1,2,1,2"], 64, "no area"), (["--zoom", "20"], 64, "--size"),
      (["--contact-sheet", "--zoom", "3"], 64, "--contact-sheet"),
    ] as [([String], Int32, String)] {
      let run = try Command(built: "tilecut").run(["preview", bundle, "-o", png] + arguments)
      expectRefusal(run, status: status, naming: word)
    }
    let vector = try folder.writeBundle("vector.mbtiles", .pbf, zooms: 0...1)
    expectRefusal(try tilecut("preview", vector, "-o", png), status: 65, naming: vector)
    #expect(!folder.names.contains("out.png"))
  }
}
