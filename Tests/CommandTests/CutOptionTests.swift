import Foundation
import TestSupport
import Testing
import TileImage
import TileIndex

/// The effect of each option of `cut` on the bundle.
@Suite(.ownThread) struct CutOptionTests {
  let folder: TemporaryFolder
  let picture: String
  let output: String

  init() throws {
    folder = try TemporaryFolder()
    // 10 to 20 degrees east, 40 to 50 north; its own zoom is 3.
    picture = try folder.writePlacedPicture()
    output = folder.file("out.mbtiles")
  }

  private func cut(_ options: String...) throws -> CommandRun {
    let run = try Command(built: "tilecut").run(["cut", picture, "-o", output] + options)
    #expect(run.status == 0, "\(run)")
    try expectValid(output)
    return run
  }

  private func tile(_ zoom: Int, _ column: Int, _ row: Int) throws -> PixelBuffer {
    let bytes = try #require(try MBTilesReader(path: output).tile(TileID(zoom: zoom, column: column, row: row)))
    return try bytes.withUnsafeBytes { try ImageDecoder.decode($0) }
  }

  private func pixel(_ pixels: PixelBuffer, _ x: Int, _ y: Int) -> SIMD4<UInt8> {
    pixels.bytes.loadUnaligned(fromByteOffset: (y * pixels.width + x) * 4, as: SIMD4<UInt8>.self)
  }

  /// Neither the file's name nor its folder is in the bundle.
  @Test func bundleBytesDoNotDependOnTheOutputName() throws {
    let folder = try TemporaryFolder()
    let source = try folder.writePlacedPicture()
    for name in ["one", "two"] {
      let run = try tilecut("cut", source, "-o", folder.file("\(name).mbtiles"), "--zoom", "0-1")
      #expect(run.status == 0, "\(run)")
    }
    #expect(try folder.bytes("one.mbtiles") == folder.bytes("two.mbtiles"))
  }

  /// At zoom 30 the sixth decimal of a degree is several tiles. JPEG, because a debug build takes long to write a PNG.
  @Test func deepestZoomVerifies() throws {
    let folder = try TemporaryFolder()
    let output = folder.file("out.mbtiles")
    let run = try tilecut(
      "cut", try folder.writePlacedPicture(), "-o", output, "--zoom", "30", "--bounds", "12,42,12.000002,42.000001",
      "--format", "jpeg")
    #expect(run.status == 0, "\(run)")
    try expectValid(output)
  }

  @Test func defaultsAreMercatorPNGAndTheSourcesZooms() throws {
    let run = try cut()
    #expect(try SQLiteFile.tiles(output) == mercatorTiles(west: 10, south: 40, east: 20, north: 50, 0...3))
    let metadata = try SQLiteFile.metadata(output)
    #expect(metadata["name"] == "placed" && metadata["format"] == "png" && metadata["type"] == "baselayer")
    #expect(metadata["bounds"] == "10,40,20,50" && metadata["minzoom"] == "0" && metadata["maxzoom"] == "3")
    #expect(metadata["version"] == "1" && metadata["description"] == nil && metadata["attribution"] == nil)
    #expect(try SQLiteFile.rows(output, "PRAGMA application_id") == [["1297105496"]])
    let tiles = try SQLiteFile.tiles(output).count
    #expect(run.stdout.hasPrefix("\(output): \(tiles) tiles, zoom 0-3, "), "\(run)")
  }

