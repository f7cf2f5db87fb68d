import Foundation
import TestSupport
import Testing
import TileImage
import TileIndex

@testable import TileCut

/// Compares cuts of rasters that lie in unusual ways with what gdalwarp makes of the same files.
@Suite(.ownThread, .enabled(if: Gdalwarp.isInstalled, "gdalwarp is not installed (Debian: gdal-bin)"))
struct GeometryReferenceTests {
  struct Case: Sendable, CustomTestStringConvertible {
    let testDescription: String
    let fixture: TIFFFixture
    /// Nil for the raster's own zoom.
    var zoom: Int?
  }

  // MARK: Datums given by code alone

  /// The datum's code, its ellipsoid's code, and the raster's top left corner in degrees. GeographicTypeGeoKey says
  /// "user-defined".
  static let datums: [Case] = [
    ("OSGB 1936", 6277, 7001, SIMD2(-3.2, 55.95)), ("Tokyo", 6301, 7004, SIMD2(139.7, 35.7)),
    ("GGRS87", 6121, 7019, SIMD2(23.7, 38.0)), ("NZGD49", 6272, 7022, SIMD2(174.7, -41.2)),
    ("DHDN", 6314, 7004, SIMD2(13.3, 52.5)), ("NAD27", 6267, 7008, SIMD2(-105.3, 39.8)),
  ].map { name, datum, ellipsoid, corner in
    placed(
      "the datum \(name) by its code", keys: [1024: 2, 2048: 32767, 2050: datum, 2056: ellipsoid],
      matrix: [0.0001, 0, corner.x, 0, -0.0001, corner.y])
  }

  /// The British National Grid spelt out, with nothing of its datum but the code.
  static let nationalGrid = placed(
    "the British National Grid, with the datum by its code",
    keys: [1024: 1, 2048: 32767, 2050: 6277, 2056: 7001, 3072: 32767, 3074: 32767, 3075: 1, 3076: 9001],
    doubles: [3080: -2, 3081: 49, 3082: 400_000, 3083: -100_000, 3092: 0.999_601_271_7],
    matrix: [10, 0, 325_000, 0, -10, 674_000])

  /// A shift that the file states itself, of an ellipsoid without a datum.
  static let statedShift = placed(
    "Bessel's ellipsoid with a shift in the file", keys: [1024: 2, 2048: 32767, 2050: 32767, 2056: 7004],
    doubles: [2062: [598.1, 73.7, 418.2, 0.202, 0.045, -2.455, 6.7]], matrix: [0.0001, 0, 13.3, 0, -0.0001, 52.5])

  @Test(arguments: datums + [nationalGrid, statedShift])
  func datumsEqualGDAL(_ test: Case) throws { try expectEqual(test, [.nearest]) }

  // MARK: Antimeridian, poles, affine transformations

  static let positions: [Case] = [
    placed("degrees across the antimeridian", crs: 4326, matrix: [0.1, 0, 165, 0, -0.1, 10]),
    placed("degrees beyond 180", crs: 4326, matrix: [0.1, 0, 181, 0, -0.1, -10]),
    placed("UTM zone 60 across the antimeridian", crs: 32660, matrix: [4000, 0, 300_000, 0, -4000, 6_000_000]),
    placed("Mercator of the Pacific", crs: 3832, matrix: [12_000, 0, 1_500_000, 0, -12_000, 2_000_000]),
    placed("New Zealand beyond 180 degrees", crs: 2193, matrix: [5000, 0, 1_600_000, 0, -5000, 6_000_000]),
    placed("the world", crs: 4326, width: 360, height: 180, matrix: [1, 0, -180, 0, -1, 90]),
    placed("the world from Greenwich", crs: 4326, width: 360, height: 180, matrix: [1, 0, 0, 0, -1, 90]),
    placed("the north beyond 85 degrees", crs: 4326, width: 200, height: 120, matrix: [0.25, 0, 10, 0, -0.25, 90]),
    placed("Antarctica", crs: 3031, matrix: [30_000, 0, -4_500_000, 0, -30_000, 3_000_000], zoom: 2),
    placed("the Arctic without the pole", crs: 3413, matrix: [8000, 0, -1_900_000, 0, -8000, -300_000]),
    placed("the North Pole", crs: 3995, matrix: [20_000, 0, -3_000_000, 0, -20_000, 2_000_000], zoom: 2),
    placed("rotated by 30 degrees", crs: 32633, matrix: [86.6, 50, 400_000, 50, -86.6, 5_600_000]),
    placed("sheared", crs: 32633, matrix: [100, 40, 400_000, 0, -100, 5_600_000]),
    placed("turned by 90 degrees", crs: 3857, matrix: [0, 100, 1_000_000, 100, 0, 6_000_000]),
    placed("south up", crs: 32633, matrix: [100, 0, 400_000, 0, 100, 5_600_000]),
    placed("mirrored", crs: 32633, matrix: [-100, 0, 430_000, 0, -100, 5_600_000]),
    placed(
      "pixels as points", keys: [1024: 1, 1025: 2, 3072: 32633], matrix: [100, 0, 400_000, 0, -100, 5_600_000]),
    placed("one pixel by two around the world", crs: 4326, width: 1, height: 2, matrix: [360, 0, -180, 0, -90, 90]),
    placed("two pixels around the world", crs: 4326, width: 2, height: 1, matrix: [180, 0, -180, 0, -180, 90]),
    placed("six pixels across the antimeridian", crs: 4326, width: 3, height: 2, matrix: [8, 0, 170, 0, -8, 60]),
  ]

