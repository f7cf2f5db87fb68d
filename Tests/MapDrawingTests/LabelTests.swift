import Support
import TestSupport
import Testing
import TileImage
import TileIndex

@testable import MapDrawing
@testable import RegionCatalog

/// Labels: where they lie, and where they do not.
@Suite(.ownThread)
struct LabelTests {
  let folder: TemporaryFolder
  init() throws { folder = try TemporaryFolder() }

  private func rules(_ style: String) throws -> [StyleRule] {
    try JSONValue(parsing: Array(style.utf8)).array!.map { json in
      try #require(StyleRule(json) { place, message, _ in Issue.record("\(place) \(message)") })
    }
  }

  private func map(
    _ features: [MapFeature], _ style: String, matrixSet: TileMatrixSet = .webMercatorQuad, density: Double = 1,
    frame: LabelFrame? = nil
  ) throws -> VectorMap {
    try VectorMap(
      [VectorMap.Layer(.features(features), rules: try rules(style))], matrixSet: matrixSet, density: density,
      frame: frame)
  }

  private func labels(_ map: VectorMap, zoom: Int) throws -> [Label] {
    var labels: [Label] = []
    for item in try map.drawing(zoom: zoom).items { if case .label(let label) = item.style { labels.append(label) } }
    return labels
  }

  private static func point(_ name: String, _ place: SIMD2<Double>) -> MapFeature {
    MapFeature(.points([place]), properties: ["name": .string(name)])
  }

  /// Many more places than fit.
  private static let crowd: [MapFeature] = {
    var random = SeededGenerator(seed: 23)
    return (0..<400).map { i in
      point(
        "Place \(i)", SIMD2(Double.random(in: 9...11, using: &random), Double.random(in: 46...47.5, using: &random)))
    }
  }()

