import TestSupport
import Testing
import TileCut
import TileIndex

/// What `cut` takes as an option and a manifest as a setting makes the same tiles.
@Suite(.ownThread) struct OptionTableTests {
  struct Row: Sendable, CustomTestStringConvertible {
    /// Of the manifest.
    let keys: [String]
    let settings: String
    let options: [String]
    /// Whether the tiles differ from those without the options.
    var changesTiles = true
    var testDescription: String { options.joined(separator: " ") }
  }

  static let rows = [
    Row(keys: ["zoom"], settings: #""zoom": [1, 2]"#, options: ["--zoom", "1-2"]),
    Row(
      keys: ["variableDepth"], settings: #""variableDepth": true"#, options: ["--variable-depth"], changesTiles: false),
    Row(keys: ["matrix"], settings: #""matrix": "WorldCRS84Quad""#, options: ["--matrix", "WorldCRS84Quad"]),
    Row(keys: ["tileSize"], settings: #""tileSize": 512"#, options: ["--tile-size", "512"]),
    Row(keys: ["scaleFactor"], settings: #""scaleFactor": 2"#, options: ["--scale-factor", "2"]),
    Row(keys: ["format"], settings: #""format": "jpeg""#, options: ["--format", "jpeg"]),
    Row(keys: ["format"], settings: #""format": "webp""#, options: ["--format", "webp"]),
    Row(keys: ["format"], settings: #""format": "auto""#, options: ["--format", "auto", "--zoom", "6"]),
    Row(
      keys: ["format", "quality"], settings: #""format": "jpeg", "quality": 40"#,
      options: ["--format", "jpeg", "--quality", "40"]),
    Row(
      keys: ["format", "quality"], settings: #""format": "webp", "quality": 40"#,
      options: ["--format", "webp", "--quality", "40"]),
    Row(
      keys: ["format", "quality"], settings: #""format": "auto", "quality": 40, "zoom": 6"#,
      options: ["--format", "auto", "--quality", "40", "--zoom", "6"]),
    Row(
      keys: ["format"], settings: #""format": "jpeg+webp", "zoom": 6"#,
      options: ["--format", "jpeg+webp", "--zoom", "6"]),
    Row(
      keys: ["format", "quality", "colors"],
      settings: #""format": "webp+png", "quality": 40, "colors": 16, "zoom": 6"#,
      options: ["--format", "webp+png", "--quality", "40", "--colors", "16", "--zoom", "6"]),
    Row(keys: ["effort"], settings: #""effort": "fast""#, options: ["--effort", "fast"]),
    Row(keys: ["colors"], settings: #""colors": 16"#, options: ["--colors", "16"]),
    Row(keys: ["resampling"], settings: #""resampling": "lanczos""#, options: ["--resampling", "lanczos"]),
    Row(keys: ["resampling"], settings: #""resampling": "gauss""#, options: ["--resampling", "gauss"]),
    Row(keys: ["linear"], settings: #""linear": true"#, options: ["--linear"]),
    Row(
      keys: ["tileHashes"], settings: #""tileHashes": true"#, options: ["--tile-hashes"], changesTiles: false),
    Row(keys: ["nodata"], settings: #""nodata": [0]"#, options: ["--nodata", "0"], changesTiles: false),
    Row(keys: ["scale"], settings: #""scale": [0, 128]"#, options: ["--scale", "0,128"], changesTiles: false),
    Row(keys: ["bands"], settings: #""bands": [3, 2, 1]"#, options: ["--bands", "3,2,1"]),
    Row(keys: ["alpha"], settings: #""alpha": "none""#, options: ["--alpha", "none"], changesTiles: false),
    Row(keys: ["crs"], settings: #""crs": "EPSG:4267""#, options: ["--crs", "EPSG:4267"], changesTiles: false),
    Row(
      keys: ["attribution"], settings: #""attribution": "Us""#, options: ["--attribution", "Us"], changesTiles: false),
    Row(keys: ["type"], settings: #""type": "overlay""#, options: ["--type", "overlay"], changesTiles: false),
    Row(keys: ["edition"], settings: #""edition": "3""#, options: ["--version", "3"], changesTiles: false),
  ]

  /// Those that say of a region what no single cut has, and those with tests of their own: `sources` and `clip` in
  /// ManifestTests and the tests of clipping, `gazetteers` in those of places, `container` (the name of `--output`) in
  /// BuildTests.
  static let others: Set = [
    "sources", "priceTier", "preview", "packBytes", "gazetteers", "clip", "buffer", "layers", "container",
  ]

  @Test func everySettingIsInTheTable() {
    #expect(Set(Self.rows.flatMap(\.keys)).union(Self.others) == Set(RegionSettings.keys))
  }

  /// In camel case, as all names in files. An edition is more than the version that MBTiles state.
  @Test func aSettingIsCalledAsItsOption() {
    for row in Self.rows where row.keys.count == 1 && row.keys != ["edition"] {
      let option = row.keys[0].reduce("--") { $0 + ($1.isUppercase ? "-\($1.lowercased())" : String($1)) }
      #expect(row.options[0] == option)
    }
  }

  /// Options of a map that a manifest says in another way: of a region, of a source, or by a key in `others`.
  private static let saidOtherwise: Set = [
    "--bounds", "--clip", "--buffer", "--cutline", "--crop", "--name", "--description", "--gazetteer", "--src-list",
    "--output",
  ]
  /// Options of one run, and those of what a catalogue does not hold: folders of tiles, bundles that grow, pictures of
  /// no place on Earth.
  private static let ofOneCut: Set = [
    "--threads", "--memory", "--force", "--resume", "--plan", "--shard", "--shard-list", "--progress", "--quiet",
    "--dry-run", "--json", "--help", "--scheme", "--append", "--flat",
  ]

  @Test func everyOptionIsInTheTable() throws {
    let help = try tilecut("help", "cut").stdoutLines.filter { $0.hasPrefix("  -") }
    let options = help.flatMap { $0.split(separator: " ").prefix(3) }.map { $0.prefix { $0 != "," } }
      .filter { $0.hasPrefix("--") }.map { String($0) }
    let inTable = Self.rows.flatMap(\.options).filter { $0.hasPrefix("--") }
    #expect(Set(options) == Set(inTable).union(Self.saidOtherwise).union(Self.ofOneCut))
  }

  @Test(arguments: rows)
  func manifestAndOptionsMakeTheSameTiles(_ row: Row) throws {
    let folder = try TemporaryFolder()
    let picture = try folder.writePlacedPicture()
    func cut(_ name: String, _ arguments: [String]) throws -> any BundleReader {
      let path = folder.file(name)
      let run = try Command(built: "tilecut").run(["cut"] + arguments + ["-o", path])
      #expect(run.status == 0, "\(run)")
      return try BundleFile.open(path)
    }
    let byOptions = try cut("a.mbtiles", [picture] + row.options)
    var settings = row.settings
    if row.options.contains("--zoom"), !row.keys.contains("zoom"), !settings.contains("zoom") {
      settings += #", "zoom": 6"#
    }
    let manifest = try folder.write(
      "regions.json",
      """
      {"regions": [{"id": "a", "title": "placed", "category": "c", "sources": ["placed.png"], \(settings)}]}
      """)
    let byManifest = try cut("b.mbtiles", [manifest])
    #expect(try TilesHash.of(byOptions) == TilesHash.of(byManifest))
    for name in [
      "format", "formats", "minzoom", "maxzoom", "bounds", "tileSize", "scale", "attribution", "type", "version",
    ] {
      #expect(byOptions.metadata[name] == byManifest.metadata[name], "\(name)")
    }
    if row.changesTiles { #expect(try TilesHash.of(byOptions) != TilesHash.of(cut("c.mbtiles", [picture]))) }
    try expectValid(folder.file("a.mbtiles"))
  }

  /// Options that contradict each other.
  @Test(arguments: [
    (["--quality", "80"], "--quality 80 means nothing for png; leave it out, or give --format jpeg"),
    (["--format", "png", "--quality", "80"], "--quality 80 means nothing for png"),
    (["--format", "webp", "--quality", "0"], "--quality 0 is not a whole number from 1 to 100"),
    (["--format", "webp", "--quality", "high"], "--quality high is not a whole number from 1 to 100"),
    (["--format", "webp", "--effort", "fast"], "--effort fast is for png alone"),
    (["--format", "jpeg", "--colors", "16"], "--colors 16 is for png alone"),
    (["--colors", "1"], "--colors 1 is not a whole number from 2 to 256"),
    (["--colors", "257"], "--colors 257 is not a whole number from 2 to 256"),
    (["--tile-size", "300"], "--tile-size 300 is neither 256 nor 512"),
    (["--scale-factor", "3"], "--scale-factor 3 is neither 1 nor 2"),
    (["--zoom", "3-1"], "--zoom 3-1 is not 2 numbers"), (["--zoom", "0-99"], "--zoom 0-99 is not two whole numbers"),
    (["--nodata", "white"], "--nodata white is not numbers with commas between; give numbers"),
    (["--bands", "1,2"], "--bands 1,2 are not one or three bands; give one band's number or three, such as 4,3,2"),
    (["--alpha", "last"], "--alpha last is no band"), (["--scale", "5,5"], "--scale 5,5 has two equal values"),
    (["--scale", "dark"], "--scale dark is no range of values"), (["--type", "base"], "--type base is not one of"),
    (["--matrix", "WorldCRS84Qaud"], "did you mean \"WorldCRS84Quad\"?"),
    (["--effort", "smal"], "--effort smal is not one of fast, balanced, small; did you mean \"small\"?"),
    (["--linear", "--resampling", "mode"], "linear light"),
    (["--append", "x.mbtiles", "--tile-size", "512"], "--append takes the grid"),
    (["--format", "gif"], "--format gif is not one of png, jpeg, webp, auto, jpeg+webp, webp+png"),
  ])
  func contradictionsAreRefused(_ options: [String], _ message: String) throws {
    let folder = try TemporaryFolder()
    let picture = try folder.writePlacedPicture()
    let run = try Command(built: "tilecut").run(["cut", picture, "-o", folder.file("out.mbtiles")] + options)
    #expect(run.status == 64 && run.stderr.contains(message), "\(run)")
    #expect(!folder.names.contains("out.mbtiles"))
  }
}
