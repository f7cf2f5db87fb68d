import Foundation
import RegionCatalog
import TestSupport
import Testing
import TileImage
import TileIndex

@testable import TileCut

/// Overviews stand for the image where only coarse zooms are made.
@Suite("Overviews", .ownThread)
struct OverviewTests {
  let folder: TemporaryFolder
  init() throws { folder = try TemporaryFolder() }

  private static let size = 1024

  /// A raster of EPSG:3857 whose pixels are those of zoom 8, with smooth colours and a corner without data.
  private func source(_ name: String = "map.tif") throws -> String {
    var fixture = TIFFFixture()
    (fixture.width, fixture.height, fixture.samples, fixture.photometric) = (Self.size, Self.size, 3, 2)
    fixture.tile = (256, 256)
    let cell = TileMatrixSet.webMercatorQuad[8].cellSize
    fixture.tags = [
      33550: .double([cell, cell, 0]), 33922: .double([0, 0, 0, 0, cell * 1024, 0]),
      34735: .short([1, 1, 0, 3, 1024, 0, 1, 1, 1025, 0, 1, 1, 3072, 0, 1, 3857]), 42113: .text("0"),
    ]
    fixture.sample = { x, y, band in
      if x + y < 300 { return 0 }
      let wave = band == 0 ? x + y : band == 1 ? x / 2 : y / 3
      // Up and down without jumps.
      return Double(30 + abs(wave / 4 % 400 - 200))
    }
    return try fixture.write(folder, name)
  }

  private func cut(_ paths: String..., zoom: ClosedRange<Int>, _ change: (inout CutOptions) -> Void = { _ in }) throws
    -> any BundleReader
  {
    try cut(paths, zoom: zoom, change)
  }

  private func cut(_ paths: [String], zoom: ClosedRange<Int>, _ change: (inout CutOptions) -> Void = { _ in }) throws
    -> any BundleReader
  {
    var options = CutOptions(sources: paths)
    options.zoom = .levels(zoom)
    change(&options)
    let output = folder.file("\(UUID().uuidString).mbtiles")
    _ = try Cutter(options).cut(to: output)
    return try BundleFile.open(output)
  }

