import Foundation
import TestSupport
import Testing
import TileImage
import TileIndex

@testable import TileCut

/// Bundles of JPEG and PNG tiles (`--format auto`).
@Suite(.ownThread) struct MixedFormatTests {
  let folder: TemporaryFolder
  init() throws { folder = try TemporaryFolder() }

  /// A picture over a box of degrees at 40 to 50 north, opaque.
  private func raster(_ name: String, west: Double, east: Double) throws -> String {
    let pixels = PixelBuffer(width: 128, height: 128)
    for y in 0..<128 { for x in 0..<128 { pixels[x, y] = SIMD4(UInt8(x), UInt8(y), 90, 255) } }
    try folder.write(
      "\(name).pgw", "\((east - west) / 128)\n0\n0\n\(-10.0 / 128)\n\(west + (east - west) / 256)\n\(50 - 10.0 / 256)\n"
    )
    try folder.write("\(name).prj", "EPSG:4326")
    return try folder.write("\(name).png", bytes: TileEncoder(.png(PNGOptions())).encode(pixels))
  }

  private func cut(_ name: String, _ change: (inout CutOptions) -> Void = { _ in }) throws -> any BundleReader {
    var options = CutOptions(sources: [try raster("map", west: 10, east: 30)])
    options.zoom = .levels(2...6)
    options.encoding = .auto(JPEGOptions(quality: 90), PNGOptions())
    options.name = "map"
    change(&options)
    _ = try Cutter(options).cut(to: folder.file(name))
    return try BundleFile.open(folder.file(name))
  }

  private func formats(_ bundle: any BundleReader) throws -> Set<TileFormat> {
    var found: Set<TileFormat> = []
    try bundle.forEachTile { _, bytes in if let format = TileFormat(sniffing: bytes) { found.insert(format) } }
    return found
  }

  private func expectValid(_ name: String) throws {
    #expect(try findings(folder.file(name)) == [], "\(name)")
  }

  /// Opaque tiles are JPEG, all others PNG; every container says so and passes its checks.
  @Test(arguments: ["a.mbtiles", "a.pmtiles", "a/"])
  func opaqueTilesAreJPEG(_ name: String) throws {
    let bundle = try cut(name)
    var count = 0
    try bundle.forEachTile { tile, bytes in
      count += 1
      let pixels = try ImageDecoder.decode(bytes)
      let isOpaque = (0..<256).allSatisfy { y in (0..<256).allSatisfy { pixels[$0, y].w == 255 } }
      #expect(TileFormat(sniffing: bytes) == (isOpaque ? .jpg : .png), "\(tile)")
    }
    #expect(count > 10 && bundle.metadata.format == .png && bundle.metadata["formats"] == "jpg,png")
    #expect(try formats(bundle) == [.jpg, .png])
    try expectValid(name)
  }

  private static let webp = TileEncoding.webp(WebPOptions(lossless: false, quality: 80))

  /// Other pairs: the bundle is of the format that shows transparency.
  @Test(
    arguments: [
      (TileEncoding.mixed(opaque: .jpeg(JPEGOptions()), other: webp), [TileFormat.jpg, .webp], TileFormat.webp),
      (.mixed(opaque: webp, other: .png(PNGOptions())), [.webp, .png], .png),
    ], ["a.mbtiles", "a.pmtiles", "a.gpkg", "a/"])
  func opaqueAndOtherTilesHaveTheirFormats(
    pair: (encoding: TileEncoding, formats: [TileFormat], stated: TileFormat), name: String
  ) throws {
    let bundle = try cut(name) { $0.encoding = pair.encoding }
    try bundle.forEachTile { tile, bytes in
      let isOpaque = try ImageDecoder.decode(bytes).opacity == .opaque
      #expect(TileFormat(sniffing: bytes) == pair.formats[isOpaque ? 0 : 1], "\(tile)")
    }
    #expect(try formats(bundle) == Set(pair.formats) && bundle.metadata.format == pair.stated)
    #expect(bundle.metadata["formats"] == pair.formats.map(\.rawValue).sorted().joined(separator: ","))
    try expectValid(name)
    // Appended tiles keep the mixture.
    let more = try raster("more", west: 28, east: 40)
    _ = try BundleAppend(to: folder.file(name), options: CutOptions(sources: [more])).write(
      to: folder.file("b.mbtiles"))
    let longer = try BundleFile.open(folder.file("b.mbtiles"))
    #expect(try formats(longer) == Set(pair.formats) && longer.metadata.format == pair.stated)
    try expectValid("b.mbtiles")
  }

  /// A map without a transparent pixel is a bundle of JPEG tiles like any other.
  @Test(arguments: ["a.mbtiles", "a.pmtiles", "a/"])
  func mapsWithoutTransparencyAreJPEG(_ name: String) throws {
    let bounds = TileMatrixSet.webMercatorQuad.geographicBounds(of: try TileID(zoom: 7, column: 70, row: 46))
    let exact = try cut(name) {
      $0.zoom = .levels(7...8)
      $0.bounds = bounds
    }
    #expect(try formats(exact) == [.jpg] && exact.metadata.format == .jpg && exact.metadata["formats"] == nil)
    try expectValid(name)
  }