  private static let named = #"{"type": "symbol", "layout": {"text-field": "{name}", "text-size": 13}}"#
  private static let withIcons = ##"""
    {"type": "symbol", "layout": {"icon-image": "peak", "text-field": "{name}", "text-size": 12,
      "text-variable-anchor": ["left", "right", "top", "bottom"], "text-radial-offset": 0.9},
      "paint": {"text-halo-color": "#fff", "text-halo-width": 1.5}}
    """##

  /// Placing very many takes minutes, and whoever waits for it may leave.
  @Test func placingStopsWhenItsWorkIsCancelled() throws {
    let map = try map(Self.crowd, "[\(Self.named)]")
    let cancellation = Cancellation()
    cancellation.cancel()
    let error = #expect(throws: DrawingError.self) { try cancellation.run { try map.drawing(zoom: 10) } }
    #expect(error?.isCancelled == true)
    // The next one that asks gets it.
    #expect(try labels(map, zoom: 10).count > 10)
  }

  /// No font has the last code point for private use.
  @Test func lettersThatNoFontHasAreTold() throws {
    let odd = "Berg \u{10FFFD}"
    for (text, isMissing) in [("Berg", false), (odd, true)] {
      let map = try map([Self.point(text, SIMD2(10, 46)), Self.point("Tal", SIMD2(12, 46))], "[\(Self.named)]")
      #expect(map.missingLetters.lines.isEmpty)
      for zoom in 7...9 { #expect(try labels(map, zoom: zoom).count == 2) }
      let lines = map.missingLetters.lines
      #expect(lines.count == (isMissing ? 1 : 0), "\(lines)")
      if isMissing { #expect(lines[0].contains("U+10FFFD of 1 text, such as \"\(odd)\""), "\(lines)") }
    }
  }

  /// Also on a map across the antimeridian, which shows both of its sides.
  @Test func featuresBesideTheMapAreCounted() throws {
    func beside(_ places: [SIMD2<Double>], west: Double, east: Double) throws -> [FeaturesBeside] {
      let frame = LabelFrame(
        box: { zoom in
          let corners = [SIMD2(west, 60.0), SIMD2(east, 40.0)].map { place -> SIMD2<Double> in
            // Also beyond the antimeridian.
            let row = TileMatrixSet.webMercatorQuad.tileCoordinates(longitude: 0, latitude: place.y, zoom: zoom).y
            return SIMD2((place.x + 180) / 360 * Double(1 << zoom), row) * 256
          }
          return PixelBox(low: corners[0], high: corners[1])
        }, shows: { _, _ in true })
      return try map(places.map { Self.point("\($0.x)", $0) }, "[\(Self.named)]", frame: frame).featuresBeside()
    }
    #expect(try beside([SIMD2(11, 50), SIMD2(19, 41)], west: 10, east: 20).isEmpty)
    #expect(try beside([SIMD2(175, 50), SIMD2(-175, 50)], west: 170, east: 190).isEmpty)
    let far = try #require(try beside([SIMD2(175, 50), SIMD2(100, 50)], west: 170, east: 190).first)
    #expect(far.count == 1 && far.total == 2 && far.name == "100.0" && !far.isExchanged)
    let turned = try #require(try beside([SIMD2(50, 11), SIMD2(51, 12)], west: 10, east: 20).first)
    #expect(turned.count == 2 && turned.first == SIMD2(50, 11) && turned.isExchanged)
  }

  @Test(arguments: [named, withIcons], [8, 10, 12])
  func labelsMeetNoOther(_ rule: String, zoom: Int) throws {
    let labels = try labels(try map(Self.crowd, "[\(rule)]"), zoom: zoom)
    #expect(labels.count > 10 && (zoom > 8 || labels.count < 400))
    for (i, a) in labels.enumerated() {
      for b in labels[(i + 1)...] {
        #expect(!a.boxes.contains { box in b.boxes.contains { $0.overlaps(box) } })
      }
    }
  }

  @Test func labelsLieWhollyWithinWhatIsShown() throws {
    let matrixSet = TileMatrixSet.webMercatorQuad
    let box: @Sendable (Int) -> PixelBox = { zoom in
      let matrix = matrixSet[zoom]
      return PixelBox(
        low: matrix.pixelCoordinates(of: matrixSet.point(longitude: 9.4, latitude: 47.1)),
        high: matrix.pixelCoordinates(of: matrixSet.point(longitude: 10.6, latitude: 46.3)))
    }
    let frame = LabelFrame(box: box) { zoom, part in part.low.x > box(zoom).low.x + 40 }
    let map = try map(Self.crowd, "[\(Self.withIcons)]", frame: frame)
    for zoom in 7...11 {
      let found = try labels(map, zoom: zoom)
      if zoom > 8 { #expect(found.count > 5) }
      for label in found {
        let extent = try #require(label.extent)
        #expect(box(zoom).contains(extent) && extent.low.x > box(zoom).low.x + 40)
      }
    }
  }

  /// What has a place keeps it when the map is enlarged.
  @Test(arguments: [named, withIcons])
  func labelsStayFromZoomToZoom(_ rule: String) throws {
    let map = try map(Self.crowd, "[\(rule)]")
    var placements: [LabelPlacer.Placement] = []
    let shaper = try TextShaper()
    for zoom in 0...12 {
      placements.append(
        try LabelPlacer.place(
          [
            ZoomLayer(
              Self.crowd, rules: rules("[\(rule)]"), icons: IconSet([:]), matrixSet: map.matrixSet, zoom: zoom)
          ],
          zoom: zoom, matrix: map.matrixSet[zoom], density: 1, frame: LabelFrame(map.matrixSet), shaper: shaper,
          earlier: placements.last))
    }
    let found = placements.map(\.anchors)
    for (coarse, fine) in zip(found, found.dropFirst()) {
      // Texts on different sides of their points may meet when the points move apart.
      let lost = coarse.keys.count { fine[$0] == nil }
      #expect(rule == Self.named ? lost == 0 : lost * 20 <= coarse.count)
    }
    #expect(found[12].count > found[8].count && found[8].count > 5)
  }

  /// An icon without a text tells nothing of the text's side.
  @Test func textsThatAppearLaterHaveTheirOwnAnchors() throws {
    let rule =
      #"{"type": "symbol", "layout": {"icon-image": "peak", "text-field": FIELD, "text-variable-anchor": ["left"]}}"#
    let late = rule.replacing("FIELD", with: #"["step", ["zoom"], "", 9, ["get", "name"]]"#)
    let feature = [Self.point("Place", SIMD2(10, 46))]
    let label = try #require(try labels(try map(feature, "[\(late)]"), zoom: 9).first)
    let text = try #require(label.glyphs.first?.outlines.compactMap(\.box).map(\.low.x).min())
    let icon = try #require(label.glyphs.last?.outlines.first?.place.x)
    #expect(text >= icon - 1)
  }

  /// The first zoom that is asked for decides nothing.
  @Test func labelsDoNotDependOnTheOrderOfZooms() throws {
    let (one, other) = (try map(Self.crowd, "[\(Self.named)]"), try map(Self.crowd, "[\(Self.named)]"))
    let late: [Label] = try labels(one, zoom: 10)
    for zoom in [6, 9] { _ = try labels(other, zoom: zoom) }
    #expect(try labels(other, zoom: 10).map(\.extent) == late.map(\.extent))
  }

  @Test func laterRulesAndSmallerSortKeysComeFirst() throws {
    let place = SIMD2(10.0, 46)
    let features = [
      MapFeature(.points([place]), properties: ["name": .string("low"), "rank": .number(2)]),
      MapFeature(.points([place]), properties: ["name": .string("high"), "rank": .number(1)]),
    ]
    let one = """
      {"type": "symbol", "filter": ["==", ["get", "name"], "NAME"],
        "layout": {"text-field": "{name}", "symbol-sort-key": ["get", "rank"]}}
      """
    let sorted = one.replacing(#"["==", ["get", "name"], "NAME"]"#, with: #"["has", "name"]"#)
    let high = try labels(try map([features[1]], "[\(sorted)]"), zoom: 9)
    #expect(try labels(try map(features, "[\(sorted)]"), zoom: 9).map(\.extent) == high.map(\.extent))
    let rules = [one.replacing("NAME", with: "high"), one.replacing("NAME", with: "low")].joined(separator: ",")
    let low = try labels(try map([features[0]], "[\(sorted)]"), zoom: 9)
    #expect(try labels(try map(features, "[\(rules)]"), zoom: 9).map(\.extent) == low.map(\.extent))
  }

  // MARK: - Along lines

  private static let along = """
    [{"type": "symbol", "layout": {"text-field": "{name}", "symbol-placement": "line", "text-size": 14}}]
    """

  private static func line(_ points: [SIMD2<Double>]) -> MapFeature {
    MapFeature(.lines([points]), properties: ["name": .string("Colorado River")])
  }

  @Test func textsFollowLinesUpright() throws {
    let bow: [SIMD2<Double>] = (0...60).map { i in
      let share = Double(i) / 60
      return SIMD2<Double>(10 + share, 46.5 - 1.2 * share * (1 - share))
    }
    for points in [bow, bow.reversed()] {
      let found = try labels(try map([Self.line(points)], Self.along), zoom: 10)
      #expect(!found.isEmpty)
      let shape = try #require(LineShape(points, matrixSet: .webMercatorQuad, zoom: 10))
      for label in found {
        let glyphs: [PlacedOutline] = label.glyphs.flatMap { $0.outlines }
        #expect(glyphs.allSatisfy { $0.across.x > 0 })
        #expect(zip(glyphs, glyphs.dropFirst()).allSatisfy { $1.place.x > $0.place.x })
        // Baselines run a third of an em below the line.
        for glyph in glyphs {
          var nearest = Double.infinity
          for point in shape.points { nearest = min(nearest, (point - glyph.place).length) }
          #expect(nearest < 20)
        }
      }
    }
  }

  @Test func linesThatBendTooMuchOrAreTooShortHaveNoText() throws {
    let zigzag: [SIMD2<Double>] = (0...40).map { i in
      SIMD2<Double>(10 + Double(i) * 0.004, i.isMultiple(of: 2) ? 46.504 : 46.5)
    }
    #expect(try labels(try map([Self.line(zigzag)], Self.along), zoom: 12).isEmpty)
    #expect(try labels(try map([Self.line([SIMD2(10, 46), SIMD2(10.01, 46)])], Self.along), zoom: 9).isEmpty)
  }

  @Test func longLinesAreLabelledAgainAfterAWhile() throws {
    let line = Self.line([SIMD2(10, 46.5), SIMD2(12, 46.5)])
    let found = try labels(try map([line], Self.along), zoom: 10)
    let middles = found.compactMap { label in label.extent.map { ($0.low.x + $0.high.x) / 2 } }.sorted()
    #expect(middles.count >= 4)
    #expect(zip(middles, middles.dropFirst()).allSatisfy { $1 - $0 >= 125 })
  }

  // MARK: - Texts

  @Test func longTextsAreBrokenBetweenWords() throws {
    let shaper = try TextShaper()
    var request = TextShaper.Request(
      text: "Rocky Mountain National Park", fonts: TextShaper.usualFonts, size: 16, widthMax: nil, letterSpacing: 0)
    let whole = try shaper.shape(request)
    #expect(whole.lines.count == 1 && whole.width > 150)
    request.widthMax = 150
    let broken = try shaper.shape(request)
    #expect(broken.lines.count == 2 && broken.width <= 151)
    // About equally wide.
    #expect(broken.lines.allSatisfy { $0.width > 0.6 * broken.width })
    request.letterSpacing = 4
    #expect(try shaper.shape(request).width > broken.width + 20)
  }

  /// Sizes are in pixels, and the density of a screen makes letters larger, not coarser.
  @Test func lettersHaveTheirSizeAtEveryDensity() throws {
    let feature = [Self.point("H", SIMD2(10, 46))]
    let style = #"[{"type": "symbol", "layout": {"text-field": "{name}", "text-size": 40}}]"#
    func height(_ density: Int) throws -> Double {
      let set = try TileMatrixSet.webMercatorQuad.withPixels(times: density)
      let box = try #require(
        try labels(try map(feature, style, matrixSet: set, density: Double(density)), zoom: 8).first)
      return box.glyphs[0].outlines[0].box.map { $0.high.y - $0.low.y } ?? 0
    }
    // A capital is about 0.7 em high.
    let one = try height(1)
    #expect((26...31).contains(one))
    #expect(abs(try height(2) / one - 2) < 0.01)
  }

  @Test func fontsAndIconsThatAreMissingAreNamed() throws {
    let feature = [Self.point("x", SIMD2(10, 46))]
    let font = #"[{"type": "symbol", "layout": {"text-field": "{name}", "text-font": ["Nowhere Grotesk Bold"]}}]"#
    let fontError = #expect(throws: DrawingError.self) { try map(feature, font).drawing(zoom: 5) }
    #expect(fontError?.description.contains("Nowhere Grotesk Bold") == true)
    let icon = #"[{"type": "symbol", "layout": {"icon-image": "unicorn"}}]"#
    let iconError = #expect(throws: DrawingError.self) { try map(feature, icon).drawing(zoom: 5) }
    #expect(iconError?.description.contains("\"unicorn\"") == true)
    #expect(iconError?.description.contains("campground") == true)
  }

  /// The pixels of a colour on the tile around an icon.
  private func pixels(
    of colour: RGBA, icon: IconFile, size: Double, zoom: Int = 9, density: Int = 1
  ) throws -> Int {
    let style = #"[{"type": "symbol", "layout": {"icon-image": "hut", "icon-size": \#(size)}}]"#
    let matrixSet = try TileMatrixSet.webMercatorQuad.withPixels(times: density)
    let map = try VectorMap(
      [VectorMap.Layer(.features([Self.point("x", SIMD2(10, 46))]), rules: rules(style), images: ["hut": icon])],
      matrixSet: matrixSet, density: Double(density))
    let place = matrixSet.tileCoordinates(longitude: 10, latitude: 46, zoom: zoom)
    let pixels = try #require(
      try TilePainter(map, insideOnly: false).painted(nil, TileID(unchecked: zoom, Int(place.x), Int(place.y))))
    let wanted = SIMD4(colour.red, colour.green, colour.blue, 255)
    return (0..<(pixels.width * pixels.height)).count {
      pixels.bytes.load(fromByteOffset: $0 * 4, as: SIMD4<UInt8>.self) == wanted
    }
  }

  /// Sharp, whether their edges are even or odd.
  @Test(arguments: [(10, 6), (15, 15), (7, 12)]) func picturesAreIcons(_ width: Int, _ height: Int) throws {
    let red = RGBA(red: 200, green: 10, blue: 30)
    let picture = PixelBuffer(width: width, height: height)
    picture.fill(red)
    #expect(try pixels(of: red, icon: .picture(IconPicture(picture)), size: 1) == width * height)
    #expect(try pixels(of: red, icon: .picture(IconPicture(picture)), size: 2) == 4 * width * height)
  }

  // MARK: - SVG

  private func drawing(_ svg: String) throws -> SVGDrawing { try SVGDrawing(Array(svg.utf8)) }

  /// A checkerboard of 8 x 8 squares: enlarging a picture of it would blur the edges.
  @Test(arguments: [1, 2], [0.5, 1.0, 3.0]) func drawingsAreSharpAtEveryDensity(_ density: Int, size: Double) throws {
    let squares = (0..<64).filter { ($0 / 8 + $0) % 2 == 0 }.map { i in
      "<rect x='\(i % 8 * 2)' y='\(i / 8 * 2)' width='2' height='2'/>"
    }
    let svg =
      "<svg xmlns='http://www.w3.org/2000/svg' viewBox='0 0 16 16' fill='#c80a1e' SIZE>\(squares.joined())</svg>"
    let red = RGBA(red: 200, green: 10, blue: 30)
    let edge = Double(density) * size * 16
    for attributes in ["", "width='16' height='16'"] {
      let icon = try drawing(svg.replacing("SIZE", with: attributes))
      #expect(
        try pixels(of: red, icon: .drawing(icon), size: size, density: density) == Int(edge * edge / 2), "\(attributes)"
      )
    }
  }

  /// As browsers do: 96 pixels are an inch.
  @Test(arguments: ["0.5in", "36pt", "12.7mm", "1.27cm", "3pc"]) func lengthsOfPaperAreOfBrowsers(_ edge: String) throws
  {
    let icon = try drawing(
      """
      <svg xmlns='http://www.w3.org/2000/svg' width='\(edge)' height='\(edge)' viewBox='0 0 9 9'>
      <rect width='9' height='9' fill='#c80a1e'/></svg>
      """)
    let count = try pixels(of: RGBA(red: 200, green: 10, blue: 30), icon: .drawing(icon), size: 1)
    // At an edge that is not whole pixels are lighter.
    #expect((46 * 46...48 * 48).contains(count), "\(count)")
  }

  @Test(arguments: [
    "<svg xmlns='http://www.w3.org/2000/svg'><rect width='9' height='9'/></svg>",
    "<svg xmlns='http://www.w3.org/2000/svg' width='9999' height='9999'/>", "<svg", "<html/>",
  ])
  func drawingsThatCannotBeDrawnAreRefused(_ svg: String) throws {
    let error = #expect(throws: DrawingError.self) { try drawing(svg) }
    #expect(error?.isOfStyle == true)
  }

  /// Files beside the map stay unread.
  @Test func drawingsNameNoOtherFiles() throws {
    let picture = PixelBuffer(width: 16, height: 16)
    picture.fill(RGBA(red: 200, green: 10, blue: 30))
    let other = try folder.write("other.png", bytes: TileEncoder(.png(PNGOptions())).encode(picture))
    let icon = try drawing(
      """
      <svg xmlns='http://www.w3.org/2000/svg' width='16' height='16'>
      <image href='file://\(other)' width='16' height='16'/><rect width='4' height='4' fill='#c80a1e'/></svg>
      """)
    #expect(try pixels(of: RGBA(red: 200, green: 10, blue: 30), icon: .drawing(icon), size: 1) == 16)
  }

  // MARK: - Graticules

  @Test(arguments: [TileMatrixSet.webMercatorQuad, .worldCRS84Quad, .degrees])
  func graticulesSuitEachZoom(_ matrixSet: TileMatrixSet) throws {
    for zoom in matrixSet.zooms.prefix(12) {
      let box: @Sendable (Int) -> PixelBox = { zoom in
        let matrix = matrixSet[zoom]
        return PixelBox(
          low: matrix.pixelCoordinates(of: matrixSet.point(longitude: 6, latitude: 48)),
          high: matrix.pixelCoordinates(of: matrixSet.point(longitude: 11, latitude: 45.5)))
      }
      let features = Graticule().features(
        matrixSet, zoom: zoom, density: 1, LabelFrame(box: box) { box($0).contains($1) })
      let lines = features.filter { $0.kind == .line }
      #expect(features.count == 3 * lines.count && lines.count <= 400)
      let meridians = lines.filter { $0.properties["axis"] == .string("longitude") }
      let width = box(zoom).high.x - box(zoom).low.x
      if meridians.count > 1 { #expect(width / Double(meridians.count - 1) > 170) }
      if width > 1000 { #expect(width / Double(max(meridians.count, 1)) < 1000) }
    }
  }

  /// In other CRSs lines are curves that leave the map on any side; circles around a pole never do.
  @Test(arguments: [SphereCRS.europe, .polar, .pacific]) func graticulesAreCurvesInOtherCRSs(crs: SphereCRS) throws {
    let set = try crs.matrixSet()
    let frame = LabelFrame(set)
    let box = frame.box(3)
    let features = Graticule(interval: 10).features(set, zoom: 3, density: 1, frame)
    func pixel(_ place: SIMD2<Double>) -> SIMD2<Double> {
      set[3].pixelCoordinates(of: set.point(longitude: place.x, latitude: place.y))
    }
    var (meridians, parallels, ends) = (0, 0, 0)
    for feature in features {
      switch feature.geometry {
      case .lines(let lines):
        if feature.properties["axis"] == .string("longitude") { meridians += 1 } else { parallels += 1 }
        for place in lines[0] { #expect(box.expanded(by: 0.01).contains(pixel(place))) }
      case .points(let points):
        ends += 1
        let at = pixel(points[0])
        let away = ["top": at.y, "bottom": box.high.y - at.y, "left": at.x, "right": box.high.x - at.x]
        let edge = try #require(feature.properties["edge"]?.string)
        #expect(abs(away[edge]!) < 0.01, "\(edge) \(at)")
      default: Issue.record("\(feature)")
      }
    }
    #expect(meridians > 0 && parallels > 3 && ends >= meridians)
    if crs == .polar { #expect(meridians == 36) }
  }

  @Test func graticuleLabelsAreDegreesMinutesAndSeconds() {
    func texts(_ interval: Double, _ west: Double, _ north: Double, _ side: Double) -> Set<String> {
      let set = TileMatrixSet.worldCRS84Quad
      let box: @Sendable (Int) -> PixelBox = { zoom in
        PixelBox(
          low: set[zoom].pixelCoordinates(of: SIMD2(west, north)),
          high: set[zoom].pixelCoordinates(of: SIMD2(west + side, north - side)))
      }
      let features = Graticule(interval: interval).features(
        set, zoom: 12, density: 1, LabelFrame(box: box) { _, _ in true })
      return Set(features.compactMap { $0.properties["label"]?.string })
    }
    #expect(texts(0.5, -105.6, 40.6, 0.7) == ["105°30′W", "105°W", "40°30′N", "40°N"])
    #expect(texts(10.0 / 3600, 7.9999, 0.0001, 0.003) == ["8°E", "8°00′10″E", "0°", "0°00′10″S"])
    #expect(texts(10, -4, 4, 9) == ["0°"])
  }
}