  @Test(arguments: positions.every(3))
  func positionsEqualGDAL(_ test: Case) throws { try expectEqual(test, [.nearest]) }

  @Test(.long, arguments: positions.allBut(every: 3))
  func otherPositionsEqualGDAL(_ test: Case) throws { try expectEqual(test, [.nearest]) }

  /// Every fourth of them, unless all are wanted.
  static let interpolated = positions.filter { $0.fixture.width > 100 }.every(TestEffort.isFull ? 1 : 4)

  @Test(.long, arguments: interpolated)
  func interpolatedPixelsEqualGDAL(_ test: Case) throws { try expectEqual(test, [.bilinear]) }

  // MARK: Ground control points

  /// Pixels and places on a curved surface, with an error of a third of a pixel that a polynomial cannot follow.
  private static func points(_ pixels: [SIMD2<Double>], bend: Double, noise: Double) -> [Double] {
    pixels.enumerated().flatMap { i, p in
      let wobble = noise * Double((i * 7919) % 11 - 5) / 5
      return [
        p.x, p.y, 0, 400_000 + 80 * p.x + 9 * p.y + bend * p.x * p.y + 100 * wobble,
        5_600_000 + 6 * p.x - 90 * p.y + bend * p.x * p.x / 2 - 100 * wobble, 0,
      ]
    }
  }

  private static let lattice = (0..<12).map { SIMD2(Double($0 % 4) * 80, Double($0 / 4) * 80) }

  static let controlPoints: [Case] = [
    controlled("four exact control points", points([0, 1, 4, 6].map { lattice[$0] }, bend: 0, noise: 0)),
    controlled(
      "four control points that an affine misses", points([0, 3, 8, 11].map { lattice[$0] }, bend: 0.01, noise: 0)),
    controlled("twelve control points on a curve", points(lattice, bend: 0.02, noise: 0)),
    controlled("twelve inexact control points", points(lattice, bend: 0.02, noise: 0.3)),
    controlled("control points of pixel centres", points(lattice, bend: 0.02, noise: 0), rasterType: 2),
  ]

  @Test(arguments: controlPoints)
  func controlPointsEqualGDAL(_ test: Case) throws { try expectEqual(test, [.nearest, .bilinear]) }

  // MARK: Mosaics

  /// A raster, divided into quarters that overlap by some pixels and lie in four CRSs.
  @Test func mosaicOfFourReferenceSystemsEqualsGDAL() throws {
    let folder = try TemporaryFolder()
    let whole = Self.placed(
      "whole", crs: 32633, width: 300, height: 220, matrix: [100, 0, 400_000, 0, -100, 5_600_000])
    let raster = try whole.fixture.write(folder, "whole.tif")
    var quarters: [String] = []
    for (i, crs) in ["EPSG:4326", "EPSG:3035", "EPSG:31468", "EPSG:32632"].enumerated() {
      let (part, quarter) = (folder.file("part\(i).tif"), folder.file("quarter\(i).tif"))
      let window = [i % 2 * 144, i / 2 * 104, 156, 116].map { "\($0)" }
      try Gdalwarp.succeed("gdal_translate", ["-q", "-srcwin"] + window + [raster, part])
      try Gdalwarp.succeed("gdalwarp", ["-q", "-et", "0", "-r", "cubic", "-dstalpha", "-t_srs", crs, part, quarter])
      quarters.append(quarter)
    }
    var options = CutOptions(sources: quarters)
    options.zoom = .levels(10...10)
    let difference = try Gdalwarp.difference(options, rasters: quarters, folder: folder, arguments: ["-srcalpha"])
    #expect(difference.psnr >= 40 && difference.edgeShare < 0.01, "\(difference)")
    // Resampled twice and across the seams, the mosaic still is the whole.
    let seam = try Gdalwarp.difference(options, rasters: [raster], folder: folder)
    #expect(seam.psnr >= 30 && seam.edgeShare < 0.01, "\(seam)")
  }