  /// The pixels of the tiles of a zoom that there are; all sources here have the same.
  private func pixels(_ bundle: any BundleReader, zoom: Int) throws -> [UInt32] {
    var words: [UInt32] = []
    for tile in try #require(try bundle.range(zoom: zoom)) {
      let bytes = try #require(try bundle.tile(tile), "\(tile)")
      let tile = try bytes.withUnsafeBytes { try ImageDecoder.decode($0) }
      words += UnsafeBufferPointer(start: tile.bytes.assumingMemoryBound(to: UInt32.self), count: 65536)
    }
    return words
  }

  /// Overwrites the blocks of the full image, which lie first in the file, so that they cannot be decoded.
  private func destroyImage(_ path: String) throws {
    var data = try Data(contentsOf: URL(fileURLWithPath: path))
    let source = try SourceFile(path: path)
    let handle = try TIFFHandle(source)
    let layout = try TIFFLayout(handle, file: source)
    let file = TIFFFile(source, directory: 0, warnings: WarningList())
    try file.withHandle { handle in
      for number in 0..<layout.columns * layout.rows {
        let range = try #require(handle.range(of: UInt32(number)))
        data.replaceSubrange(range, with: [UInt8](repeating: 0xff, count: range.count))
      }
    }
    try data.write(to: URL(fileURLWithPath: path))
  }

  @Test(
    "Coarse zooms are drawn from overviews alone, inside the file or beside it, and look the same",
    .enabled(if: GDALPrograms.arePresent, Comment(rawValue: GDALPrograms.skipMessage)), arguments: [true, false])
  func coarseZooms(isInside: Bool) throws {
    let plain = try source("plain.tif")
    let path = folder.file("map.tif")
    try GDALPrograms.make("gdal_translate", plain, path, "-co", "TILED=YES", "-co", "COMPRESS=DEFLATE")
    let before = try pixels(cut(path, zoom: 0...4), zoom: 4)
    let inside = isInside ? [] : ["-ro"]
    let made = try #require(try run("gdaladdo", ["-q", "-r", "average"] + inside + [path, "2", "4", "8"]))
    try #require(made.status == 0, "\(made.output)")
    try destroyImage(path)
    // The finest zoom needs the image itself.
    #expect(throws: CutError.self) { try cut(path, zoom: 0...8) }
    try expectAlike(before, pixels(cut(path, zoom: 0...4), zoom: 4))
  }

  private func expectAlike(_ before: [UInt32], _ after: [UInt32]) {
    #expect(before.count == after.count)
    var (far, visible, holes) = (0, 0, 0)
    for (a, b) in zip(before, after) {
      if (a == 0) != (b == 0) { holes += 1 }
      guard a != 0, b != 0 else { continue }
      visible += 1
      let steps = [UInt32(0), 8, 16].map { (shift: UInt32) -> Int in
        abs(Int(a >> shift & 255) - Int(b >> shift & 255))
      }
      if steps.max()! > 3 { far += 1 }
    }
    // The steps of the colours' waves and the edge of the data differ by a rounded pixel.
    #expect(visible > 2000 && far * 50 < visible && holes * 100 < visible, "\(far) \(holes) of \(visible)")
  }

  /// The quarters of ``source(_:)`` with overviews, which lie at multiples of 512 pixels.
  private func quarters() throws -> [String] {
    let plain = try source("plain.tif")
    return try [(0, 0), (512, 0), (0, 512), (512, 512)].map { x, y in
      let path = folder.file("part-\(x)-\(y).tif")
      try GDALPrograms.make(
        "gdal_translate", plain, path, "-srcwin", "\(x)", "\(y)", "512", "512", "-co", "TILED=YES", "-co",
        "COMPRESS=DEFLATE")
      try addOverviews(path)
      return path
    }
  }

  private func addOverviews(_ path: String) throws {
    let made = try #require(try run("gdaladdo", ["-q", "-r", "average", path, "2", "4", "8"]))
    try #require(made.status == 0, "\(made.output)")
  }

  @Test(
    "A mosaic of several files and one in a VRT are drawn from the overviews of their parts",
    .enabled(if: GDALPrograms.arePresent, Comment(rawValue: GDALPrograms.skipMessage)), arguments: [true, false])
  func mosaic(isVRT: Bool) throws {
    let before = try pixels(cut(source("whole.tif"), zoom: 0...4), zoom: 4)
    let parts = try quarters()
    var paths = parts
    if isVRT {
      paths = [folder.file("mosaic.vrt")]
      let made = try #require(try run("gdalbuildvrt", ["-q"] + paths + parts))
      try #require(made.status == 0, "\(made.output)")
    }
    for part in parts { try destroyImage(part) }
    #expect(throws: CutError.self) { try cut(paths, zoom: 0...8) }
    try expectAlike(before, pixels(cut(paths, zoom: 0...4), zoom: 4))
  }

  @Test(
    "A cropped raster is drawn from an overview if the crop leaves whole pixels of it",
    .enabled(if: GDALPrograms.arePresent, Comment(rawValue: GDALPrograms.skipMessage)), arguments: [64, 13])
  func crop(margin: Int) throws {
    let plain = try source("plain.tif")
    let path = folder.file("map.tif")
    try GDALPrograms.make("gdal_translate", plain, path, "-co", "TILED=YES")
    let crop = try #require(SourceSettings.Crop([margin, margin, 0, 0].map(Double.init)))
    var settings = [0: SourceSettings()]
    settings[0]?.crop = crop
    let before = try pixels(cut(path, zoom: 0...4) { [settings] in $0.sourceSettings = settings }, zoom: 4)
    try addOverviews(path)
    let isWhole = margin.isMultiple(of: 8)
    if isWhole { try destroyImage(path) }
    let after = try pixels(cut(path, zoom: 0...4) { [settings] in $0.sourceSettings = settings }, zoom: 4)
    if isWhole { expectAlike(before, after) } else { #expect(before == after) }
  }

  @Test(
    "A raster with a cutline is drawn from an overview, and nothing of its collar shows",
    .enabled(if: GDALPrograms.arePresent, Comment(rawValue: GDALPrograms.skipMessage)))
  func cutline() throws {
    let cell = TileMatrixSet.webMercatorQuad[8].cellSize
    // Not at whole pixels of an overview.
    let (low, high) = (13.5, 1003.5)
    func degrees(_ x: Double, _ y: Double) -> String {
      let north = atan(sinh((1024 - y) * cell / 6_378_137)) * 180 / .pi
      return "[\(x * cell / 6_378_137 * 180 / .pi), \(north)]"
    }
    let ring = [degrees(low, low), degrees(high, low), degrees(high, high), degrees(low, high), degrees(low, low)]
    let outline = try RegionBoundary(
      clipFile: folder.write(
        "outline.geojson", #"{"type": "Polygon", "coordinates": [[\#(ring.joined(separator: ", "))]]}"#))
    var settings = SourceSettings()
    settings.cutline = outline
    var fixture = TIFFFixture()
    (fixture.width, fixture.height, fixture.tile) = (Self.size, Self.size, (256, 256))
    fixture.tags = [
      33550: .double([cell, cell, 0]), 33922: .double([0, 0, 0, 0, cell * 1024, 0]),
      34735: .short([1, 1, 0, 3, 1024, 0, 1, 1, 1025, 0, 1, 1, 3072, 0, 1, 3857]),
    ]
    fixture.sample = { x, y, _ in (14..<1003 ~= x && 14..<1003 ~= y) ? Double(40 + (x + y) / 32) : 255 }
    let path = folder.file("map.tif")
    try GDALPrograms.make("gdal_translate", fixture.write(folder, "plain.tif"), path, "-co", "TILED=YES")
    let before = try pixels(cut(path, zoom: 0...4) { [settings] in $0.sourceSettings[0] = settings }, zoom: 4)
    try addOverviews(path)
    try destroyImage(path)
    let after = try pixels(cut(path, zoom: 0...4) { [settings] in $0.sourceSettings[0] = settings }, zoom: 4)
    #expect(after.allSatisfy { $0 & 255 <= 104 }, "\(after.map { $0 & 255 }.max()!)")
    // The pixels whose centres lie inside. Without overviews a finer zoom is drawn first, which leaves soft edges.
    #expect(after.count { $0 != 0 } == 62 * 62)
    let far = zip(before, after).count { $0 != 0 && $1 != 0 && abs(Int($0 & 255) - Int($1 & 255)) > 3 }
    #expect(far * 50 < 62 * 62, "\(far)")
  }

  @Test("Picked pixels are the source's own", .enabled(if: GDALPrograms.arePresent))
  func nearest() throws {
    let path = folder.file("map.tif")
    try GDALPrograms.make("gdal_translate", source("plain.tif"), path, "-co", "TILED=YES")
    let before = try pixels(cut(path, zoom: 0...3) { $0.resampling = .nearest }, zoom: 3)
    _ = try run("gdaladdo", ["-q", "-r", "average", path, "2", "4", "8"])
    #expect(try pixels(cut(path, zoom: 0...3) { $0.resampling = .nearest }, zoom: 3) == before)
  }

  @Test("An overview of another shape or a damaged one is not used", .enabled(if: GDALPrograms.arePresent))
  func foreignOverview() throws {
    let path = folder.file("map.tif")
    try GDALPrograms.make("gdal_translate", source("plain.tif"), path, "-co", "TILED=YES")
    let before = try pixels(cut(path, zoom: 0...3), zoom: 3)
    try Data("no TIFF".utf8).write(to: URL(fileURLWithPath: path + ".ovr"))
    #expect(try pixels(cut(path, zoom: 0...3), zoom: 3) == before)
    var other = TIFFFixture()
    (other.width, other.height, other.samples, other.photometric) = (512, 100, 3, 2)
    other.tags[254] = .long([1])
    _ = try other.write(folder, "map.tif.ovr")
    #expect(try pixels(cut(path, zoom: 0...3), zoom: 3) == before)
  }

  @Test("The mask beside a TIFF has overviews in a file of its own", arguments: [true, false])
  func masksBeside(hasOverviews: Bool) throws {
    func raster(_ name: String, edge: Int, isMask: Bool) throws {
      var fixture = TIFFFixture()
      (fixture.width, fixture.height) = (edge, edge)
      if edge < 64 { fixture.tags[254] = .long([1]) }
      fixture.sample = { x, y, _ in isMask ? (x * 4 < edge ? 0 : 255) : Double(50 + 100 * x / edge) }
      try FileManager.default.moveItem(atPath: fixture.write(folder, "written.tif"), toPath: folder.file(name))
    }
    for (suffix, isMask) in [("", false), (".msk", true)] {
      try raster("map.tif\(suffix)", edge: 64, isMask: isMask)
      if hasOverviews || !isMask { try raster("map.tif\(suffix).ovr", edge: 32, isMask: isMask) }
    }
    var options = RasterOpenOptions()
    options.isFlat = true
    let overview = try RasterFile.open(path: folder.file("map.tif"), options: options).overview(factorMax: 2)
    guard hasOverviews else {
      // Without the mask, its pixels would show what is hidden.
      #expect(overview == nil)
      return
    }
    let words = try #require(overview).words()
    #expect(overview?.alphaKind == .mask && words.count == 32 * 32)
    #expect(words.indices.allSatisfy { (words[$0] == 0) == ($0 % 32 < 8) })
  }

  @Test(
    "Masks have overviews, too",
    .enabled(if: TestData.isPresent, Comment(rawValue: TestData.skipMessage)))
  func masks() throws {
    let source = try RasterFile.open(
      path: TestData.url("maps/rasters/cogeo.tif").path, options: RasterOpenOptions())
    let overview = try #require(try source.overview(factorMax: 4))
    #expect(overview.width == source.width / 4)
    #expect(overview.alphaKind == .mask)
    let (fine, coarse) = (try source.words(), try overview.words())
    var differing = 0
    for y in 0..<overview.height {
      for x in 0..<overview.width {
        let block = (0..<16).map { fine[(y * 4 + $0 / 4) * source.width + x * 4 + $0 % 4] == 0 }
        let isHole = coarse[y * overview.width + x] == 0
        if Set(block).count == 1, block[0] != isHole { differing += 1 }
      }
    }
    #expect(differing * 200 < coarse.count, "\(differing)")
  }
}
