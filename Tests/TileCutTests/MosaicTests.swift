import Foundation
import TestSupport
import Testing
import TileImage
import TileIndex

@testable import TileCut

/// Many sources in one map.
@Suite(.ownThread) struct MosaicTests {
  static let kinds = SampleRaster.all.flatMap { raster in Resampling.allCases.map { (raster, $0) } }

  /// A part of a raster as a raster of its own.
  private static func part(_ whole: ArraySource, _ rect: PixelRect) -> ArraySource {
    var affine = whole.georeference.affine
    let corner = affine(SIMD2(Double(rect.x), Double(rect.y)))
    (affine.c, affine.f) = (corner.x, corner.y)
    return ArraySource(
      width: rect.width, height: rect.height, alphaKind: whole.alphaKind, crs: whole.georeference.crs, affine: affine
    ) { x, y in whole.pixels[(rect.y + y) * whole.width + rect.x + x] }
  }

  /// The parts between cuts at some columns and rows.
  private static func parts(_ whole: ArraySource, columns: [Int], rows: [Int]) -> [ArraySource] {
    let (xs, ys) = ([0] + columns + [whole.width], [0] + rows + [whole.height])
    return zip(ys, ys.dropFirst()).flatMap { top, bottom in
      zip(xs, xs.dropFirst()).map { left, right in
        part(whole, PixelRect(x: left, y: top, width: right - left, height: bottom - top))
      }
    }
  }

  private static func mosaic(_ sources: [any RasterSource], _ fixture: WarpFixture, _ resampling: Resampling) throws
    -> Mosaic
  {
    let target = try CoordinateReferenceSystem(definition: fixture.matrixSet.crs)
    let footprints = try sources.map {
      try SourceFootprint(source: $0, target: target, matrixSet: fixture.matrixSet, steps: 16)
    }
    return Mosaic(
      sources: sources, footprints: footprints, target: target, grid: fixture.grid, resampling: resampling, clips: nil)
  }

  /// A raster in pieces is the raster, with every kernel, on any kind of grid.
  @Test(arguments: kinds.every(7))
  func aSplitRasterEqualsTheWhole(_ kind: (SampleRaster, Resampling)) throws { try expectEqual(kind.0, kind.1) }

  @Test(.veryLong, arguments: kinds.allBut(every: 7))
  func everySplitRasterEqualsTheWhole(_ kind: (SampleRaster, Resampling)) throws { try expectEqual(kind.0, kind.1) }

  private func expectEqual(_ raster: SampleRaster, _ resampling: Resampling) throws {
    for (index, filling) in SampleRaster.Filling.allCases.enumerated() {
      let whole = try raster.source(filling, seed: 3)
      var random = SeededGenerator(seed: 4)
      let (w, h) = (whole.width, whole.height)
      let columns = Set((0..<2).map { _ in Int.random(in: 1..<w, using: &random) }).sorted()
      let rows = Set((0..<2).map { _ in Int.random(in: 1..<h, using: &random) }).sorted()
      let joined = JoinedRaster.joining(Self.parts(whole, columns: columns, rows: rows).shuffled(using: &random))
      #expect(joined.count == 1)
      let fixture = try WarpFixture(whole, above: index)
      let (one, many) = (try Self.mosaic([whole], fixture, resampling), try Self.mosaic(joined, fixture, resampling))
      for rect in fixture.rects(2, edge: 40, &random) {
        let (a, b) = (PixelBuffer(width: 40, height: 40), PixelBuffer(width: 40, height: 40))
        _ = try one.draw(rect, into: a)
        _ = try many.draw(rect, into: b)
        #expect(a.distance(to: b) <= 1, "\(filling) \(rect)")
      }
    }
  }

  /// Of many sources the warpers of some are kept, and the others are made again.
  @Test func manySheetsAreDrawnWithFewWarpers() throws {
    // On the target's own CRS, where warpers are made without PROJ.
    let whole = try SampleRaster("Mercator", "EPSG:3857", 96, 96, left: 1e6, top: 6e6, pixel: 211)
      .source(.opaque, seed: 3)
    let cuts = Array(stride(from: 5, to: 96, by: 5))
    let sheets = Self.parts(whole, columns: cuts, rows: cuts)
    let fixture = try WarpFixture(whole)
    let mosaic = try Self.mosaic(sheets, fixture, .bilinear)
    var random = SeededGenerator(seed: 5)
    var countMax = 0
    for rect in fixture.rects(30, edge: 40, &random) {
      let (a, b) = (PixelBuffer(width: 40, height: 40), PixelBuffer(width: 40, height: 40))
      _ = try mosaic.draw(rect, into: a)
      _ = try Self.mosaic(sheets, fixture, .bilinear).draw(rect, into: b)
      #expect(a.distance(to: b) == 0, "\(rect)")
      #expect(mosaic.warperCount <= Mosaic.warpersMax)
      countMax = max(countMax, mosaic.warperCount)
    }
    #expect(sheets.count > Mosaic.warpersMax && countMax > Mosaic.warpersMax / 2, "\(countMax) of \(sheets.count)")
  }