  // MARK: Fixtures

  private static func controlled(_ name: String, _ points: [Double], rasterType: Int = 1) -> Case {
    var fixture = placed(name, keys: [1024: 1, 1025: rasterType, 3072: 32633], width: 250, height: 170, matrix: nil)
      .fixture
    fixture.tags[33922] = .double(points)
    return Case(testDescription: name, fixture: fixture)
  }

  private static func placed(
    _ name: String, crs: Int, width: Int = 160, height: Int = 110, matrix: [Double], zoom: Int? = nil
  ) -> Case {
    let isGeographic = crs == 4326
    var test = placed(
      name, keys: [1024: isGeographic ? 2 : 1, isGeographic ? 2048 : 3072: crs], width: width, height: height,
      matrix: matrix)
    test.zoom = zoom
    return test
  }

  /// - Parameter matrix: six numbers of the affine transformation, row by row.
  private static func placed(
    _ name: String, keys: [Int: Int], doubles: [Int: Double] = [:], width: Int = 160, height: Int = 110,
    matrix: [Double]?
  ) -> Case {
    placed(
      name, keys: keys, doubles: doubles.mapValues { [$0] } as [Int: [Double]], width: width, height: height,
      matrix: matrix)
  }

  private static func placed(
    _ name: String, keys: [Int: Int], doubles: [Int: [Double]], width: Int = 160, height: Int = 110, matrix: [Double]?
  ) -> Case {
    var fixture = TIFFFixture(width: width, height: height, samples: 3, photometric: 2)
    // Waves of 11 to 17 pixels: steep enough to show an error of a tenth of a pixel.
    fixture.sample = { x, y, band in
      let waves = [sin(Double(x) / 2.1), cos(Double(y) / 1.8), sin(Double(x + y) / 2.6)]
      return (128 + 100 * waves[band]).rounded()
    }
    if let m = matrix {
      fixture.tags[34264] = .double([m[0], m[1], 0, m[2], m[3], m[4], 0, m[5], 0, 0, 0, 0, 0, 0, 0, 1])
    }
    var entries = keys.mapValues { [0, 1, $0] }
    var values: [Double] = []
    for (key, list) in doubles {
      entries[key] = [34736, list.count, values.count]
      values += list
    }
    if entries[1025] == nil { entries[1025] = [0, 1, 1] }
    let directory = entries.sorted { $0.key < $1.key }.flatMap { [$0.key] + $0.value }
    fixture.tags[34735] = .short([1, 1, 0, entries.count] + directory)
    if !values.isEmpty { fixture.tags[34736] = .double(values) }
    return Case(testDescription: name, fixture: fixture)
  }

  // MARK: Comparison

  private func expectEqual(_ test: Case, _ kernels: [Resampling]) throws {
    let folder = try TemporaryFolder()
    let raster = try test.fixture.write(folder)
    for kernel in kernels {
      var options = CutOptions(sources: [raster])
      options.resampling = kernel
      options.zoom = test.zoom.map { .levels($0...$0) } ?? .native
      let difference = try Gdalwarp.difference(options, rasters: [raster], folder: folder)
      #expect(difference.edgeShare <= 0.005, "\(kernel): \(difference)")
      if kernel == .nearest {
        #expect(difference.equalShare >= 0.995, "\(difference)")
      } else {
        #expect(difference.psnr >= 40, "\(kernel): \(difference)")
      }
    }
  }
}

/// Compares the deepest zoom of a cut with gdalwarp's result over the same pixels.
enum Gdalwarp {
  static let isInstalled = (try? run("gdalwarp", ["--version"])) != nil

