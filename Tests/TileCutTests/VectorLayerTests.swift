import Foundation
import Support
import TestSupport
import Testing
import TileImage
import TileIndex

@testable import RegionCatalog
@testable import TileCut

/// Vector layers of a cut: drawn at every zoom over the pictures, which stay as they are.
@Suite(.ownThread)
struct VectorLayerTests {
  let folder: TemporaryFolder
  init() throws { folder = try TemporaryFolder() }

  /// A region over a white picture of 7 x 5 degrees, with a track from west to east.
  private func options(_ region: String = "") throws -> CutOptions {
    var fixture = TIFFFixture()
    fixture.tags = TIFFFixture.placed
    fixture.sample = { _, _, _ in 255 }
    _ = try fixture.write(folder, "white.tif")
    try folder.write(
      "trip.gpx",
      "<gpx><trk><trkseg><trkpt lat='47.3' lon='10.5'/><trkpt lat='47.4' lon='16.5'/></trkseg></trk></gpx>")
    let path = try folder.write(
      "region.json",
      ##"""
      {"regions": [{"id": "a", "title": "A", "category": "c", "zoom": [3, 7] \##(region), "layers": [
        {"type": "raster", "sources": ["white.tif"]},
        {"type": "vector", "data": "trip.gpx", "style": [
          {"type": "line", "minzoom": 4, "paint": {"line-color": "#c00000", "line-width": 3}}]}]}]}
      """##)
    let manifest = try RegionManifest(path: path)
    let options = CutOptions(of: manifest.regions[0], in: manifest)
    return options
  }

  private func tiles(_ options: CutOptions, _ name: String, threads: Int = 2) throws -> [TileID: [UInt8]] {
    _ = try Cutter(options, resources: CutResources(threads: threads)).cut(to: folder.file(name))
    var tiles: [TileID: [UInt8]] = [:]
    try MBTilesReader(path: folder.file(name)).forEachTile { tiles[$0] = Array($1) }
    return tiles
  }

  @Test func linesAreDrawnAnewAtEachZoom() throws {
    let drawn = try tiles(try options(), "drawn.mbtiles")
    var plain = try options()
    plain.drawing = []
    let pictures = try tiles(plain, "plain.mbtiles")
    #expect(Set(drawn.keys) == Set(pictures.keys))
    for zoom in 3...7 {
      let changed = drawn.filter { $0.key.zoom == zoom && pictures[$0.key] != $0.value }
      if zoom == 3 {
        #expect(changed.isEmpty)
        continue
      }
      #expect(!changed.isEmpty, "zoom \(zoom)")
      // Three pixels wide at each zoom: at coarse ones neither thinner nor paler.
      for (tile, bytes) in changed {
        let pixels = try bytes.withUnsafeBytes { try ImageDecoder.decode($0) }
        let columns = (0..<256).map { x in (0..<256).reduce(0.0) { $0 + (255 - Double(pixels[x, $1].y)) / 255 } }
        let white = (0..<256).filter { x in (0..<256).allSatisfy { pixels[x, $0].w == 255 } }
        for x in white where columns[x] > 2.9 { #expect(columns[x] < 3.2, "\(tile)") }
      }
    }
  }

  @Test func tilesDoNotDependOnTheNumberOfThreads() throws {
    let one = try tiles(try options(), "one.mbtiles", threads: 1)
    #expect(try tiles(try options(), "four.mbtiles", threads: 4) == one)
    #expect(try folder.bytes("one.mbtiles") == folder.bytes("four.mbtiles"))
  }

  /// What four maps show of their own bounds is what one map of all shows there.
  @Test func aMapInOnePieceAndInFourHasEqualPixels() throws {
    let whole = try tiles(try options(), "whole.mbtiles")
    let (x, y) = (13.37, 47.41)
    let boxes = [(9.0, 43.0, x, y), (x, 43, 18, y), (9, y, x, 51), (x, y, 18, 51)]
    var seen: [TileID: Int] = [:]
    for (index, box) in boxes.enumerated() {
      var part = try options()
      part.bounds = BoundingBox(west: box.0, south: box.1, east: box.2, north: box.3)
      let drawn = try tiles(part, "part\(index).mbtiles")
      part.drawing = []
      let plain = try tiles(part, "plain\(index).mbtiles")
      for (tile, bytes) in drawn where tile.zoom == 7 {
        let pixels = try bytes.withUnsafeBytes { try ImageDecoder.decode($0) }
        let picture = try plain[tile]!.withUnsafeBytes { try ImageDecoder.decode($0) }
        let all = try whole[tile]!.withUnsafeBytes { try ImageDecoder.decode($0) }
        var different = 0
        for i in 0..<(256 * 256) where picture[i % 256, i / 256].w == 255 {
          seen[tile, default: 0] += 1
          if pixels[i % 256, i / 256] != all[i % 256, i / 256] { different += 1 }
        }
        #expect(different == 0, "\(tile)")
      }
    }
    #expect(Set(seen.keys) == Set(whole.keys.filter { $0.zoom == 7 }) && seen.values.contains(256 * 256))
  }

  @Test func clippedMapsHaveNoLinesOutside() throws {
    let boundary =
      #""boundary": {"type": "Polygon", "coordinates": [[[11, 46], [13, 46], [13, 49], [11, 49], [11, 46]]]}"#
    var clipped = try options(", \(boundary), \"clip\": true")
    let drawn = try tiles(clipped, "clipped.mbtiles")
    clipped.drawing = []
    let plain = try tiles(clipped, "plain.mbtiles")
    #expect(Set(drawn.keys) == Set(plain.keys) && drawn != plain)
    for (tile, bytes) in drawn {
      let pixels = try bytes.withUnsafeBytes { try ImageDecoder.decode($0) }
      let picture = try plain[tile]!.withUnsafeBytes { try ImageDecoder.decode($0) }
      var changed = 0
      for i in 0..<(256 * 256) {
        let (x, y) = (i % 256, i / 256)
        if pixels[x, y].w != picture[x, y].w { changed += 1 }
      }
      #expect(changed == 0, "\(tile)")
    }
  }

  /// Names all around the picture's edge, of which none goes beyond it, at any density of pixels.
  @Test(.long, arguments: [TileMatrixSet.webMercatorQuad, .worldCRS84Quad, .degrees], [1, 2])
  func labelsLieOnThePictureInEveryGrid(_ matrixSet: TileMatrixSet, density: Int) throws {
    var random = SeededGenerator(seed: 5)
    let places = (0..<300).map { i in
      let (x, y) = (Double.random(in: 9...18, using: &random), Double.random(in: 43...51, using: &random))
      return #"{"type": "Feature", "properties": {"name": "Place \#(i)"}, "geometry": "#
        + #"{"type": "Point", "coordinates": [\#(x), \#(y)]}}"#
    }
    try folder.write(
      "places.geojson", #"{"type": "FeatureCollection", "features": [\#(places.joined(separator: ","))]}"#)
    let style = #"{"type": "symbol", "layout": {"text-field": "{name}", "icon-image": "peak", "text-anchor": "left"}}"#
    let rule = try #require(StyleRule(try JSONValue(parsing: Array(style.utf8))) { _, _, _ in })
    var cut = try options()
    cut.matrixSet = matrixSet
    cut.zoom = .levels(matrixSet == .degrees ? 2...3 : 6...7)
    cut.scaleFactor = density
    cut.drawing = [
      VectorLayer(.file(folder.file("places.geojson")), rules: [rule]),
      VectorLayer(.graticule(interval: nil), rules: []),
    ]
    let drawn = try tiles(cut, "drawn.mbtiles")
    cut.drawing = []
    let plain = try tiles(cut, "plain.mbtiles")
    #expect(Set(drawn.keys) == Set(plain.keys) && drawn != plain)
    for (tile, bytes) in drawn where plain[tile] != bytes {
      let pixels = try bytes.withUnsafeBytes { try ImageDecoder.decode($0) }
      let picture = try plain[tile]!.withUnsafeBytes { try ImageDecoder.decode($0) }
      var beyond = 0
      for i in 0..<(pixels.width * pixels.height) {
        let (x, y) = (i % pixels.width, i / pixels.width)
        if picture[x, y].w == 0, pixels[x, y].w != 0 { beyond += 1 }
      }
      #expect(beyond == 0, "\(tile)")
    }
  }

  /// A raster over it would cut labels in two, and mix those of two zooms.
  @Test(arguments: ["map.mbtiles", "map.pmtiles", "map/"]) func nothingIsAppendedToADrawnMap(_ name: String) throws {
    var cut = try options()
    let path = folder.file(name)
    _ = try Cutter(cut).cut(to: path)
    let error = #expect(throws: CutError.self) {
      try BundleAppend(to: path, options: CutOptions(sources: [folder.file("white.tif")]))
    }
    #expect(error?.code == .invalidOption && error?.message.contains("labels (vector)") == true)
    cut.drawing = []
    let plain = folder.file("plain-\(name)")
    _ = try Cutter(cut).cut(to: plain)
    #expect(throws: Never.self) {
      try BundleAppend(to: plain, options: CutOptions(sources: [folder.file("white.tif")]))
    }
  }

  /// A label that crosses the clipped edge is left out at every zoom and density: nothing of one is drawn where the map
  /// is transparent, and each that is drawn is whole.
  @Test(.long, arguments: [(1, nil), (1, 512), (2, nil), (2, 512)] as [(Int, Int?)])
  func labelsOfClippedMapsAreWhole(_ density: Int, tileSize: Int?) throws {
    let boundary =
      #""boundary": {"type": "Polygon", "coordinates": [[[11, 46], [14, 46], [14, 49], [11, 49], [11, 46]]]}"#
    let places = (0..<200).map { i in
      let (x, y) = (10.5 + Double(i * 37 % 200) * 0.02, 45.7 + Double(i) * 0.018)
      return #"{"type": "Feature", "properties": {"name": "Place \#(i)"}, "geometry": "#
        + #"{"type": "Point", "coordinates": [\#(x), \#(y)]}}"#
    }
    try folder.write(
      "places.geojson", #"{"type": "FeatureCollection", "features": [\#(places.joined(separator: ","))]}"#)
    // Blocks of one colour in place of letters, so that pixels can be counted: 20 x 20 of the screen each.
    let square = PixelBuffer(width: 20, height: 20)
    square.fill(RGBA(red: 192, green: 0, blue: 0))
    try folder.write("square.png", bytes: TileEncoder(.png(PNGOptions())).encode(square))
    let style = #"{"type": "symbol", "layout": {"icon-image": "square"}}"#
    let rule = try #require(StyleRule(try JSONValue(parsing: Array(style.utf8))) { _, _, _ in })
    var cut = try options(", \(boundary), \"clip\": true")
    cut.zoom = .levels(6...7)
    (cut.scaleFactor, cut.tileSize) = (density, tileSize)
    cut.drawing = [
      VectorLayer(.file(folder.file("places.geojson")), rules: [rule], images: ["square": folder.file("square.png")])
    ]
    var red: [Int: Int] = [:]
    for (tile, bytes) in try tiles(cut, "clipped.mbtiles") {
      let pixels = try bytes.withUnsafeBytes { try ImageDecoder.decode($0) }
      #expect(pixels.width == (tileSize ?? 256) * density)
      for i in 0..<(pixels.width * pixels.height) {
        let pixel = pixels[i % pixels.width, i / pixels.width]
        if pixel.w > 0, pixel.x > 150, pixel.y < 60 { red[tile.zoom, default: 0] += 1 }
      }
    }
    for zoom in 6...7 {
      let whole = 400 * density * density
      #expect(red[zoom, default: 0] > 5 * whole && red[zoom, default: 0] % whole == 0, "zoom \(zoom): \(red)")
    }
  }

  /// A cut is another one when its lines are.
  @Test func identitiesKnowTheFiles() throws {
    let before = try Cutter(try options()).identity(toolVersion: "1")
    let cut = try options()
    #expect(try Cutter(cut).identity(toolVersion: "1").digest == before.digest)
    try folder.write("trip.gpx", "<gpx><wpt lat='47' lon='12'/></gpx>")
    let after = try Cutter(cut).identity(toolVersion: "1")
    #expect(after.difference(from: before)?.contains("trip.gpx") == true)
  }

  /// Also those that Pango takes for letters which the style's font lacks.
  @Test func identitiesKnowTheFonts() throws {
    func identity(_ text: String, _ font: String) throws -> CutIdentity {
      let rule = #"{"type": "symbol", "layout": {"text-field": "\#(text)", "text-font": ["\#(font)"]}}"#
      var cut = try options()
      cut.drawing[0].rules = [try #require(StyleRule(try JSONValue(parsing: Array(rule.utf8))) { _, _, _ in })]
      return try Cutter(cut).identity(toolVersion: "1")
    }
    func fonts(_ identity: CutIdentity) -> [LibraryIdentity] {
      identity.libraries.filter { $0.name.hasPrefix("font ") }
    }
    let plain = try identity("Weg", "Open Sans Regular")
    #expect(fonts(plain).map(\.name) == ["font Open Sans"] && fonts(plain)[0].version.count == 16)
    let cursive = fonts(try identity("Weg", "Open Sans Italic"))
    #expect(cursive.map(\.name) == ["font Open Sans Italic"] && cursive[0].version != fonts(plain)[0].version)
    #expect(fonts(try identity("Weg \u{2713}", "Open Sans Regular")).count > 1)
    // The same style with another file of the font.
    let other = plain.libraries.map { library in
      library.name == "font Open Sans" ? LibraryIdentity(name: library.name, version: "0123456789abcdef") : library
    }
    let changed = CutIdentity(
      toolVersion: "1", libraries: other, sources: plain.sources, options: try options(), name: "a")
    #expect(plain.difference(from: changed)?.contains("another font Open Sans,") == true)
  }

  @Test(arguments: [
    (#"{"text-field": "x", "text-font": ["Nowhere Grotesk"]}"#, "Nowhere Grotesk"),
    (#"{"icon-image": "unicorn"}"#, "unicorn"),
  ])
  func fontsAndIconsThatAreMissingAreNamed(_ layout: String, name: String) throws {
    let rule = #"{"type": "symbol", "layout": \#(layout)}"#
    var cut = try options()
    cut.drawing[0].rules = [try #require(StyleRule(try JSONValue(parsing: Array(rule.utf8))) { _, _, _ in })]
    let error = #expect(throws: CutError.self) { try tiles(cut, "out.mbtiles") }
    #expect(error?.code == .badSource && error?.message.contains(name) == true)
    #expect(!FileManager.default.fileExists(atPath: folder.file("out.mbtiles")))
  }

  @Test(arguments: ["<svg/>", "<svg", "no picture"]) func iconsThatAreNoPicturesAreNamed(_ text: String) throws {
    try folder.write("hut.svg", text)
    var cut = try options()
    cut.drawing[0].images = ["hut": folder.file("hut.svg")]
    let error = #expect(throws: CutError.self) { try Cutter(cut) }
    #expect(error?.code == .badSource && error?.path?.hasSuffix("hut.svg") == true)
  }

  @Test(arguments: [("trip.gpx", "<gpx/>"), ("trip.geojson", #"{"type": "FeatureCollection", "features": []}"#)])
  func filesWithoutFeaturesAreWarnedOf(_ name: String, text: String) throws {
    var cut = try options()
    let path = try folder.write(name, text)
    cut.drawing[0].data = .file(path)
    let summary = try Cutter(cut).cut(to: folder.file("empty.mbtiles"))
    #expect(summary.warnings == ["\(path): has no features"])
  }

  @Test func featuresThatNoRuleDrawsAreCounted() throws {
    var cut = try options()
    let geometries = [
      "null", #"{"type": "GeometryCollection", "geometries": []}"#, #"{"type": "Point", "coordinates": [12, 47]}"#,
      #"{"type": "LineString", "coordinates": [[11, 47], [12, 48]]}"#,
    ]
    let features = geometries.map { #"{"type": "Feature", "properties": {}, "geometry": \#($0)}"# }
    let path = try folder.write(
      "f.geojson", #"{"type": "FeatureCollection", "features": [\#(features.joined(separator: ","))]}"#)
    cut.drawing[0].data = .file(path)
    #expect(
      try Cutter(cut).cut(to: folder.file("f.mbtiles")).warnings == [
        "\(path): 2 features have no geometry and are not drawn",
        "\(path): 1 of 2 features is of the kind Point, which no rule of the style draws",
      ])
  }

  /// Features beside the map, and letters that no font has, which show boxes.
  @Test func whatTheMapLacksIsToldAtItsEnd() throws {
    var cut = try options()
    let places = [(47.3, 12.1), (47.3, 12.2), (12.3, 47.3)].map {
      #"{"type": "Feature", "properties": {}, "geometry": {"type": "Point", "coordinates": [\#($0.0), \#($0.1)]}}"#
    }
    let path = try folder.write(
      "p.geojson", #"{"type": "FeatureCollection", "features": [\#(places.joined(separator: ","))]}"#)
    cut.drawing[0].data = .file(path)
    let rule = "{\"type\": \"symbol\", \"layout\": {\"text-field\": \"\u{10FFFD}\"}}"
    cut.drawing[0].rules = [try #require(StyleRule(try JSONValue(parsing: Array(rule.utf8))) { _, _, _ in })]
    let cutter = try Cutter(cut)
    #expect(cutter.warnings.isEmpty)
    let warnings = try cutter.cut(to: folder.file("p.mbtiles")).warnings
    #expect(warnings.count == 2, "\(warnings)")
    #expect(warnings.first?.hasPrefix("\(path): 2 of 3 features lie beside the map") == true, "\(warnings)")
    #expect(warnings.first?.contains("are they exchanged?") == true, "\(warnings)")
    #expect(warnings.last?.contains("U+10FFFD of 1 text") == true, "\(warnings)")
  }

  /// Each label counts once, not for each zoom or tile.
  @Test func labelsWithoutRoomAndTextsThatAreCutOffAreToldAtItsEnd() throws {
    var cut = try options()
    let long = String(repeating: "word ", count: 200_000)
    let places = (0..<12).map { i in
      #"{"type": "Feature", "properties": {"name": "\#(i == 0 ? long : "Place \(i)")"}, "geometry": "#
        + #"{"type": "Point", "coordinates": [\#(12.3 + Double(i) / 10_000), 47.3]}}"#
    }
    let path = try folder.write(
      "p.geojson", #"{"type": "FeatureCollection", "features": [\#(places.joined(separator: ","))]}"#)
    cut.drawing[0].data = .file(path)
    let rule = #"{"type": "symbol", "layout": {"text-field": "{name}", "text-size": 11}}"#
    cut.drawing[0].rules = [try #require(StyleRule(try JSONValue(parsing: Array(rule.utf8))) { _, _, _ in })]
    let warnings = try Cutter(cut).cut(to: folder.file("p.mbtiles")).warnings
    #expect(warnings.count == 2, "\(warnings)")
    #expect(warnings.first?.hasPrefix("\(path): 11 of 12 labels have no room at any zoom") == true, "\(warnings)")
    #expect(warnings.last?.contains("the text of 1 label is longer than 1024 bytes") == true, "\(warnings)")
    #expect(warnings.allSatisfy { $0.utf8.count < 500 + path.utf8.count })
  }

  /// A label that no tile of one side could have alone, on maps that have both.
  @Test(arguments: [BoundingBox(west: 175, south: -10, east: -175, north: 10), nil])
  func labelsAcrossTheAntimeridianAreOnBothSides(_ bounds: BoundingBox?) throws {
    var cut = try options()
    var fixture = TIFFFixture()
    (fixture.width, fixture.height) = (72, 36)
    fixture.tags = TIFFFixture.placed
    (fixture.tags[33550], fixture.tags[33922]) = (.double([5, 5, 0]), .double([0, 0, 0, -180, 90, 0]))
    fixture.sample = { _, _, _ in 255 }
    cut.sources = [try fixture.write(folder, "world.tif")]
    (cut.bounds, cut.zoom) = (bounds, .levels(4...4))
    let layers = cut.drawing
    cut.drawing = []
    let plain = try tiles(cut, "plain.mbtiles")
    cut.drawing = layers
    let path = try folder.write(
      "p.geojson",
      #"{"type": "Feature", "properties": {}, "geometry": {"type": "Point", "coordinates": [179.99, 1]}}"#)
    cut.drawing[0].data = .file(path)
    let rule = #"{"type": "symbol", "layout": {"text-field": "Taveuni", "text-size": 14}}"#
    cut.drawing[0].rules = [try #require(StyleRule(try JSONValue(parsing: Array(rule.utf8))) { _, _, _ in })]
    let drawn = try tiles(cut, "drawn.mbtiles")
    let changed = drawn.filter { plain[$0.key] != $0.value }.keys.map(\.column).sorted()
    #expect(changed == [0, 15])
  }

  /// Their styles, icons and fonts at every zoom, and their coarsest tiles.
  @Test(arguments: ["rocky-mountain-np/outdoor", "liechtenstein/hiking"])
  func sampleMapsAreDrawn(_ name: String) throws {
    let manifest = try RegionManifest(path: ProjectFiles.path("sample-regions/\(name).json"))
    var options = CutOptions(of: manifest.regions[0], in: manifest)
    let fonts = try Cutter(options).fonts().filter { $0.name.hasPrefix("font ") }
    #expect(!fonts.isEmpty && fonts.allSatisfy { $0.name.hasPrefix("font Open Sans") }, "\(fonts)")
    guard case .levels(let zooms) = options.zoom else {
      Issue.record("the manifest says no zooms")
      return
    }
    options.zoom = .levels(zooms.lowerBound...(zooms.lowerBound + 1))
    let drawn = try tiles(options, "drawn.mbtiles")
    options.drawing = []
    let plain = try tiles(options, "plain.mbtiles")
    #expect(drawn.count > 1 && Set(drawn.keys) == Set(plain.keys) && drawn != plain)
  }

  @Test func missingAndMalformedFilesAreNamed() throws {
    var cut = try options()
    try folder.write("trip.gpx", "<gpx><trk></gpx>")
    let malformed = #expect(throws: CutError.self) { try Cutter(cut) }
    #expect(malformed?.code == .badSource && malformed?.path?.hasSuffix("trip.gpx") == true)
    cut.drawing = [VectorLayer(.file(folder.file("none.gpx")), rules: cut.drawing[0].rules)]
    let missing = #expect(throws: CutError.self) { try Cutter(cut) }
    #expect(missing?.code == .unreadableSource)
  }
}