  /// Converting, extracting and merging keep each tile's bytes and the statement of the formats.
  @Test func containersAndPartsKeepTheMixture() throws {
    let bundle = try cut("a.mbtiles")
    var name = "a.mbtiles"
    for next in ["b.pmtiles", "c/", "d.mbtiles"] {
      _ = try BundleConvert().write(BundleFile.open(folder.file(name)), to: folder.file(next))
      try expectValid(next)
      name = next
    }
    #expect(try TilesHash.of(BundleFile.open(folder.file("d.mbtiles"))) == TilesHash.of(bundle))
    let parts = [
      TileArea(bounds: BoundingBox(west: 10, south: 40, east: 18, north: 50)),
      TileArea(bounds: BoundingBox(west: 18, south: 40, east: 30, north: 50)),
    ]
    for (index, area) in parts.enumerated() {
      _ = try BundleExtract(area: area).write(bundle, to: folder.file("part\(index).mbtiles"))
    }
    let opened = try (0..<2).map { try BundleFile.open(folder.file("part\($0).mbtiles")) }
    _ = try BundleMerge(conflict: .error).write(opened, to: folder.file("whole.mbtiles"))
    try expectValid("whole.mbtiles")
    #expect(try TilesHash.of(BundleFile.open(folder.file("whole.mbtiles"))) == TilesHash.of(bundle))
  }

  /// A patch leads from one edition to the next, whatever formats each has.
  @Test func patchesHaveMixedTiles() throws {
    _ = try cut("old.mbtiles")
    let more = try raster("more", west: 28, east: 40)
    _ = try cut("new.mbtiles") { $0.sources.append(more) }
    let patch = folder.file("a.patch")
    _ = try BundlePatch.diff(old: folder.file("old.mbtiles"), new: folder.file("new.mbtiles"), output: patch)
    _ = try BundlePatch.apply(patch, to: folder.file("old.mbtiles"), output: folder.file("result.mbtiles"))
    #expect(try folder.bytes("result.mbtiles") == folder.bytes("new.mbtiles"))
  }

  /// Tiles that an appended raster makes opaque become JPEG.
  @Test func appendKeepsTheMixture() throws {
    _ = try cut("a.mbtiles")
    let more = try raster("more", west: 28, east: 60)
    _ = try BundleAppend(to: folder.file("a.mbtiles"), options: CutOptions(sources: [more])).write(
      to: folder.file("a.mbtiles"), replacing: true)
    let bundle = try BundleFile.open(folder.file("a.mbtiles"))
    #expect(try formats(bundle) == [.jpg, .png] && bundle.metadata["formats"] == "jpg,png")
    try expectValid("a.mbtiles")
  }

  /// GDAL reads a mixture, and the size of tiles, from the tiles.
  @Test(.enabled(if: GDALPrograms.arePresent, Comment(rawValue: GDALPrograms.skipMessage)), arguments: [1, 2])
  func gdalReadsMixedTiles(_ factor: Int) throws {
    let bundle = try cut("a.mbtiles") {
      $0.zoom = .levels(5...5)
      $0.scaleFactor = factor
    }
    let box = BoundingBox(west: 9, south: 39, east: 31, north: 51)
    let shape = TileMatrixSet.webMercatorQuad.crsBounds(ofGeographicBounds: box)
    try GDALPrograms.make(
      "gdal_translate", "-of", "PNG", "-projwin", "\(shape.west)", "\(shape.north)", "\(shape.east)",
      "\(shape.south)", folder.file("a.mbtiles"), folder.file("gdal.png"))
    let theirs = try folder.bytes("gdal.png").withUnsafeBytes { try ImageDecoder.decode($0) }
    let cell = TileMatrixSet.webMercatorQuad[5].cellSize / Double(factor)
    #expect(abs(Double(theirs.width) - shape.width / cell) <= 1)
    // The middle of the map, in a JPEG tile, and a corner outside it.
    let middle = theirs[theirs.width / 2, theirs.height / 2]
    #expect(middle.w == 255 && abs(Int(middle.x) - 64) < 12 && abs(Int(middle.z) - 90) < 12, "\(middle)")
    #expect(theirs[2, 2].w == 0)
    #expect(try formats(bundle).contains(.png))
  }

  @Test func verifyReportsAMixtureThatIsNotStated() throws {
    let (bundle, path) = (try cut("a.mbtiles"), folder.file("b/"))
    _ = try BundleConvert().write(bundle, to: path)
    var text = try String(contentsOfFile: path + "metadata.json", encoding: .utf8)
    text.replace("\"formats\":\"jpg,png\",", with: "")
    try text.write(toFile: path + "metadata.json", atomically: true, encoding: .utf8)
    let found = try findings(path)
    #expect(found.contains { $0.rule == "blob-format" }, "\(found)")
  }
}
