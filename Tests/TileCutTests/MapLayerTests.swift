import TestSupport
import Testing

@testable import RegionCatalog
@testable import TileCut

/// Layers of manifests: what they become, and what is wrong with them.
@Suite(.ownThread)
struct MapLayerTests {
  let folder: TemporaryFolder
  init() throws { folder = try TemporaryFolder() }

  private func manifest(_ settings: String, defaults: String = "{}") throws -> String {
    try folder.write(
      "regions.json",
      #"{"defaults": \#(defaults), "regions": [{"id": "a", "title": "A", "category": "c", \#(settings)}]}"#)
  }

  @Test func layersBecomeSourcesInDrawingOrder() throws {
    try folder.write("ramp.txt", "0 0 100 0\n1000 255 255 255\n")
    let path = try manifest(
      #"""
      "layers": [
        {"type": "relief", "dem": ["west.tif", {"file": "east.tif", "nodata": [0]}], "tint": "ramp.txt"},
        {"type": "raster", "sources": ["cover.tif"]},
        {"type": "relief", "dem": ["dem.tif"], "shading": "multidirectional", "altitude": 60, "overlay": true,
          "strength": 0.5, "exaggeration": 1.5, "shadowColor": "#204080"}
      ]
      """#)
    let settings = try RegionManifest(path: path).regions[0].settings.cut
    #expect(settings.sources == ["west.tif", "east.tif", "cover.tif", "dem.tif"])
    let tinted = try #require(settings.sourceSettings[0]?.relief)
    #expect(tinted.tint?.stops.map(\.rgba) == [0xff00_6400, 0xffff_ffff] && tinted.shading == .hillshade)
    #expect(settings.sourceSettings[1]?.relief == tinted && settings.sourceSettings[1]?.nodata == [0])
    #expect(settings.sourceSettings[2] == nil)
    let overlay = try #require(settings.sourceSettings[3]?.relief)
    #expect(overlay.shading == .multidirectional && overlay.isOverlay && overlay.altitude == 60)
    #expect(overlay.strength == 0.5 && overlay.exaggeration == 1.5 && overlay.tint == nil)
    #expect(overlay.shadowColour == MapColour("#204080") && overlay.highlightColour == .white)
  }

  @Test func contoursHaveAnIntervalAndAStyleOfTheirOwn() throws {
    let path = try manifest(
      #"""
      "layers": [{"type": "relief", "dem": ["dem.tif"]}, {"type": "contours", "dem": ["dem.tif"], "interval": 20},
        {"type": "contours", "dem": ["a.tif"], "interval": 100, "indexEvery": 2, "style": [{"type": "line"}]}]
      """#)
    let drawing = try RegionManifest(path: path).regions[0].settings.cut.drawing
    #expect(drawing[0].data == .contours(VectorLayer.Contours(models: ["dem.tif"], interval: 20)))
    #expect(drawing.map(\.rules.count) == [3, 1] && drawing[1].files == ["a.tif"])
  }

  @Test func sourcesOfARegionReplaceTheLayersOfTheDefaults() throws {
    let path = try manifest(
      #""sources": ["own.tif"]"#, defaults: #"{"layers": [{"type": "relief", "dem": ["dem.tif"]}]}"#)
    let settings = try RegionManifest(path: path).regions[0].settings.cut
    #expect(settings.sources == ["own.tif"] && settings.sourceSettings.isEmpty)
  }

  /// Styles of others name their source in each layer.
  @Test func wholeStylesMayNameOneSource() throws {
    try folder.write(
      "style.json",
      #"""
      {"version": 8, "sources": {"trails": {"type": "geojson", "data": "x"}}, "layers": [
        {"id": "a", "type": "line", "source": "trails"}, {"id": "b", "type": "symbol", "source": "trails"}]}
      """#)
    let path = try manifest(
      #"""
      "layers": [{"type": "raster", "sources": ["x"]}, {"type": "vector", "data": "x", "style": "style.json"}]
      """#)
    #expect(try RegionManifest(path: path).regions[0].settings.cut.drawing[0].rules.count == 2)
  }

  static let faults = [
    (
      #""layers": [{"type": "vector", "data": "x", "style": [{"type": "line", "source": "a"}, "#
        + #"{"type": "line", "source": "b"}]}]"#,
      #"style[1].source is "b", but layers before have "a""#
    ),
    (#""layers": []"#, "layers is empty"),
    (#""layers": 5"#, "layers is a number, not an array"),
    (#""layers": ["x"]"#, "layers[0] says no type of layer"),
    (#""layers": [{"dem": ["x"]}]"#, "layers[0].type says no type of layer"),
    (#""layers": [{"type": "releif", "dem": ["x"]}]"#, #"did you mean "relief"?"#),
    (#""layers": [{"type": "relief"}]"#, "layers[0].dem is missing"),
    (#""layers": [{"type": "raster"}]"#, "layers[0].sources is missing"),
    (#""layers": [{"type": "contours", "dem": ["x"]}]"#, "layers[0].interval is missing"),
    (#""layers": [{"type": "contours", "interval": 20}]"#, "layers[0].dem is missing"),
    (#""layers": [{"type": "contours", "dem": ["x"], "interval": 0}]"#, "layers[0].interval is out of range"),
    (#""layers": [{"type": "graticule", "interval": 120}]"#, "layers[0].interval is out of range"),
    (#""layers": [{"type": "graticule", "images": {"hut": 5}}]"#, "layers[0].images does not name files"),
    (#""layers": [{"type": "graticule", "dem": ["x"]}]"#, "layers[0].dem is no key"),
    (#""layers": [{"type": "vector", "data": "x", "style": [{"type": "heatmap"}]}]"#, #"not supported: "heatmap""#),
    (
      #""layers": [{"type": "vector", "data": "x", "#
        + #""style": [{"type": "symbol", "layout": {"text-writing-mode": 1}}]}]"#,
      "style[0].layout.text-writing-mode is a property that is not supported for symbol"
    ),
    (
      #""layers": [{"type": "vector", "data": "x", "style": [{"type": "symbol", "layout": {"text-feild": "x"}}]}]"#,
      #"did you mean "text-field"?"#
    ),
    (
      #""layers": [{"type": "vector", "data": "x", "style": [{"type": "symbol", "layout": {"text-anchor": "up"}}]}]"#,
      "style[0].layout.text-anchor is not center or left"
    ),
    (
      #""layers": [{"type": "vector", "data": "x", "style": [{"type": "symbol", "layout": {"text-offset": [1]}}]}]"#,
      "style[0].layout.text-offset is no list of two numbers"
    ),
    (#""layers": [{"type": "raster", "sources": ["x"], "dem": ["y"]}]"#, "layers[0].dem is no key"),
    (#""sources": ["x"], "layers": [{"type": "raster", "sources": ["x"]}]"#, "both say what is drawn"),
    (#""layers": [{"type": "relief", "dem": ["x"], "shading": "phong"}]"#, "layers[0].shading is not one of"),
    (#""layers": [{"type": "relief", "dem": ["x"], "azimuth": 400}]"#, "layers[0].azimuth is out of range"),
    (#""layers": [{"type": "relief", "dem": ["x"], "altitude": 0}]"#, "layers[0].altitude is out of range"),
    (#""layers": [{"type": "relief", "dem": ["x"], "shading": "none"}]"#, "leaves nothing to draw"),
    (#""layers": [{"type": "relief", "dem": ["x"], "shading": "slope", "azimuth": 1}]"#, "azimuth means nothing"),
    (#""layers": [{"type": "relief", "dem": ["x"], "tintBy": "slope"}]"#, "tintBy means nothing without tint"),
    (#""layers": [{"type": "relief", "dem": ["x"], "tint": [[0, "red"]], "overlay": true}]"#, "draws no colours"),
    (#""layers": [{"type": "relief", "dem": ["x"], "shadowColor": "navy"}]"#, "means nothing for a grey relief"),
    (
      #""layers": [{"type": "relief", "dem": ["x"], "overlay": true, "highlightColor": "rgba(1, 2, 3, 0.5)"}]"#,
      "highlightColor is no opaque colour"
    ),
    (#""layers": [{"type": "relief", "dem": ["x"], "tint": [[0, "reddish"]]}]"#, "tint[0] is not a value and a colour"),
    (#""layers": [{"type": "relief", "dem": ["x"], "tint": "missing.txt"}]"#, "which cannot be read"),
    (#""layers": [{"type": "relief", "dem": ["x"], "tint": "bad.txt"}]"#, "bad.txt: line 2 has no colour"),
    (#""layers": [{"type": "relief", "dem": ["x"], "tint": "share.txt"}]"#, "a share of the values"),
  ]

  @Test(arguments: faults)
  func faultsNameTheirPlace(_ settings: String, message: String) throws {
    try folder.write("bad.txt", "0 1 2 3\n10 1 2 300\n")
    try folder.write("share.txt", "50% 1 2 3\n")
    let path = try manifest(settings)
    let error = #expect(throws: ManifestError.self) { try RegionManifest(path: path) }
    #expect(error?.description.contains(message) == true, "\(error?.description ?? "")")
  }

  static let colours: [(String, MapColour?)] = [
    ("#abc", MapColour(red: 0xaa, green: 0xbb, blue: 0xcc)),
    ("#11223380", MapColour(red: 17, green: 34, blue: 51, alpha: 128)),
    ("rgb(255, 128, 0)", MapColour(red: 255, green: 128, blue: 0)),
    ("rgba(100%,0,0,0.5)", MapColour(red: 255, green: 0, blue: 0, alpha: 128)),
    ("hsl(120, 100%, 25%)", MapColour(red: 0, green: 128, blue: 0)), ("Navy", MapColour(red: 0, green: 0, blue: 128)),
    ("transparent", MapColour(red: 0, green: 0, blue: 0, alpha: 0)), ("#12", nil), ("rgb(1,2)", nil), ("blau", nil),
    ("lab(1,2,3)", nil), ("SteelBlue", MapColour(red: 0x46, green: 0x82, blue: 0xb4)),
    ("rebeccapurple", MapColour(red: 0x66, green: 0x33, blue: 0x99)),
    ("lightgoldenrodyellow", MapColour(red: 0xfa, green: 0xfa, blue: 0xd2)),
  ]

  @Test(arguments: colours)
  func coloursAreThoseOfCSS(_ text: String, colour: MapColour?) { #expect(MapColour(text) == colour) }

  @Test func allNamesOfCSSAreKnown() {
    // 148, and transparent.
    #expect(MapColour.named.count == 149)
  }

  @Test func vectorLayersOfAManifest() throws {
    try folder.write(
      "style.json", #"{"version": 8, "layers": [{"type": "fill"}, {"type": "line", "paint": {"line-blur": 1}}]}"#)
    func path(_ layers: String) throws -> String { try manifest(#""layers": [\#(layers)]"#) }
    let raster = #"{"type": "raster", "sources": ["x"]}"#
    let lines = #"{"type": "vector", "data": "t.gpx", "style": [{"type": "line"}]}"#
    let settings = try RegionManifest(path: try path("\(raster), \(lines)")).regions[0].settings.cut
    #expect(settings.drawing.map(\.files) == [["t.gpx"]] && settings.drawing[0].rules[0].kind == .line)
    let cases = [
      (lines, "have no layer of type"), ("\(raster), \(lines), \(raster)", "list layers of type"),
      (
        #"\#(raster), {"type": "vector", "data": "t.gpx", "style": "style.json"}"#,
        "style.json: layers[1].paint.line-blur"
      ),
      (#"\#(raster), {"type": "vector", "data": "t.gpx"}"#, "layers[1].style is missing"),
      (#"\#(raster), {"type": "vector", "style": [{"type": "line"}]}"#, "layers[1].data is missing"),
      (#"\#(raster), {"type": "vector", "data": "t.gpx", "style": [{"type": "raster"}]}"#, "style[0].type is a type"),
    ]
    for (layers, message) in cases {
      let error = #expect(throws: ManifestError.self) { try RegionManifest(path: try path(layers)) }
      #expect(error?.description.contains(message) == true, "\(error?.description ?? "")")
    }
  }
}
