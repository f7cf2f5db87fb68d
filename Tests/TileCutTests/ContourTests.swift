import Foundation
import Support
import TestSupport
import Testing
import TileIndex

@testable import RegionCatalog
@testable import TileCut

/// Contours of elevation models beside gdal_contour's.
@Suite(.ownThread)
struct ContourTests {
  let folder: TemporaryFolder
  init() throws { folder = try TemporaryFolder() }

  /// Hills with pixels of 0.01 degrees.
  private func hills(width: Int = 90, height: Int = 70, hole: Bool = false) throws -> String {
    var fixture = TIFFFixture()
    (fixture.width, fixture.height, fixture.bits, fixture.format) = (width, height, 32, 3)
    fixture.tags = TIFFFixture.placed
    fixture.tags[33550] = .double([0.01, 0.01, 0])
    fixture.sample = { x, y, _ in
      if hole, abs(x - 40) < 6, abs(y - 30) < 6 { return .nan }
      let (u, v) = (Double(x) / 9, Double(y) / 7)
      return 513 + 300 * sin(u) * cos(v) + 3 * Double(x)
    }
    return try fixture.write(folder, "dem.tif")
  }

  /// A model with pixels of 0.01 degrees.
  private func model(width: Int, height: Int, _ sample: @escaping @Sendable (Double, Double) -> Double) throws -> String
  {
    var fixture = TIFFFixture()
    (fixture.width, fixture.height, fixture.bits, fixture.format) = (width, height, 32, 3)
    fixture.tags = TIFFFixture.placed
    fixture.tags[33550] = .double([0.01, 0.01, 0])
    fixture.sample = { x, y, _ in sample(Double(x), Double(y)) }
    return try fixture.write(folder, "model.tif")
  }

  private func features(_ path: String, interval: Double) throws -> [MapFeature] {
    try ContourTracer(RasterFile.open(path: path, options: RasterOpenOptions().forHeights))
      .features(interval: interval, indexEvery: 5)
  }

  private func lines(_ feature: MapFeature) -> [[SIMD2<Double>]] {
    if case .lines(let lines) = feature.geometry { lines } else { [] }
  }

  /// The mean distance of the points of lines from other lines, in degrees.
  private func distance(_ lines: [[SIMD2<Double>]], from others: [[SIMD2<Double>]]) -> Double {
    var segments: [(SIMD2<Double>, SIMD2<Double>)] = []
    for line in others { segments += zip(line, line.dropFirst()) }
    let points = lines.joined()
    var sum = 0.0
    for point in points {
      var nearest = Double.infinity
      for (a, b) in segments {
        let way = b - a
        let length2 = (way * way).sum()
        let share = length2 > 0 ? max(0, min(1, ((point - a) * way).sum() / length2)) : 0
        let off = point - a - way * share
        nearest = min(nearest, (off * off).sum())
      }
      sum += nearest.squareRoot()
    }
    return sum / Double(max(points.count, 1))
  }

