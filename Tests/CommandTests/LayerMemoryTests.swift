import TestSupport
import Testing

/// Layers count for `--memory`: what they read and draw takes the place of decoded blocks, or is refused.
@Suite(.ownThread) struct LayerMemoryTests {
  let folder: TemporaryFolder
  init() throws { folder = try TemporaryFolder() }

  private static let sample = ProjectFiles.path("sample-regions/jacksboro-fault")
  private static let lines = #"""
    {"type": "line", "layout": {"line-join": "round"}, "paint": {"line-color": "#ffffff", "line-width": 4}},
    {"type": "line", "paint": {"line-color": ["match", ["get", "class"], "path", "#a02020", "#3060c0"]}}
    """#
  private static let labels = #"""
    {"type": "symbol", "layout": {"symbol-placement": "line", "text-field": "{name}", "text-size": 11}}
    """#

  /// Lines that wander over the model, each with a name and with properties that the style does not use.
  private func writeLines(_ name: String, count: Int, points: Int) throws {
    var random = SeededGenerator(seed: 7)
    var text = #"{"type": "FeatureCollection", "features": ["#
    for number in 0..<count {
      var x = Double.random(in: -84.4 ... -84.1, using: &random)
      var y = Double.random(in: 36.46...36.72, using: &random)
      let places = (0..<points).map { _ in
        x += Double.random(in: -0.001...0.001, using: &random)
        y += Double.random(in: -0.001...0.001, using: &random)
        return "[\((x * 1e6).rounded() / 1e6),\((y * 1e6).rounded() / 1e6)]"
      }
      text += number > 0 ? ",\n" : "\n"
      let unused = String(repeating: "unused ", count: 3)
      text += ##"{"type": "Feature", "properties": {"name": "Trail \##(number)", "class": "path", "##
      text += ##""note": "\##(unused)"}, "geometry": {"type": "LineString", "coordinates": "##
      text += "[\(places.joined(separator: ","))]}}"
    }
    try folder.write(name, text + "]}")
  }

  private func manifest(
    zoom: ClosedRange<Int>, style: String = LayerMemoryTests.lines, _ more: String = ""
  ) throws -> String {
    try folder.write(
      "region.json",
      ##"""
      {"regions": [{"id": "a", "title": "A", "category": "c", "zoom": [\##(zoom.lowerBound), \##(zoom.upperBound)],
        "format": "jpeg", "layers": [
        {"type": "relief", "dem": ["\##(Self.sample)/jacksboro-fault-dem.tif"], "shading": "multidirectional",
          "tint": [[230, "#a9c39a"], [600, "#e3cfa0"], [1050, "#efe6da"]]} \##(more),
        {"type": "vector", "data": "lines.geojson", "style": [\##(style)]}]}]}
      """##)
  }

  private func cut(_ manifest: String, memory: String) throws -> CommandRun {
    try tilecut(
      "cut", manifest, "-o", folder.file("map.mbtiles"), "--memory", memory, "--threads", "2", "--force", timeout: 300)
  }

  @Test func reliefContoursLinesAndLabelsStayWithinTheBudget() throws {
    try writeLines("lines.geojson", count: 150, points: 41)
    let contours = #", {"type": "contours", "dem": ["\#(Self.sample)/jacksboro-fault-dem.tif"], "interval": 100}"#
    let style = "\(Self.lines), \(Self.labels)"
    let run = try cut(try manifest(zoom: 9...12, style: style, contours), memory: "64MB")
    #expect(run.status == 0, "\(run)")
    #expect(run.peakBytes > 0 && run.peakBytes < 128_000_000, "\(run)")
  }

  /// Lines that take more than half of the memory are refused before anything is cut. The error says with how much they
  /// are drawn, and they are.
  @Test func layersThatAreTooLargeNameTheMemoryTheyNeed() throws {
    try writeLines("lines.geojson", count: 24_000, points: 3)
    let manifest = try manifest(zoom: 10...11)
    let refused = try cut(manifest, memory: "40MB")
    expectRefusal(refused, status: 64, naming: "the layers take", "drawn at zooms 10 to 11", "give --memory ")
    #expect(refused.peakBytes < 104_000_000, "\(refused)")
    #expect(!folder.names.contains { $0.contains("mbtiles") }, "\(folder.names)")
    let match = try #require(refused.stderr.firstMatch(of: /give --memory (\d+)MB/), "\(refused)")
    let megabytes = try #require(Int(match.1))
    let drawn = try cut(manifest, memory: "\(megabytes)MB")
    #expect(drawn.status == 0, "\(drawn)")
    #expect(drawn.peakBytes < (megabytes + 64) * 1_000_000, "\(drawn)")
  }

  /// A file whose features alone are too large is named; it is never in memory as a whole. The memory that the error
  /// names suffices for what is drawn of them, too.
  @Test func filesThatAreTooLargeAreNamed() throws {
    try writeLines("lines.geojson", count: 56_000, points: 3)
    let run = try cut(try manifest(zoom: 9...9), memory: "32MB")
    expectRefusal(run, status: 64, naming: "lines.geojson: the layers take", "drawn at zooms 9 to 9", "give --memory ")
    #expect(run.peakBytes < 96_000_000, "\(run)")
  }
}