  /// - Parameter rasters: what gdalwarp draws, one over the other.
  static func difference(
    _ options: CutOptions, rasters: [String], folder: TemporaryFolder, arguments: [String] = []
  ) throws -> PixelDifference {
    let bundle = folder.file("cut.mbtiles")
    let zoom = try Cutter(options).plan.zooms.upperBound
    var options = options
    // Overviews are not compared.
    options.zoom = .levels(zoom...zoom)
    _ = try Cutter(options).cut(to: bundle, replacing: true)
    var tiles: [TileID: PixelBuffer] = [:]
    try MBTilesReader(path: bundle).forEachTile { tile, bytes in
      if tile.zoom == zoom { tiles[tile] = try bytes.withUnsafeBytes { try ImageDecoder.decode($0) } }
    }
    // A margin of a tile would show what the cut lacks; at the world's edge there is none.
    let count = 1 << zoom
    let columns = max(tiles.keys.map(\.column).min()! - 1, 0)...min(tiles.keys.map(\.column).max()! + 1, count - 1)
    let rows = max(tiles.keys.map(\.row).min()! - 1, 0)...min(tiles.keys.map(\.row).max()! + 1, count - 1)
    let matrix = TileMatrixSet.webMercatorQuad[zoom]
    func edge(_ tile: Int) -> Double { matrix.origin.x + Double(tile) * matrix.tileSpanX }
    let (width, height) = (columns.count * 256, rows.count * 256)
    let raw = folder.file("reference.bil")
    let kernel = options.resampling == .nearest ? "near" : options.resampling.rawValue
    try succeed(
      "gdalwarp",
      [
        "-q", "-overwrite", "-et", "0", "-t_srs", "EPSG:3857", "-dstalpha", "-wo", "SOURCE_EXTRA=16", "-wo",
        "UNIFIED_SRC_NODATA=YES", "-r", kernel, "-te", "\(edge(columns.lowerBound))",
        "\(-edge(rows.upperBound + 1))", "\(edge(columns.upperBound + 1))", "\(-edge(rows.lowerBound))", "-ts",
        "\(width)", "\(height)", "-of", "ENVI", "-co", "INTERLEAVE=BIP",
      ] + arguments + rasters + [raw])
    let reference = try Data(contentsOf: URL(fileURLWithPath: raw))
    var difference = PixelDifference()
    for (i, row) in rows.enumerated() {
      for (j, column) in columns.enumerated() {
        let tile = tiles[try TileID(zoom: zoom, column: column, row: row)]
        for y in 0..<256 {
          for x in 0..<256 {
            let offset = ((i * 256 + y) * width + j * 256 + x) * 4
            difference.add(
              tile?[x, y] ?? .zero,
              SIMD4(reference[offset], reference[offset + 1], reference[offset + 2], reference[offset + 3]))
          }
        }
      }
    }
    return difference
  }

  static func succeed(_ program: String, _ arguments: [String]) throws {
    let result = try run(program, arguments)
    guard result?.status == 0 else { throw Failure(output: "\(program): \(result?.output ?? "is not installed")") }
  }

  struct Failure: Error {
    let output: String
  }
}

/// The difference of two pictures, counted over their visible pixels.
struct PixelDifference: CustomStringConvertible {
  private var (both, single, equal, squares) = (0, 0, 0, 0.0)

  mutating func add(_ p: SIMD4<UInt8>, _ q: SIMD4<UInt8>) {
    guard p.w > 0, q.w > 0 else {
      if p.w > 0 || q.w > 0 { single += 1 }
      return
    }
    both += 1
    if p.x == q.x, p.y == q.y, p.z == q.z { equal += 1 }
    for c in 0..<3 {
      let d = Double(p[c]) - Double(q[c])
      squares += d * d
    }
  }

  /// The share of the visible pixels that only one picture has.
  var edgeShare: Double { Double(single) / Double(max(both + single, 1)) }
  /// The share of equal colours among the pixels that both have.
  var equalShare: Double { both > 0 ? Double(equal) / Double(both) : 0 }
  /// In dB.
  var psnr: Double { squares > 0 ? 10 * log10(255 * 255 * 3 * Double(both) / squares) : .infinity }

  var description: String {
    "\(both) pixels in both, \(single) in one, equal \(equalShare * 100) %, PSNR \(psnr) dB"
  }
}