  @Test(.enabled(if: GDALPrograms.arePresent, Comment(rawValue: GDALPrograms.skipMessage)), arguments: [false, true])
  func contoursAreThoseOfGdal(hole: Bool) throws {
    let dem = try hills(hole: hole)
    _ = try run("gdal_contour", ["-q", "-a", "ele", "-i", "100", "-f", "GeoJSON", dem, folder.file("theirs.json")])
    var theirs: [Double: [[SIMD2<Double>]]] = [:]
    for feature in try FeatureFile.features(path: folder.file("theirs.json")) {
      theirs[try #require(feature.properties["ele"]?.number), default: []] += lines(feature)
    }
    let ours = try features(dem, interval: 100)
    #expect(ours.compactMap { $0.properties["ele"]?.number } == theirs.keys.sorted())
    for feature in ours {
      let level = try #require(feature.properties["ele"]?.number)
      #expect(feature.properties["index"] == .bool(level.truncatingRemainder(dividingBy: 500) == 0))
      // Half a pixel is 0.005 degrees.
      let (there, back) = (
        distance(lines(feature), from: theirs[level]!), distance(theirs[level]!, from: lines(feature))
      )
      #expect(there < 0.0025 && back < 0.005, "\(level): \(there) \(back)")
    }
  }

  /// A model of whole metres, as SRTM's, lies in terraces, many of them at the very height of a contour.
  @Test(
    .enabled(if: GDALPrograms.arePresent, Comment(rawValue: GDALPrograms.skipMessage)),
    arguments: [false, true], [2.0, 12.0])
  func gentleGroundHasTheLinesOfGdal(wholeMetres: Bool, relief: Double) throws {
    let dem = try model(width: 160, height: 150) { x, y in
      // A lake at the height of a contour.
      if pow(x - 40, 2) + pow(y - 90, 2) < 400 { return 200 }
      let height =
        200 + relief * sin(x / 25) * cos(y / 31) + relief / 3 * sin((x + 2 * y) / 16) + relief / 8 * cos((x - y) / 7)
      return wholeMetres ? height.rounded() : height
    }
    let interval = relief < 5 ? 1.0 : 5
    _ = try run(
      "gdal_contour", ["-q", "-a", "ele", "-i", "\(interval)", "-f", "GeoJSON", dem, folder.file("theirs.json")])
    // A summit at a level is a ring without a length, which nobody sees.
    func seen(_ features: [MapFeature]) -> [Double] {
      features.flatMap(lines).map { line in
        zip(line, line.dropFirst()).reduce(0) { $0 + (($1.1 - $1.0) * ($1.1 - $1.0)).sum().squareRoot() }
      }.filter { $0 > 1e-4 }
    }
    let theirs = try seen(FeatureFile.features(path: folder.file("theirs.json")))
    let ours = try seen(features(dem, interval: interval))
    let ink = ours.reduce(0, +) / theirs.reduce(0, +)
    #expect(0.97 < ink && ink < 1.03, "\(ink)")
    // Where four heights are a saddle, lines may join otherwise.
    #expect(abs(ours.count - theirs.count) <= 1, "\(ours.count) lines, \(theirs.count) of gdal")
  }

  @Test func lakeAtTheHeightOfAContourHasOneShore() throws {
    let dem = try model(width: 40, height: 40) { x, y in
      let away = (pow(x - 20, 2) + pow(y - 20, 2)).squareRoot()
      return away < 10 ? 200 : 195 - away.rounded()
    }
    let contours = try features(dem, interval: 100)
    #expect(contours.count == 1 && contours[0].properties["ele"] == .number(200))
    let rings = lines(contours[0])
    #expect(rings.count == 1 && rings[0].first == rings[0].last)
    // Higher ground around it leaves nothing of the contour.
    let basin = try model(width: 40, height: 40) { x, y in pow(x - 20, 2) + pow(y - 20, 2) < 100 ? 200 : 207 }
    #expect(try features(basin, interval: 100).isEmpty)
  }

  /// 0.3 is what a label reads, and heights of 0.3 and 0.7 are at their levels though no binary number is.
  @Test func heightsAreMultiplesAsTheyAreWritten() throws {
    let dem = try model(width: 30, height: 20) { x, _ in (x / 3).rounded(.down) / 10 }
    let contours = try features(dem, interval: 0.1)
    #expect(contours.map { $0.properties["ele"]?.text } == (1...9).map { "0.\($0)" })
    #expect(contours.allSatisfy { lines($0).count == 1 && lines($0)[0].count == 20 * 4 + 5 })
    for (number, interval, text) in [(3, 0.3, "0.9"), (7, 6.096, "42.672"), (-3, 0.1, "-0.3"), (3, 20, "60")] {
      #expect(StyleValue.number(ContourTracer.multiple(number, of: interval)).text == text)
    }
    #expect(ContourTracer.multiple(2, of: 1 / 3.0) == 2 / 3.0)
  }

  /// Contours of neighbouring sheets meet.
  @Test func linesReachTheEdgesOfTheModel() throws {
    let dem = try model(width: 30, height: 20) { x, _ in x }
    let line = try #require(features(dem, interval: 10).first.map(lines)?.first)
    let (first, last) = (try #require(line.first), try #require(line.last))
    #expect(abs(abs(first.y - last.y) - 20 * 0.01) < 1e-9, "\(first) \(last)")
  }

  @Test func curvesGoThroughThePointsOfTheirLine() {
    let ring = [SIMD2(0.0, 0), SIMD2(4, 0), SIMD2(4, 4), SIMD2(0, 4), SIMD2(0, 0)]
    let curve = LineCurve.points(ring, parts: 4)
    #expect(curve.count == 17 && ring.indices.allSatisfy { curve[$0 * 4] == ring[$0] })
    // The middle of a side bends outwards, everywhere alike.
    for (index, middle) in [SIMD2(2, -0.5), SIMD2(4.5, 2), SIMD2(2, 4.5), SIMD2(-0.5, 2)].enumerated() {
      let off = curve[index * 4 + 2] - middle
      #expect((off * off).sum() < 1e-12, "\(curve[index * 4 + 2])")
    }
    #expect(LineCurve.points([SIMD2(1, 1), SIMD2(1, 1), SIMD2(1, 1)], parts: 4).count == 1)
    #expect(LineCurve.points(ring, parts: 1) == ring)
  }

  /// Models that do not state it have such numbers where they have no height.
  @Test(arguments: [-3.4028234663852886e38, 3.4028234663852886e38, -32768])
  func numbersThatNoGroundHasAreNoHeights(void: Double) throws {
    func found(_ hole: Double) throws -> [[[SIMD2<Double>]]] {
      try features(
        model(width: 60, height: 50) { x, y in
          abs(x - 30) < 8 && abs(y - 25) < 6 ? hole : 200 + 40 * sin(x / 9) * cos(y / 7)
        }, interval: 10
      ).map(lines)
    }
    #expect(try found(void) == found(.nan))
  }

  /// A cone has closed rings.
  @Test func linesAreClosedOrEndAtTheEdge() throws {
    var fixture = TIFFFixture()
    (fixture.width, fixture.height, fixture.bits, fixture.format) = (60, 60, 32, 3)
    fixture.tags = TIFFFixture.placed
    fixture.sample = { x, y, _ in
      let (u, v) = (Double(x) - 29.5, Double(y) - 29.5)
      return 1000 - 20 * (u * u + v * v).squareRoot()
    }
    let contours = try features(try fixture.write(folder, "cone.tif"), interval: 100)
    for feature in contours {
      let level = try #require(feature.properties["ele"]?.number)
      let rings = lines(feature)
      guard level >= 500 else { continue }
      #expect(rings.count == 1 && rings[0].first == rings[0].last, "\(level)")
      // The radius in pixels of 0.1 degrees, round the middle at 13, 47.
      for point in rings[0] {
        let away = point - SIMD2(13, 47)
        #expect(abs((away * away).sum().squareRoot() * 10 - (1000 - level) / 20) < 0.1)
      }
    }
    #expect(contours.count == 8)
  }

  @Test func farTooManyContoursAreRefusedBeforeTheyAreTraced() throws {
    _ = try hills(width: 40, height: 40)
    func read(interval: String) throws -> LayerData {
      let path = try folder.write(
        "region.json",
        ##"""
        {"regions": [{"id": "a", "title": "A", "category": "c", "zoom": [8, 9], "layers": [
          {"type": "relief", "dem": ["dem.tif"], "tint": [[0, "#ffffff"]], "shading": "none"},
          {"type": "contours", "dem": ["dem.tif"], "interval": \##(interval), "style": [{"type": "line"}]}]}]}
        """##)
      let manifest = try RegionManifest(path: path)
      let options = CutOptions(of: manifest.regions[0], in: manifest)
      return try LayerData(options, CutResources(memoryBytes: 32_000_000))
    }
    #expect(try read(interval: "100").byteCount > 0)
    let error = #expect(throws: CutError.self) { try read(interval: "0.01") }
    let text = error?.description ?? ""
    #expect(error?.code == .invalidOption && text.contains("features alone") && text.contains("give --memory"))
    #expect(text.contains("dem.tif"))
  }

  @Test func contoursAreDrawnOnTiles() throws {
    _ = try hills()
    let path = try folder.write(
      "region.json",
      ##"""
      {"regions": [{"id": "a", "title": "A", "category": "c", "zoom": [8, 9], "layers": [
        {"type": "relief", "dem": ["dem.tif"], "tint": [[0, "#ffffff"]], "shading": "none"},
        {"type": "contours", "dem": ["dem.tif"], "interval": 100, "style": [{"type": "line",
          "filter": ["get", "index"], "paint": {"line-color": "#804000", "line-width": 2}}]}]}]}
      """##)
    let manifest = try RegionManifest(path: path)
    var options = CutOptions(of: manifest.regions[0], in: manifest)
    func tiles(_ name: String) throws -> [TileID: [UInt8]] {
      _ = try Cutter(options).cut(to: folder.file(name))
      var tiles: [TileID: [UInt8]] = [:]
      try MBTilesReader(path: folder.file(name)).forEachTile { tiles[$0] = Array($1) }
      return tiles
    }
    let drawn = try tiles("drawn.mbtiles")
    options.drawing = []
    let plain = try tiles("plain.mbtiles")
    #expect(Set(drawn.keys) == Set(plain.keys))
    for zoom in 8...9 { #expect(drawn.contains { $0.key.zoom == zoom && plain[$0.key] != $0.value }, "zoom \(zoom)") }
  }
}
