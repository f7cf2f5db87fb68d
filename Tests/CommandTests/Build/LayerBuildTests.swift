import Foundation
import TestSupport
import Testing

/// Manifests with layers, through the built command.
@Suite("Layers of a manifest", .ownThread)
struct LayerBuildTests {
  private static let trip =
    "<gpx><trk><trkseg><trkpt lat='44' lon='13'/><trkpt lat='46' lon='17'/></trkseg></trk></gpx>"

  /// A region with a picture and a track, and one with the relief of the picture's grey.
  private func catalog(
    style: String = #"[{"type": "line", "paint": {"line-width": 2}}]"#, lastZoom: Int = 2
  ) throws -> BuiltCatalog {
    let catalog = try BuiltCatalog()
    try catalog.folder.write("trip.gpx", Self.trip)
    try catalog.folder.write("ramp.txt", "0 0 80 0\n255 255 255 255\n")
    let picture = #"{"type": "raster", "sources": ["placed.png"]}"#
    try catalog.write(
      [
        BuiltCatalog.region(
          "lines", #", "layers": [\#(picture), {"type": "vector", "data": "trip.gpx", "style": \#(style)}]"#),
        BuiltCatalog.region(
          "relief",
          #", "layers": [{"type": "relief", "dem": ["placed.png"], "exaggeration": 1000, "tint": "ramp.txt"}]"#),
      ].joined(separator: ","), defaults: #""edition": "1", "zoom": [0, \#(lastZoom)]"#)
    return catalog
  }

  @Test("A region is built again when its lines, its style or its colours change")
  func changes() throws {
    let catalog = try catalog()
    let first = try catalog.build()
    #expect(first.status == 0 && first.stdout.contains("2 regions, 2 made"), "\(first)")
    try catalog.expectConsistent()
    #expect(try catalog.build().stdout.contains("0 made, 2 unchanged"))
    try catalog.folder.write("trip.gpx", Self.trip.replacing("46", with: "45"))
    let lines = try catalog.build()
    #expect(lines.stderr.contains("lines 1: built") && lines.stdout.contains("1 made, 1 unchanged"), "\(lines)")
    try catalog.folder.write("ramp.txt", "0 0 90 0\n255 255 255 255\n")
    let colours = try catalog.build()
    #expect(colours.stderr.contains("relief 1: built") && colours.stdout.contains("1 made, 1 unchanged"), "\(colours)")
  }

  /// Fonts in a folder of the test's own; those of the system are not found.
  private struct Fonts {
    let folder: TemporaryFolder
    var environment: [String: String] { ["FONTCONFIG_FILE": folder.file("fonts.conf")] }

    init(_ folder: TemporaryFolder) throws {
      self.folder = folder
      try FileManager.default.createDirectory(atPath: folder.file("fonts"), withIntermediateDirectories: false)
      try folder.write(
        "fonts.conf",
        "<fontconfig><dir>\(folder.file("fonts"))</dir><cachedir>\(folder.file("cache"))</cachedir></fontconfig>")
    }

    /// Copies a font of the system, with some bytes at its end that no letter uses.
    func install(_ name: String, adding bytes: [UInt8] = []) throws {
      let font = try #require(Command(installed: "fc-match")).run(["-f", "%{file}", name]).stdout
      try folder.write("fonts/\(name).ttf", bytes: Array(Data(contentsOf: URL(fileURLWithPath: font))) + bytes)
    }
  }

  private static let labels = #"""
    [{"type": "symbol", "layout": {"text-field": "Weg", "text-font": ["Open Sans Regular", "DejaVu Sans"]}}]
    """#

  @Test("A region is built again with another font, which may be found before the one that it has, and says why")
  func fonts() throws {
    // A label is drawn where it is within the map.
    let catalog = try catalog(style: Self.labels, lastZoom: 5)
    try catalog.folder.write("trip.gpx", "<gpx><wpt lat='45' lon='15'/></gpx>")
    let fonts = try Fonts(catalog.folder)
    func build(_ options: String...) throws -> CommandRun {
      let run = try catalog.build(options, environment: fonts.environment)
      #expect(run.status == 0, "\(run)")
      return run
    }
    try fonts.install("DejaVu Sans")
    let first = try build()
    #expect(first.stdout.contains("2 made") && !first.stderr.contains("("), "\(first)")
    #expect(try build().stdout.contains("0 made, 2 unchanged"))
    let plain = try catalog.contents()
    // One that no letter is taken from.
    try fonts.install("DejaVu Serif")
    for _ in 0..<2 { #expect(try build().stdout.contains("0 made, 2 unchanged")) }
    for bytes in [[], [0]] as [[UInt8]] {
      try fonts.install("Open Sans", adding: bytes)
      let why = "(it was made with another font Open Sans, "
      #expect(try build("--dry-run").stdoutLines.first { $0.hasPrefix("lines 1: built") }?.contains(why) == true)
      let run = try build()
      #expect(run.stderr.contains(why) && run.stdout.contains("1 made, 1 unchanged"), "\(run)")
      #expect(try catalog.contents() != plain)
      #expect(try build().stdout.contains("0 made, 2 unchanged"))
    }
    // As from an empty folder.
    let made = try catalog.contents()
    try FileManager.default.removeItem(atPath: catalog.output)
    _ = try build()
    #expect(try catalog.contents() == made)
  }

  @Test("A machine with other fonts makes no region of a plan, and publishes what others made")
  func fontsOfAPlan() throws {
    let catalog = try catalog(style: Self.labels)
    try catalog.folder.write("trip.gpx", "<gpx><wpt lat='45' lon='15'/></gpx>")
    let fonts = try Fonts(catalog.folder)
    try fonts.install("DejaVu Sans")
    let plan = catalog.folder.file("plan.json")
    #expect(try tilecut("plan", catalog.manifest, "--catalogue", catalog.output, "-o", plan).status == 0)
    func build(_ words: String..., environment: [String: String] = [:]) throws -> CommandRun {
      try Command(built: "tilecut").run(["build", "--plan", plan] + words, environment: environment)
    }
    let number = try tilecut("build", "--plan", plan, "--shard", "0").stdout.contains("lines") ? 0 : 1
    #expect(try build("--shard", "1").status == 0)
    try FileManager.default.removeItem(atPath: catalog.path(".tilecut/records/lines.json"))
    expectRefusal(
      try build("--shard", "\(number)", environment: fonts.environment), status: 65, naming: "another font ")
    #expect(try build("--shard", "\(number)").status == 0)
    let published = try build(environment: fonts.environment)
    #expect(published.status == 0 && published.stdout.contains("0 made, 2 unchanged"), "\(published)")
  }

  @Test("A region whose record is of an earlier build is made once more, and says why")
  func earlierRecords() throws {
    let catalog = try catalog()
    #expect(try catalog.build().status == 0)
    for id in ["lines", "relief"] {
      let path = ".tilecut/records/\(id).json"
      var record = try #require(
        try JSONSerialization.jsonObject(with: Data(contentsOf: URL(fileURLWithPath: catalog.path(path))))
          as? [String: Any])
      record["cut"] = nil
      var bundle = try #require(record["bundle"] as? [String: Any])
      bundle["fingerprint"] = String(repeating: "0", count: 64)
      record["bundle"] = bundle
      try catalog.folder.write("dist/\(path)", bytes: Array(JSONSerialization.data(withJSONObject: record)))
    }
    let run = try catalog.build()
    #expect(run.stdout.contains("2 made, 0 unchanged"), "\(run)")
    #expect(run.stderr.contains("(earlier builds did not note fonts and libraries)"), "\(run)")
    #expect(try catalog.build().stdout.contains("0 made, 2 unchanged"))
  }

  @Test("Regions with labels that were made one by one are those of a whole build")
  func shards() throws {
    let style = #"""
      [{"type": "line"}, {"type": "symbol", "layout": {"icon-image": "peak", "icon-size": 0.5}}]
      """#
    let (whole, parts) = (try catalog(style: style), try catalog(style: style))
    #expect(try whole.build().status == 0)
    let plan = parts.folder.file("plan.json")
    let planned = try tilecut("plan", parts.manifest, "--catalogue", parts.output, "-o", plan)
    #expect(planned.status == 0, "\(planned)")
    for number in [1, 0] { #expect(try tilecut("build", "--plan", plan, "--shard", "\(number)").status == 0) }
    let published = try tilecut("build", "--plan", plan)
    #expect(published.stdout.contains("0 made, 2 unchanged"), "\(published)")
    #expect(try parts.contents() == whole.contents())
    // The label is there.
    let lines = try catalog(style: #"[{"type": "line"}]"#)
    #expect(try lines.build().status == 0)
    #expect(try lines.contents() != whole.contents())
  }

  @Test(
    "Malformed files end with the code of bad input, and leave nothing",
    arguments: [
      ("<gpx><trk></gpx>", "trip.gpx: is not well-formed XML"), (#"{"type": "Feature"}"#, "0 regions"),
      ("{", "trip.gpx: is not valid JSON"),
    ])
  func malformed(_ text: String, message: String) throws {
    let catalog = try catalog()
    try catalog.folder.write("trip.gpx", text)
    let run = try catalog.build("--region", "lines")
    // A feature without a geometry is none, and no error.
    guard message != "0 regions" else {
      #expect(run.status == 0, "\(run)")
      return
    }
    #expect(run.status == 65 && run.stderr.contains(message), "\(run)")
    #expect(catalog.names.isEmpty)
  }

  @Test("A style with what is not supported is refused before anything is cut")
  func unsupported() throws {
    let catalog = try catalog(style: #"[{"type": "heatmap"}]"#)
    let run = try catalog.build()
    #expect(
      run.status == 65 && run.stderr.contains(#"regions[0].layers[1].style[0].type is a type of layer"#), "\(run)")
  }

  @Test("Lines are not appended")
  func append() throws {
    let catalog = try catalog()
    let tilecut = try Command(built: "tilecut")
    let bundle = catalog.folder.file("base.mbtiles")
    let base = try tilecut.run(["cut", catalog.folder.file("placed.png"), "--zoom", "0-2", "-o", bundle])
    #expect(base.status == 0, "\(base)")
    try catalog.folder.write(
      "one.json",
      #"""
      {"regions": [{"id": "a", "title": "A", "category": "c", "layers": [{"type": "raster", "sources": ["placed.png"]},
      {"type": "vector", "data": "trip.gpx", "style": [{"type": "line"}]}]}]}
      """#)
    let run = try tilecut.run(["cut", catalog.folder.file("one.json"), "--append", bundle])
    #expect(run.status == 64 && run.stderr.contains("vector"), "\(run)")
  }
}