  @Test func metadataOptionsAreInTheBundle() throws {
    _ = try cut(
      "--zoom", "0", "--name", "Ünïcode \"map\"", "--attribution", "<a href='x'>We</a>", "--description",
      "It's; DROP TABLE",
      "--type", "overlay", "--version", "12")
    let metadata = try SQLiteFile.metadata(output)
    #expect(metadata["name"] == "Ünïcode \"map\"" && metadata["attribution"] == "<a href='x'>We</a>")
    #expect(
      metadata["description"] == "It's; DROP TABLE" && metadata["type"] == "overlay" && metadata["version"] == "12")
  }

  @Test(arguments: [("3", 3...3), ("2-4", 2...4), ("0-0", 0...0)])
  func zoomOptionLimitsTheLevels(_ option: String, _ zooms: ClosedRange<Int>) throws {
    _ = try cut("--zoom", option, "--format", "jpeg")
    #expect(try SQLiteFile.tiles(output) == mercatorTiles(west: 10, south: 40, east: 20, north: 50, zooms))
    let metadata = try SQLiteFile.metadata(output)
    #expect(metadata["minzoom"] == "\(zooms.lowerBound)" && metadata["maxzoom"] == "\(zooms.upperBound)")
  }

  @Test func boundsClipTheSource() throws {
    _ = try cut("--bounds", "12,42,15,45", "--zoom", "0-5")
    #expect(try SQLiteFile.tiles(output) == mercatorTiles(west: 12, south: 42, east: 15, north: 45, 0...5))
    #expect(try SQLiteFile.metadata(output)["bounds"] == "12,42,15,45")
    // Tile 5/17/11 goes from 11.25 to 22.5 degrees east; of it columns 17 to 84 are within the bounds.
    let pixels = try tile(5, 17, 11)
    let visible = (0..<256).filter { x in (0..<256).contains { pixel(pixels, x, $0).w > 0 } }
    #expect(abs(visible.first! - 17) <= 1 && abs(visible.last! - 84) <= 1, "\(visible.first!) to \(visible.last!)")
  }

  @Test func jpegTilesHaveTheRequestedQuality() throws {
    _ = try cut("--format", "jpeg", "--quality", "60")
    #expect(try SQLiteFile.metadata(output)["format"] == "jpg")
    #expect(try SQLiteFile.rows(output, "SELECT DISTINCT hex(substr(tile_data, 1, 3)) FROM tiles") == [["FFD8FF"]])
    let small = try SQLiteFile.rows(output, "SELECT sum(length(tile_data)) FROM tiles")[0][0]
    let run = try tilecut("cut", picture, "-o", output, "--format", "jpg", "--quality", "95", "--force")
    #expect(run.status == 0, "\(run)")
    let large = try SQLiteFile.rows(output, "SELECT sum(length(tile_data)) FROM tiles")[0][0]
    #expect(try #require(Int(small)) < #require(Int(large)))
  }

  /// Without georeference the tiles of the last zoom are the picture's pixels, from its top left corner on.
  @Test func flatCutsPixelsWithoutGeoreference() throws {
    let source = try folder.writePicture("scan.png", width: 700, height: 300)
    let without = try tilecut("cut", source, "-o", output, "--force")
    #expect(without.status == 65 && without.stderr.contains("--flat"), "\(without)")
    let run = try tilecut("cut", source, "-o", output, "--flat", "--force")
    #expect(run.status == 0, "\(run)")
    let metadata = try SQLiteFile.metadata(output)
    #expect(metadata["flat_image"] == "700,300" && metadata["maxzoom"] == "2" && metadata["minzoom"] == "0")
    for column in 0..<3 {
      for row in 0..<2 {
        let pixels = try tile(2, column, row)
        for (x, y) in [(0, 0), (17, 30), (255, 43), (100, 200), (187, 0)] {
          let (left, top) = (column * 256 + x, row * 256 + y)
          let found = pixel(pixels, x, y)
          if left < 700, top < 300 {
            #expect(found == SIMD4(UInt8(255 * left / 700), UInt8(255 * top / 300), UInt8((left ^ top) & 0xff), 255))
          } else {
            #expect(found.w == 0)
          }
        }
      }
    }
    for more in [["--bounds", "0,0,1,1"], ["--crs", "EPSG:4326"], ["--matrix", "WorldCRS84Quad"]] {
      let run = try tilecut("cut", source, "-o", output, "--flat", "--force", more[0], more[1])
      #expect(run.status == 64 && run.stderr.contains("flat"), "\(run)")
    }
  }

  /// Readers that know Web Mercator only must not take this grid for theirs.
  @Test func worldCRS84QuadIsInDegrees() throws {
    _ = try cut("--matrix", "WorldCRS84Quad")
    let metadata = try SQLiteFile.metadata(output)
    #expect(metadata["tile_matrix_set"] == "http://www.opengis.net/def/tilematrixset/OGC/1.0/WorldCRS84Quad")
    #expect(metadata["crs"] == "OGC:CRS84")
    #expect(metadata["bounds"] == "10,40,20,50" && metadata["maxzoom"] == "2")
    #expect(try SQLiteFile.rows(output, "PRAGMA application_id") == [["0"]])
    #expect(try SQLiteFile.rows(output, "SELECT name FROM sqlite_master WHERE name = 'tiles'") == [])
    // Zoom 0 has two tiles of 180 degrees, zoom 2 eight columns of 45 degrees.
    let tiles = try SQLiteFile.tiles(output, view: "grid_tiles")
    #expect(tiles == ["0/1/0", "1/2/0", "2/4/0", "2/4/1"])

    if let gdalinfo = Command(installed: "gdalinfo") {
      #expect(try gdalinfo.run([output]).status != 0, "GDAL takes it for Web Mercator")
    }
    #expect(try tilecut("preview", "--contact-sheet", output, "-o", folder.file("sheet.png")).status == 0)
  }

  @Test func nearestResamplingAddsNoColours() throws {
    _ = try cut("--resampling", "nearest", "--zoom", "4")
    let bytes = try folder.bytes("placed.png")
    let source = try bytes.withUnsafeBytes { try ImageDecoder.decode($0) }
    func colours(_ pixels: PixelBuffer) -> Set<SIMD4<UInt8>> {
      Set((0..<pixels.width * pixels.height).map { pixel(pixels, $0, 0) }.filter { $0.w > 0 })
    }
    let found = colours(try tile(4, 8, 5))
    #expect(found.count > 100 && found.isSubset(of: colours(source)))
  }

  @Test func laterSourcesAreDrawnOverEarlierOnes() throws {
    let red = try folder.writePicture("red.png", colour: 0x0000ff)
    let blue = try folder.writePicture("blue.png", colour: 0xff0000)
    for (stem, west) in [("red", 10.0), ("blue", 15.0)] {
      try folder.write("\(stem).pgw", "0.15625\n0\n0\n-0.15625\n\(west + 0.078125)\n49.921875\n")
      try folder.write("\(stem).prj", "EPSG:4326")
    }
    for (sources, atOverlap) in [([red, blue], SIMD4<UInt8>(0, 0, 255, 255)), ([blue, red], SIMD4(255, 0, 0, 255))] {
      let run = try Command(built: "tilecut").run(["cut"] + sources + ["-o", output, "--force"])
      #expect(run.status == 0, "\(run)")
      #expect(try SQLiteFile.metadata(output)["bounds"] == "10,40,25,50")
      // Tile 3/4/2 goes from 0 to 45 degrees east; 45 degrees north are in row 225.
      let pixels = try tile(3, 4, 2)
      #expect(pixel(pixels, 71, 225) == SIMD4(255, 0, 0, 255), "12.5 degrees east: red alone")
      #expect(pixel(pixels, 99, 225) == atOverlap, "17.5 degrees east: both")
      #expect(pixel(pixels, 128, 225) == SIMD4(0, 0, 255, 255), "22.5 degrees east: blue alone")
    }
  }

  @Test func dryRunWritesNothing() throws {
    try folder.write("out.mbtiles", "precious")
    let before = folder.names
    let run = try tilecut("cut", picture, "-o", output, "--zoom", "2-4", "--dry-run")
    #expect(run.status == 0 && run.stderr.isEmpty, "\(run)")
    let lines = run.stdoutLines
    #expect(lines.first == "WebMercatorQuad, zoom 2-4" && lines.contains("  zoom 2: up to 1 tile"), "\(run)")
    let tiles = mercatorTiles(west: 10, south: 40, east: 20, north: 50, 2...4).count
    #expect(lines.contains("  in all up to \(tiles) tiles"), "\(run)")
    #expect(lines.last == "\(picture): 64 x 64 pixels, WGS 84 (EPSG:4326)", "\(run)")
    #expect(folder.names == before)
    #expect(try folder.bytes("out.mbtiles") == Data("precious".utf8))
  }

  @Test func dryRunListsTheFirstSources() throws {
    // Pictures on one grid would be one source.
    let sources = try (0..<25).map { number in
      try FileManager.default.copyItem(atPath: picture, toPath: folder.file("sheet\(number).png"))
      try folder.write("sheet\(number).pgw", "0.1\n0\n0\n-0.1\n\(10 + Double(number) / 31)\n50\n")
      return folder.file("sheet\(number).png")
    }
    let run = try Command(built: "tilecut").run(["cut"] + sources + ["-o", output, "--crs", "EPSG:4326", "--dry-run"])
    #expect(run.stdoutLines.filter { $0.contains("64 x 64 pixels") }.count == 20, "\(run)")
    #expect(run.stdoutLines.last == "and 5 more sources; --json lists all", "\(run)")
  }

  @Test func dryRunRefusesWhatTheCutWould() throws {
    expectRefusal(
      try tilecut("cut", picture, "-o", folder.file("out.png"), "--dry-run"), status: 64, naming: "out.png")
    expectRefusal(
      try tilecut("cut", picture, "-o", folder.file("out.pmtiles"), "--matrix", "degrees", "--dry-run"), status: 65,
      naming: "out.pmtiles", "degrees")
  }

  /// A grid is named, or lies in a file of any name.
  @Test func unknownGridsAreRefusedWithTheKnownOnes() throws {
    expectRefusal(
      try tilecut("cut", picture, "-o", output, "--matrix", "mercator"), status: 64,
      naming: "--matrix mercator is no grid that is known", "WebMercatorQuad", "degrees")
    let file = try folder.write("grid.txt", "no grid")
    expectRefusal(
      try tilecut("cut", picture, "-o", output, "--matrix", file), status: 65, naming: "is no tile matrix set")
  }

  /// A dry run opens its sources, so one that cannot be read fails.
  @Test func dryRunReportsUnusableSources() throws {
    expectRefusal(try tilecut("cut", folder.file("missing.tif"), "-o", output, "--dry-run"), status: 66)
  }
}
