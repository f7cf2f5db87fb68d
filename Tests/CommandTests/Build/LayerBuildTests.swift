import TestSupport
import Testing

/// Manifests with layers, through the built command.
@Suite("Layers of a manifest", .ownThread)
struct LayerBuildTests {
  private static let trip =
    "<gpx><trk><trkseg><trkpt lat='44' lon='13'/><trkpt lat='46' lon='17'/></trkseg></trk></gpx>"

  /// A region with a picture and a track, and one with the relief of the picture's grey.
  private func catalog(style: String = #"[{"type": "line", "paint": {"line-width": 2}}]"#) throws -> BuiltCatalog {
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
      ].joined(separator: ","), defaults: #""edition": "1", "zoom": [0, 2]"#)
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