  static let meeting = [
    SampleRaster("UTM", "EPSG:32633", 96, 96, left: 400_000, top: 5_600_000, pixel: 500),
    SampleRaster("degrees", "EPSG:4326", 96, 96, left: 12, top: 61, pixel: 0.01),
    SampleRaster("Mercator", "EPSG:3857", 96, 96, left: 1e6, top: 6e6, pixel: 211),
    SampleRaster("rotated", "EPSG:32633", 96, 96, Affine(a: 400, b: 130, c: 400_000, d: 130, e: -400, f: 5_600_000)),
  ]

  /// Rasters that meet, of different resolutions and masks, leave no gap, whatever the grid.
  @Test(arguments: meeting, [Resampling.nearest, .cubic])
  func rastersThatMeetLeaveNoGap(_ raster: SampleRaster, _ resampling: Resampling) throws {
    try expectNoGap(raster, resampling)
  }

  @Test(.long, arguments: meeting, Resampling.allCases.filter { $0 != .nearest && $0 != .cubic })
  func rastersThatMeetLeaveNoGapWithOtherKernels(_ raster: SampleRaster, _ resampling: Resampling) throws {
    try expectNoGap(raster, resampling)
  }

  private func expectNoGap(_ raster: SampleRaster, _ resampling: Resampling) throws {
    let crs = try CoordinateReferenceSystem(definition: raster.crs)
    func source(_ rect: PixelRect, _ ratio: Double, mask: Bool) -> ArraySource {
      var affine = raster.affine
      let corner = affine(SIMD2(Double(rect.x), Double(rect.y)))
      (affine.a, affine.b, affine.d, affine.e) = (
        affine.a * ratio, affine.b * ratio, affine.d * ratio, affine.e * ratio
      )
      (affine.c, affine.f) = (corner.x, corner.y)
      // A mask has a collar without data, as a warped sheet has.
      let collar = mask ? 3 : 0
      let (width, height) = (Int(Double(rect.width) / ratio), Int(Double(rect.height) / ratio))
      let origin = affine(SIMD2(Double(-collar), Double(-collar)))
      (affine.c, affine.f) = (origin.x, origin.y)
      return ArraySource(
        width: width + 2 * collar, height: height + 2 * collar, alphaKind: mask ? .mask : .opaque, crs: crs,
        affine: affine
      ) { x, y in
        let isInside = x >= collar && y >= collar && x < width + collar && y < height + collar
        return isInside ? SIMD4(90, 150, 210, 255) : .zero
      }
    }
    let whole = try raster.source(.opaque, seed: 1)
    let fixture = try WarpFixture(whole)
    let sources: [any RasterSource] = [
      source(PixelRect(x: 0, y: 0, width: 40, height: 96), 1, mask: true),
      source(PixelRect(x: 40, y: 0, width: 56, height: 30), 0.5, mask: false),
      source(PixelRect(x: 40, y: 30, width: 56, height: 66), 2, mask: true),
    ]
    let mosaic = try Self.mosaic(sources, fixture, resampling)
    let one = try Self.mosaic([whole], fixture, resampling)
    var random = SeededGenerator(seed: 8)
    var gaps: [String] = []
    for rect in fixture.rects(5, edge: 64, &random) {
      let (a, b) = (PixelBuffer(width: 64, height: 64), PixelBuffer(width: 64, height: 64))
      _ = try one.draw(rect, into: a)
      _ = try mosaic.draw(rect, into: b)
      for y in 0..<64 {
        for x in 0..<64 where a[x, y].w == 255 {
          if b[x, y] != SIMD4(90, 150, 210, 255) { gaps.append("\(rect) \(x) \(y): \(b[x, y])") }
        }
      }
    }
    #expect(gaps.isEmpty, "\(gaps.count): \(gaps.prefix(4))")
  }

