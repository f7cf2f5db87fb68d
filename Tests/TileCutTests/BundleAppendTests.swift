import Foundation
import Support
import TestSupport
import Testing
import TileImage
import TileIndex

@testable import TileCut

/// Rasters that are added to a bundle later.
@Suite(.ownThread) struct BundleAppendTests {
  let folder: TemporaryFolder
  init() throws { folder = try TemporaryFolder() }

  /// Writes a picture of one colour over a box of degrees.
  private func raster(_ name: String, _ colour: RGBA, west: Double, east: Double) throws -> String {
    let pixels = PixelBuffer(width: 128, height: 128)
    pixels.fill(colour)
    try folder.write(
      "\(name).pgw", "\((east - west) / 128)\n0\n0\n\(-10.0 / 128)\n\(west + (east - west) / 256)\n\(50 - 10.0 / 256)\n"
    )
    try folder.write("\(name).prj", "EPSG:4326")
    return try folder.write("\(name).png", bytes: TileEncoder(.png(PNGOptions())).encode(pixels))
  }

  private func options(_ sources: [String], _ encoding: TileEncoding) -> CutOptions {
    var options = CutOptions(sources: sources)
    options.zoom = .levels(2...5)
    options.encoding = encoding
    options.name = "map"
    return options
  }

  /// A new hash would hide that a tile was damaged before.
  @Test func nothingIsAddedToADamagedBundle() throws {
    let west = try raster("west", RGBA(red: 200, green: 40, blue: 40), west: 10, east: 30)
    let path = folder.file("a/")
    _ = try Cutter(options([west], .png(PNGOptions()))).cut(to: path)
    let reader = try BundleFile.open(path)
    let tile = try #require(try reader.range(zoom: 5)?.first { try reader.tile($0) != nil })
    let other = PixelBuffer(width: 256, height: 256)
    other.fill(RGBA(red: 1, green: 2, blue: 3))
    try folder.write("a/5/\(tile.column)/\(tile.row).png", bytes: TileEncoder(.png(PNGOptions())).encode(other))
    let east = try raster("east", RGBA(red: 40, green: 40, blue: 200), west: 40, east: 60)
    let append = try BundleAppend(to: path, options: CutOptions(sources: [east]))
    let error = #expect(throws: BundleError.self) { try append.write(to: path, replacing: true) }
    #expect(error?.description.contains("are not those that were written") == true, "\(error?.description ?? "")")
    #expect(
      try BundleVerifier(path: path) { _, _ in nil }.verify().outcomes.flatMap(\.findings).contains {
        $0.rule == "tiles-hash"
      })
  }

  /// Appended rasters look as if all had been cut at once, and tiles beside them keep their bytes.
  @Test(
    arguments: [TileEncoding.png(PNGOptions()), .jpeg(JPEGOptions(quality: 95))], ["a.mbtiles", "a.pmtiles", "a/"])
  func appendedRastersAreThoseOfOneCut(encoding: TileEncoding, name: String) throws {
    let west = try raster("west", RGBA(red: 200, green: 40, blue: 40), west: 10, east: 30)
    let east = try raster("east", RGBA(red: 40, green: 40, blue: 200), west: 25, east: 60)
    let path = folder.file(name)
    _ = try Cutter(options([west], encoding)).cut(to: path)
    let before = try BundleFile.open(path)
    var old: [TileID: [UInt8]] = [:]
    try before.forEachTile { old[$0] = Array($1) }
    var added = CutOptions(sources: [east])
    added.attribution = "them"
    let append = try BundleAppend(to: path, options: added, encoding: encoding)
    let summary = try append.write(to: path, replacing: true)

    let whole = folder.file("whole.mbtiles")
    _ = try Cutter(options([west, east], encoding)).cut(to: whole)
    let (found, expected) = (try BundleFile.open(path), try MBTilesReader(path: whole))
    #expect(found.metadata["attribution"] == "them" && found.metadata.name == "map")
    #expect(found.metadata.bounds == expected.metadata.bounds)
    var count = 0
    try expected.forEachTile { tile, bytes in
      count += 1
      let stored = try #require(try found.tile(tile), "\(tile)")
      let (a, b) = (try ImageDecoder.decode(bytes), try stored.withUnsafeBytes { try ImageDecoder.decode($0) })
      var (worst, sum) = (0, 0)
      for offset in 0..<(256 * 256 * 4) {
        let levels = (
          Int(a.bytes.load(fromByteOffset: offset, as: UInt8.self)),
          Int(b.bytes.load(fromByteOffset: offset, as: UInt8.self))
        )
        worst = max(worst, abs(levels.0 - levels.1))
        sum += abs(levels.0 - levels.1)
      }
      if encoding.format == .png {
        #expect(worst <= 2, "\(tile): \(worst)")
      } else {
        // JPEG has no transparency at the edges, and loses a little each time.
        #expect(sum <= 256 * 256 * 4, "\(tile): \(sum)")
      }
    }
    #expect(summary.tileCount == count)
    // Column 16 of zoom 5 ends at 11.25 degrees, where the new raster is not.
    let untouched = old.keys.filter { $0.zoom == 5 && $0.column == 16 }
    #expect(!untouched.isEmpty)
    for tile in untouched { #expect(try found.tile(tile) == old[tile]) }
    #expect(!folder.names.contains { $0.hasSuffix(".partial") })
  }

  /// Of some zooms, parents are made again all the same, and a warning names the finer ones.
  @Test func parentsAreMadeAgainWhateverZoomsAreGiven() throws {
    let west = try raster("west", RGBA(red: 200, green: 40, blue: 40), west: 10, east: 30)
    let path = folder.file("a.mbtiles")
    _ = try Cutter(options([west], .png(PNGOptions()))).cut(to: path)
    var added = CutOptions(sources: [try raster("over", RGBA(red: 40, green: 40, blue: 200), west: 10, east: 30)])
    added.zoom = .levels(4...4)
    let summary = try BundleAppend(to: path, options: added).write(to: path, replacing: true)
    #expect(summary.warnings.contains { $0.contains("zooms 5 to 5 keep the old picture") }, "\(summary.warnings)")
    let reader = try MBTilesReader(path: path)
    for zoom in 2...5 {
      var colours: Set<SIMD4<UInt8>> = []
      try reader.forEachTile(in: try #require(try reader.range(zoom: zoom))) { _, bytes in
        let pixels = try ImageDecoder.decode(bytes)
        for y in 0..<pixels.height {
          for x in 0..<pixels.width where pixels[x, y].w == 255 { colours.insert(pixels[x, y]) }
        }
      }
      let (old, new) = (SIMD4<UInt8>(200, 40, 40, 255), SIMD4<UInt8>(40, 40, 200, 255))
      #expect(colours.contains(zoom < 5 ? new : old) && !colours.contains(zoom < 5 ? old : new), "\(zoom): \(colours)")
    }
  }

  @Test func flatImagesAreRefused() throws {
    let west = try raster("west", RGBA(red: 200, green: 40, blue: 40), west: 10, east: 30)
    var flat = CutOptions(sources: [west])
    flat.isFlat = true
    _ = try Cutter(flat).cut(to: folder.file("flat.mbtiles"))
    let error = #expect(throws: CutError.self) {
      try BundleAppend(to: folder.file("flat.mbtiles"), options: CutOptions(sources: [west]))
    }
    #expect(error?.description.contains("flat image") == true)
  }

  @Test func otherZoomsAndFormatsAreRefused() throws {
    let west = try raster("west", RGBA(red: 200, green: 40, blue: 40), west: 10, east: 30)
    let path = folder.file("a.mbtiles")
    _ = try Cutter(options([west], .png(PNGOptions()))).cut(to: path)
    var deeper = CutOptions(sources: [west])
    deeper.zoom = .levels(2...6)
    #expect(throws: CutError.self) { try BundleAppend(to: path, options: deeper) }
    #expect(throws: CutError.self) {
      try BundleAppend(to: path, options: CutOptions(sources: [west]), encoding: .jpeg(JPEGOptions()))
    }
    #expect(throws: BundleError.self) {
      try BundleAppend(to: folder.file("none.mbtiles"), options: CutOptions(sources: [west]))
    }
  }

  /// What `cut` encodes otherwise than is usual, and bundles without that row: JPEG shows its quality, WebP whether it
  /// is lossless.
  @Test(
    arguments: [
      TileEncoding.png(PNGOptions(effort: .fast, colours: 16)), .jpeg(JPEGOptions(quality: 40)),
      .jpeg(JPEGOptions(quality: 96)), TileEncoding(.webp), .webp(WebPOptions(lossless: false, quality: 30)),
      TileEncoding(.jpegAndWebP).changingQuality(to: 60), TileEncoding(.webPAndPNG),
      TileEncoding(.auto).changingQuality(to: 70).changingPNG { _ in PNGOptions(colours: 8) },
    ], ["a.mbtiles", "a.pmtiles", "a.gpkg", "a/"])
  func newTilesAreEncodedAsTheOthers(encoding: TileEncoding, name: String) throws {
    let west = try raster("west", RGBA(red: 200, green: 40, blue: 40), west: 10, east: 30)
    let path = folder.file(name)
    _ = try Cutter(options([west], encoding)).cut(to: path)
    #expect(try TileEncoding(of: BundleFile.open(path)) == encoding)
    // The row stays with the bundle.
    _ = try BundleAppend(to: path, options: CutOptions(sources: [west])).write(to: path, replacing: true)
    #expect(try TileEncoding(of: BundleFile.open(path)) == encoding)
  }

  @Test(arguments: [1, 25, 50, 75, 85, 90, 100]) func theQualityOfForeignJPEGIsSeen(_ quality: Int) throws {
    let west = try raster("west", RGBA(red: 200, green: 40, blue: 40), west: 10, east: 30)
    let path = folder.file("a.mbtiles")
    _ = try Cutter(options([west], .jpeg(JPEGOptions(quality: quality)))).cut(to: path)
    try SQLiteConnection(creating: path).execute("DELETE FROM metadata WHERE name = 'tile_encoding'")
    #expect(try TileEncoding(of: BundleFile.open(path)) == .jpeg(JPEGOptions(quality: quality)))
  }

  @Test func newTilesHaveNoMoreColoursThanTheOthers() throws {
    let bundle = folder.file("a.mbtiles")
    let west = try raster("west", RGBA(red: 200, green: 40, blue: 40), west: 10, east: 30)
    _ = try Cutter(options([west], .png(PNGOptions(colours: 4)))).cut(to: bundle)
    let pixels = PixelBuffer(width: 128, height: 128)
    for y in 0..<128 { for x in 0..<128 { pixels[x, y] = SIMD4(UInt8(x * 2), UInt8(y * 2), 0, 255) } }
    let east = try raster("east", .white, west: 40, east: 60)
    try folder.write("east.png", bytes: TileEncoder(.png(PNGOptions())).encode(pixels))
    _ = try BundleAppend(to: bundle, options: CutOptions(sources: [east])).write(to: bundle, replacing: true)
    try MBTilesReader(path: bundle).forEachTile { tile, bytes in
      let pixels = try ImageDecoder.decode(bytes)
      var colours: Set<SIMD4<UInt8>> = []
      for y in 0..<pixels.height { for x in 0..<pixels.width { colours.insert(pixels[x, y]) } }
      #expect(colours.count <= 5, "\(tile): \(colours.count)")
    }
  }

  /// A version that is given is stored, also the first; a place that is given again is there once.
  @Test func versionAndPlacesAreThoseThatAreGiven() throws {
    let west = try raster("west", RGBA(red: 200, green: 40, blue: 40), west: 10, east: 30)
    let (old, new) = (folder.file("a.mbtiles"), folder.file("b.mbtiles"))
    var first = options([west], .png(PNGOptions()))
    (first.version, first.places) = ("2", [Place(name: "Ayr", longitude: 20, latitude: 45, importance: 0.1)])
    first.places += first.places
    _ = try Cutter(first).cut(to: old)
    var added = CutOptions(sources: [west])
    added.places = [
      Place(name: "Ayr", longitude: 20, latitude: 45, importance: 0.5), Place(name: "Ayr", longitude: 21, latitude: 45),
    ]
    func appended(_ version: String?) throws -> MBTilesReader {
      added.version = version
      _ = try BundleAppend(to: old, options: added).write(to: new, replacing: true)
      return try MBTilesReader(path: new)
    }
    #expect(try appended(nil).metadata["version"] == "2" && appended("1").metadata["version"] == "1")
    #expect(try MBTilesReader(path: old).places().all().count == 1)
    let places = try appended("3").places().all()
    #expect(places.map(\.importance) == [0.5, 0] && places.map(\.longitude) == [20, 21], "\(places)")
  }
}
