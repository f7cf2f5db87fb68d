import Foundation
import TestSupport
import Testing
import TileImage

/// Options of `tilecut cut` that name sources and areas.
@Suite(.ownThread) struct SourceOptionTests {
  let folder: TemporaryFolder
  let output: String

  init() throws {
    folder = try TemporaryFolder()
    output = folder.file("out.mbtiles")
    _ = try folder.writePlacedPicture()
  }

  private func geoJSON(_ name: String, _ ring: String, location: String? = nil) throws -> String {
    let properties = location.map { #"{"location": "\#($0)"}"# } ?? "{}"
    return try folder.write(
      name,
      #"""
      {"type": "FeatureCollection", "features": [{"type": "Feature", "properties": \#(properties), "geometry": \#
      {"type": "Polygon", "coordinates": [[\#(ring)]]}}]}
      """#
    )
  }

  /// Paths in lists and manifests count from the files themselves, also where links name these, as in VRTs.
  @Test func listsAndManifestsBehindLinksNameFilesBesideThem() throws {
    try folder.write("list.txt", "placed.png\n")
    try folder.write(
      "regions.json",
      #"{"regions": [{"id": "a", "title": "A", "category": "c", "sources": ["placed.png"], "zoom": [2, 3]}]}"#)
    try FileManager.default.createDirectory(atPath: folder.file("links"), withIntermediateDirectories: false)
    for name in ["list.txt", "regions.json"] {
      try FileManager.default.createSymbolicLink(
        atPath: folder.file("links/\(name)"), withDestinationPath: "../\(name)")
    }
    let listed = try tilecut("cut", "--src-list", "links/list.txt", "-o", "a.mbtiles", "--zoom", "2", in: folder.path)
    #expect(listed.status == 0, "\(listed)")
    let built = try tilecut("build", "links/regions.json", "-o", "shop", in: folder.path)
    #expect(built.status == 0, "\(built)")
  }

  private static let square = "[12, 42], [18, 42], [18, 48], [12, 48], [12, 42]"

  /// Lists of sources are relative to themselves; comments and empty lines do not count.
  @Test func listedSourcesAreCut() throws {
    _ = try folder.writePicture("more.png")
    try folder.write("more.pgw", "0.1\n0\n0\n-0.1\n20.05\n49.95\n")
    try folder.write("more.prj", "EPSG:4326")
    let list = try folder.write("list.txt", "# sheets\n\n  placed.png\nmore.png\n")
    let run = try tilecut("cut", "--src-list", list, "-o", output, "--zoom", "2-4", in: "/")
    #expect(run.status == 0, "\(run)")
    let bounds = try SQLiteFile.metadata(output)["bounds"]!.split(separator: ",").compactMap { Double($0) }
    #expect(abs(bounds[0] - 10) < 1e-6 && abs(bounds[2] - 26.4) < 1e-6)
    try expectValid(output)
  }

  @Test func aListMayBeginWithAByteOrderMark() throws {
    let list = try folder.write("list.txt", "\u{feff}placed.png\r\n")
    let run = try tilecut("cut", "--src-list", list, "-o", output, "--zoom", "0")
    #expect(run.status == 0, "\(run)")
  }

  @Test(arguments: [("", "names no source"), ("a\u{0}b", "no list"), ("# nothing\n", "names no source")])
  func uselessListsAreRefused(_ text: String, _ words: String) throws {
    let list = try folder.write("list.txt", text)
    expectRefusal(try tilecut("cut", "--src-list", list, "-o", output), status: 65, naming: list, words)
  }

  /// The bundle's bounds are those of the area, and tiles outside are not there.
  @Test func clippedMapsHaveTheBoundsOfTheArea() throws {
    let area = try geoJSON("area.geojson", Self.square)
    let run = try tilecut(
      "cut", folder.file("placed.png"), "-o", output, "--clip", area, "--zoom", "0-7")
    #expect(run.status == 0, "\(run)")
    let bounds = try SQLiteFile.metadata(output)["bounds"]!.split(separator: ",").compactMap { Double($0) }
    #expect(zip(bounds, [12, 42, 18, 48]).allSatisfy { abs($0 - $1) < 1e-6 })
    let tiles = try SQLiteFile.tiles(output)
    #expect(tiles == mercatorTiles(west: 12, south: 42, east: 18, north: 48, 0...7))
    try expectValid(output)
    let wider = try tilecut(
      "cut", folder.file("placed.png"), "-o", output, "--clip", area, "--buffer", "50000", "--zoom", "5", "--force")
    #expect(wider.status == 0, "\(wider)")
    let grown = try SQLiteFile.metadata(output)["bounds"]!.split(separator: ",").compactMap { Double($0) }
    #expect(abs(grown[1] - 41.55) < 0.01 && abs(grown[3] - 48.45) < 0.01 && grown[0] < 11.4 && grown[0] > 11.3)
  }

  @Test func wrongAreasAreRefused() throws {
    let placed = folder.file("placed.png")
    let far = try geoJSON("far.geojson", "[52, 42], [58, 42], [58, 48], [52, 42]")
    expectRefusal(try tilecut("cut", placed, "-o", output, "--clip", far), status: 64, naming: "no ground in common")
    let text = try folder.write("text.geojson", "{")
    expectRefusal(try tilecut("cut", placed, "-o", output, "--clip", text), status: 65, naming: text)
    let none = folder.file("none.geojson")
    expectRefusal(try tilecut("cut", placed, "-o", output, "--clip", none), status: 66, naming: none)
    let line = try folder.write("line.geojson", #"{"type": "Point", "coordinates": [1, 2]}"#)
    expectRefusal(try tilecut("cut", placed, "-o", output, "--clip", line), status: 65, naming: line, "Polygon")
    expectRefusal(try tilecut("cut", placed, "-o", output, "--buffer", "5"), status: 64, naming: "--clip")
    expectRefusal(
      try tilecut("cut", placed, "-o", output, "--clip", far, "--buffer", "-5"), status: 64, naming: "metres")
    expectRefusal(
      try tilecut("cut", placed, "-o", output, "--clip", far, "--buffer", "5e6"), status: 64, naming: "metres")
    let flat = try folder.writePicture("flat.png")
    expectRefusal(try tilecut("cut", flat, "-o", output, "--flat", "--clip", far), status: 64, naming: "flat")
  }

  /// A cutline names its source by its path, its file name, a property, or not at all if there is one.
  @Test func cutlinesFindTheirSources() throws {
    let placed = folder.file("placed.png")
    let plain = try geoJSON("plain.geojson", Self.square)
    let index = try geoJSON("index.geojson", Self.square, location: "elsewhere/../placed.png")
    let named = try geoJSON("named.geojson", Self.square, location: "placed.png")
    for cutline in ["\(placed)=\(plain)", "placed.png=\(plain)", plain, named] {
      let run = try tilecut("cut", placed, "-o", output, "--zoom", "3", "--cutline", cutline, "--force")
      #expect(run.status == 0, "\(cutline): \(run)")
      let bounds = try SQLiteFile.metadata(output)["bounds"]!.split(separator: ",").compactMap { Double($0) }
      #expect(bounds[0] > 11 && bounds[2] < 19, "\(bounds)")
    }
    expectRefusal(
      try tilecut("cut", placed, "-o", output, "--cutline", index, "--force"), status: 64, naming: index, "location")
    _ = try folder.writePlacedPicture("second.png")
    expectRefusal(
      try tilecut("cut", placed, folder.file("second.png"), "-o", output, "--cutline", plain, "--force"), status: 64,
      naming: plain, "does not say")
    let far = try geoJSON("far.geojson", "[52, 42], [58, 42], [58, 48], [52, 42]")
    expectRefusal(
      try tilecut("cut", placed, "-o", output, "--cutline", far, "--force"), status: 64, naming: placed, "cutline")
  }

  @Test func cropsTakePixelsOff() throws {
    let placed = folder.file("placed.png")
    for crop in ["placed.png=8,0,16,4", "8,0,16,4"] {
      let run = try tilecut("cut", placed, "-o", output, "--zoom", "3", "--crop", crop, "--force")
      #expect(run.status == 0, "\(run)")
      let bounds = try SQLiteFile.metadata(output)["bounds"]!.split(separator: ",").compactMap { Double($0) }
      #expect(zip(bounds, [11.25, 40.625, 17.5, 50]).allSatisfy { abs($0 - $1) < 1e-6 }, "\(bounds)")
    }
    for crop in ["1,2,3", "placed.png=1,1,1", "-1,0,0,0"] {
      expectRefusal(
        try tilecut("cut", placed, "-o", output, "--crop", crop, "--force"), status: 64, naming: crop, "LEFT")
    }
    expectRefusal(
      try tilecut("cut", placed, "-o", output, "--crop", "40,0,30,0", "--force"), status: 64, naming: "nothing")
  }

  /// An option names a source like a cutline does; names that fit none are refused with those that there are.
  @Test(arguments: [
    ("--crs", "EPSG:4269"), ("--nodata", "-1"), ("--bands", "3,2,1"), ("--alpha", "none"), ("--crop", "1,0,0,0"),
  ])
  func optionsOfOneSourceNameIt(_ option: String, _ value: String) throws {
    let (placed, second) = (folder.file("placed.png"), folder.file("second.png"))
    _ = try folder.writePlacedPicture("second.png")
    func cut(_ said: String...) throws -> CommandRun {
      try Command(built: "tilecut").run(
        ["cut", placed, second, "-o", output, "--zoom", "3", "--force"] + said.flatMap { [option, $0] })
    }
    for said in ["second.png=\(value)", "\(second)=\(value)"] {
      let run = try cut(value, said)
      #expect(run.status == 0, "\(run)")
      if option == "--crs" {
        #expect(run.stderrLines.contains("tilecut: --crs of \(second) is NAD83 (EPSG:4269)"), "\(run)")
      }
    }
    expectRefusal(try cut("third.png=\(value)"), status: 64, naming: "\(option): third.png", "\(placed), \(second)")
    expectRefusal(
      try tilecut(
        "cut", folder.file("more/placed.png"), second, folder.file("less/placed.png"), "-o", output, option,
        "placed.png=\(value)"),
      status: 64, naming: "placed.png is the name of several sources")
  }

  @Test func cutlinesOfUnknownSourcesAreRefused() throws {
    let plain = try geoJSON("plain.geojson", Self.square)
    let run = try tilecut("cut", folder.file("placed.png"), "-o", output, "--cutline", "third.png=\(plain)")
    expectRefusal(run, status: 64, naming: "--cutline: third.png", folder.file("placed.png"))
  }

  /// The manifest's own names for the same.
  @Test func manifestsClipAndCrop() throws {
    try folder.write(
      "area.geojson", #"{"type": "Polygon", "coordinates": [[\#(Self.square)]]}"#)
    func manifest(_ region: String) throws -> String {
      try folder.write(
        "regions.json",
        #"{"defaults": {"zoom": [0, 4]}, "regions": [{"id": "a", "title": "A", "category": "c", \#(region)}]}"#)
    }
    func bounds(_ region: String) throws -> [Double] {
      let run = try tilecut("cut", try manifest(region), "-o", output, "--force")
      #expect(run.status == 0, "\(run)")
      return try SQLiteFile.metadata(output)["bounds"]!.split(separator: ",").compactMap { Double($0) }
    }
    let clipped = try bounds(#""sources": ["placed.png"], "boundary": "area.geojson", "clip": true"#)
    #expect(zip(clipped, [12, 42, 18, 48]).allSatisfy { abs($0 - $1) < 1e-6 }, "\(clipped)")
    let grown = try bounds(
      #""sources": ["placed.png"], "boundary": "area.geojson", "clip": true, "buffer": 50000"#)
    #expect(abs(grown[1] - 41.55) < 0.01)
    let cropped = try bounds(#""sources": [{"file": "placed.png", "crop": [8, 0, 16, 4]}]"#)
    #expect(zip(cropped, [11.25, 40.625, 17.5, 50]).allSatisfy { abs($0 - $1) < 1e-6 }, "\(cropped)")
    let cut = try bounds(#""sources": [{"file": "placed.png", "cutline": "area.geojson"}]"#)
    #expect(cut[0] > 11 && cut[2] < 19)
    for (region, words) in [
      (#""sources": ["placed.png"], "clip": true"#, "regions[0].clip needs a boundary"),
      (#""sources": ["placed.png"], "boundary": "area.geojson", "buffer": 5"#, "regions[0].buffer"),
      (#""sources": ["placed.png"], "boundary": "area.geojson", "clip": 1"#, "regions[0].clip"),
      (#""sources": [{"crop": [1, 2, 3, 4]}]"#, "regions[0].sources[0].file is missing"),
      (#""sources": [{"file": "placed.png", "crop": [1, 2, 3]}]"#, "regions[0].sources[0].crop"),
      (#""sources": [{"file": "placed.png", "cutlin": "a"}]"#, "did you mean \"cutline\""),
      (#""sources": [{"file": "placed.png", "bands": [1, 2]}]"#, "regions[0].sources[0].bands"),
      (#""sources": [{"file": "placed.png", "alpha": "no"}]"#, "regions[0].sources[0].alpha"),
      (
        #""layers": [{"type": "relief", "dem": [{"file": "placed.png", "bands": [2]}]}]"#,
        "regions[0].layers[0].dem[0].bands"
      ),
      (#""sources": [{"file": "placed.png", "cutline": "none"}]"#, "regions[0].sources[0].cutline"),
    ] {
      expectRefusal(try tilecut("cut", try manifest(region), "-o", output, "--force"), status: 65, naming: words)
    }
  }

  /// Standard input is a source like a file.
  @Test func standardInputIsASource() throws {
    let picture = folder.file("placed.png")
    let direct = folder.file("direct.mbtiles")
    let options = ["--bounds", "10,40,20,50", "--zoom", "0-4", "--name", "map"]
    let file = try Command(built: "tilecut").run(["cut", picture, "-o", direct] + options, in: nil, timeout: 60)
    #expect(file.status == 0, "\(file)")
    let command = try Command(built: "tilecut").path
    let line = "'\(command)' cut - -o '\(output)' \(options.joined(separator: " "))"
    let sent = try #require(try run("bash", ["-c", "cat '\(folder.file("placed.png"))' | \(line)"]))
    #expect(sent.status == 0, "\(sent.output)")
    #expect(try folder.bytes("out.mbtiles") == folder.bytes("direct.mbtiles"))
    let empty = try #require(try run("bash", ["-c", ": | \(line) --force"]))
    #expect(empty.status == 65 && empty.output.contains("standard input: is empty"), "\(empty.output)")
  }

  // MARK: - Cuts that are stopped and divided

  /// Each of these options changes the map: without it a source is red for blue, has no place, hides others, or is
  /// seen through.
  private static let ofOneSource = [
    ["--bands", "base.png=3,2,1"], ["--crs", "bare.png=EPSG:3857"], ["--nodata", "hole.png=1,2,3"],
    ["--alpha", "soft.png=none"],
  ]
  private static let others = [
    ["--bands", "base.png=2,1,3"], ["--crs", "bare.png=EPSG:3395"], ["--nodata", "hole.png=1,2,4"],
    ["--alpha", "soft.png=4"],
  ]

  /// A cut of four sources that overlap.
  private func mosaic(_ zooms: String, _ options: [[String]] = ofOneSource) throws -> DividedCut {
    _ = try folder.writePlacedPicture("base.png", edge: 256)
    _ = try folder.writePicture("bare.png", width: 256, height: 256)
    try folder.write("bare.pgw", "1600\n0\n0\n-1600\n1200800\n5799200\n")
    for (name, west, colour) in [("hole", 13.0, UInt32(0xff03_0201)), ("soft", 16, 0x4080_ff20)] {
      let pixels = PixelBuffer(width: 64, height: 64)
      for i in 0..<(64 * 64) { pixels.bytes.storeBytes(of: colour, toByteOffset: i * 4, as: UInt32.self) }
      try folder.write("\(name).png", bytes: TileEncoder(.png(PNGOptions())).encode(pixels))
      try folder.write("\(name).pgw", "0.04\n0\n0\n-0.04\n\(west)\n46\n")
      try folder.write("\(name).prj", "EPSG:4326")
    }
    return DividedCut(
      folder: folder,
      words: ["base.png", "bare.png", "hole.png", "soft.png", "--zoom", zooms, "--format", "jpeg"]
        + options.flatMap { $0 })
  }

  @Test func everyOptionOfOneSourceChangesTheMap() throws {
    let whole = try mosaic("0-4").whole()
    for left in Self.ofOneSource.indices {
      var options = Self.ofOneSource
      options.remove(at: left)
      let cut = try mosaic("0-4", options)
      if Self.ofOneSource[left][0] == "--crs" {
        expectRefusal(try cut.run(["cut"] + cut.words + ["-o", "x.mbtiles"]), naming: "bare.png")
      } else {
        #expect(try cut.whole("other.mbtiles") != whole, "\(Self.ofOneSource[left])")
      }
    }
  }

  /// A killed cut goes on with the same options of single sources, and with no others.
  @Test func killedCutsWithOptionsOfOneSourceEndTheSame() throws {
    let cut = try mosaic("0-10")
    let whole = try cut.whole()
    try cut.kill()
    for changed in Self.others.indices {
      var options = Self.ofOneSource
      options[changed] = Self.others[changed]
      let other = try mosaic("0-10", options)
      expectRefusal(
        try other.run(["cut"] + other.words + ["-o", "killed.mbtiles", "--resume"]), status: 64,
        naming: "\(options[changed][0])", "says of one source is not the same", "--force")
      #expect(folder.names.contains(".killed.mbtiles.resume") && !folder.names.contains("killed.mbtiles"))
    }
    #expect(try cut.continued() == whole)
    try FileManager.default.removeItem(atPath: folder.file("killed.mbtiles"))
    // What --force says: other options start anew.
    try cut.kill()
    let anew = try mosaic("0-4", Self.others)
    let run = try anew.run(["cut"] + anew.words + ["-o", "killed.mbtiles", "--force"])
    #expect(run.status == 0 && run.stderr.contains("were removed"), "\(run)")
    #expect(try folder.bytes("killed.mbtiles") == anew.whole("anew.mbtiles"))
  }

  @Test(arguments: ["mbtiles", "pmtiles"]) func shardsWithOptionsOfOneSourceGiveTheUndividedCut(_ kind: String) throws {
    let cut = try mosaic("0-8")
    let count = try cut.plan(shardTiles: 20)
    #expect(count > 3)
    #expect(try cut.merged(count, "out.\(kind)") == cut.whole("whole.\(kind)"))
  }
}