  /// Later sources lie on top, also when an earlier one shares their grid.
  @Test func laterSourcesLieOnTop() throws {
    let crs = CoordinateReferenceSystem.wgs84LongLat
    func plain(_ grey: UInt8, left: Double, pixel: Double, _ edge: Int) -> ArraySource {
      ArraySource(
        width: edge, height: edge, crs: crs, affine: Affine(a: pixel, b: 0, c: left, d: 0, e: -pixel, f: 50)
      ) { _, _ in SIMD4(grey, grey, grey, 255) }
    }
    let sources = [
      plain(10, left: 10, pixel: 0.1, 50), plain(20, left: 12, pixel: 0.07, 50), plain(30, left: 13, pixel: 0.1, 10),
      plain(40, left: 10, pixel: 0.1, 5), plain(50, left: 30, pixel: 0.1, 5),
    ]
    let joined = JoinedRaster.joining(sources)
    // The third lies over the second, so it is not joined to the first; those after it are joined to it.
    #expect(joined.map(\.width) == [50, 50, 205])
    let fixture = try WarpFixture(sources[0])
    let mosaic = try Self.mosaic(joined, fixture, .nearest)
    func grey(_ longitude: Double, _ latitude: Double) throws -> UInt8 {
      let place = fixture.matrixSet.pixelCoordinates(longitude: longitude, latitude: latitude, zoom: fixture.zoom)
      let buffer = PixelBuffer(width: 8, height: 8)
      let rect = PixelRect(x: Int(place.x) - 4, y: Int(place.y) - 4, width: 8, height: 8)
      return try mosaic.draw(rect, into: buffer) ? buffer[4, 4].x : 0
    }
    #expect(try grey(10.2, 49.8) == 40 && grey(11, 48) == 10 && grey(12.5, 49) == 20)
    #expect(try grey(13.5, 49.5) == 30 && grey(30.2, 49.8) == 50 && grey(20, 49) == 0)
  }

  static let splits = [
    ("rmnp-rgb.tif", [301], [211]), ("rmnp-rgb.tif", [100, 333], [77, 300]), ("RGB.byte.tif", [256, 512], [256, 512]),
    ("RGB.byte.tif", [391], [123]), ("cog_rgba.tif", [200], [150]), ("world.rgb.tif", [133, 300], [75, 201]),
  ]

  struct Case: Sendable, CustomTestStringConvertible {
    let raster: String
    let columns: [Int]
    let rows: [Int]
    let resampling: Resampling
    var testDescription: String { "\(raster) at \(columns), \(rows), \(resampling.rawValue)" }
  }

  static let cases = splits.flatMap { split in
    Resampling.allCases.map { Case(raster: split.0, columns: split.1, rows: split.2, resampling: $0) }
  }

  /// GDAL's pieces of real rasters, on block edges and off them.
  @Test(
    .enabled(if: TestData.isPresent, Comment(rawValue: TestData.skipMessage)),
    .enabled(if: Command(installed: "gdal_translate") != nil, "gdal_translate is not installed"),
    arguments: cases.every(5))
  func gdalsPiecesEqualTheWhole(_ test: Case) throws { try expectEqual(test) }

  @Test(
    .veryLong, .enabled(if: TestData.isPresent, Comment(rawValue: TestData.skipMessage)),
    .enabled(if: Command(installed: "gdal_translate") != nil, "gdal_translate is not installed"),
    arguments: cases.allBut(every: 5))
  func allOfGDALsPiecesEqualTheWhole(_ test: Case) throws { try expectEqual(test) }

  private func expectEqual(_ test: Case) throws {
    let folder = try TemporaryFolder()
    let path = TestData.url("maps/rasters/\(test.raster)").path
    let whole = try RasterFile.open(path: path, options: RasterOpenOptions())
    let (xs, ys) = ([0] + test.columns + [whole.width], [0] + test.rows + [whole.height])
    var pieces: [String] = []
    for (top, bottom) in zip(ys, ys.dropFirst()) {
      for (left, right) in zip(xs, xs.dropFirst()) {
        let piece = folder.file("\(left)-\(top).tif")
        let result = try run(
          "gdal_translate",
          ["-q", "-srcwin", "\(left)", "\(top)", "\(right - left)", "\(bottom - top)", path, piece])
        #expect(result?.status == 0, "\(result?.output ?? "")")
        pieces.append(piece)
      }
    }
    func tiles(_ sources: [String]) throws -> [TileID: PixelBuffer] {
      var options = CutOptions(sources: sources)
      options.resampling = test.resampling
      options.name = "map"
      let output = folder.file("\(sources.count).mbtiles")
      _ = try Cutter(options).cut(to: output, replacing: true)
      var tiles: [TileID: PixelBuffer] = [:]
      try MBTilesReader(path: output).forEachTile { tile, bytes in
        tiles[tile] = try ImageDecoder.decode(bytes)
      }
      return tiles
    }
    let (one, many) = (try tiles([path]), try tiles(pieces))
    #expect(Set(one.keys) == Set(many.keys))
    var (count, different) = (0, 0)
    for (tile, a) in one {
      guard let b = many[tile] else { continue }
      for i in 0..<(a.width * a.height) {
        let p = SIMD4<Int>(truncatingIfNeeded: a.bytes.load(fromByteOffset: i * 4, as: SIMD4<UInt8>.self))
        let q = SIMD4<Int>(truncatingIfNeeded: b.bytes.load(fromByteOffset: i * 4, as: SIMD4<UInt8>.self))
        let away = p &- q
        count += 1
        if (0..<4).contains(where: { abs(away[$0]) > 1 }) { different += 1 }
      }
    }
    #expect(Double(different) <= 0.001 * Double(count), "\(different) of \(count)")
  }
}
