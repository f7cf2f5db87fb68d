import TestSupport
import Testing

/// Contradictory options and unusable inputs.
@Suite(.ownThread) struct UsageTests {
  let folder: TemporaryFolder
  let picture: String
  let output: String

  init() throws {
    folder = try TemporaryFolder()
    picture = try folder.writePlacedPicture()
    output = folder.file("out.mbtiles")
  }

  @Test(arguments: [
    ["--zoom", "5-3"], ["--zoom", "-1"], ["--zoom=-1"], ["--zoom", "31"], ["--zoom", "0-31"], ["--zoom", "x"],
    ["--zoom", "3-"],
    ["--zoom", ""], ["--zoom", "99999999999999999999"], ["--quality", "80"], ["--format", "jpeg", "--quality", "0"],
    ["--format", "jpeg", "--quality", "101"], ["--format", "gif"], ["--format", ""], ["--threads", "0"],
    ["--threads=-1"], ["--threads", "100000"], ["--memory", "1MB"], ["--memory", "much"], ["--memory=-1GB"],
    ["--memory", "9999999GB"], ["--resampling", "sinc"], ["--matrix", "LINZAntarticaMapTilegrid"],
    ["--type", "underlay"], ["--progress", "loud"], ["--scale", "5"], ["--scale", "all"],
    ["--bands", "1,2"], ["--bands", "0"], ["--alpha", "no"], ["--scale", "1,1"], ["--scale", "nan,1"],
    ["--nodata", "x"], ["--nodata", "1,2"], ["--name", ""], ["--version", ""], ["--colour"],
  ])
  func wrongUsageIsRefused(_ options: [String]) throws {
    let before = folder.names
    let run = try Command(built: "tilecut").run(["cut", picture, "-o", output] + options)
    expectRefusal(run, status: 64)
    // The error names the option.
    let name = String(options.last { $0.hasPrefix("--") }!.dropFirst(2).prefix { $0 != "=" })
    #expect(run.stderr.contains(name), "\(run)")
    #expect(folder.names == before)
  }

  @Test func theQualityOfABundleThatIsAddedToMayBeGiven() throws {
    let bundle = folder.file("a.mbtiles")
    #expect(try tilecut("cut", picture, "-o", bundle, "--zoom", "0-3", "--format", "jpeg").status == 0)
    func appended(_ name: String, _ options: String...) throws -> Int {
      let words = ["cut", picture, "--append", bundle, "-o", folder.file(name)]
      let run = try Command(built: "tilecut").run(words + options)
      #expect(run.status == 0, "\(run)")
      return try folder.bytes(name).count
    }
    let low = try appended("low.pmtiles", "--quality", "5")
    #expect(try low < appended("high.pmtiles", "--quality", "99"))
    #expect(try low == appended("same.pmtiles", "--format", "jpeg", "--quality", "5"))
    let plain = folder.file("plain.mbtiles")
    #expect(try tilecut("cut", picture, "-o", plain, "--zoom", "0").status == 0)
    let refused = try tilecut("cut", picture, "--append", plain, "-o", output, "--quality", "80")
    expectRefusal(refused, status: 64, naming: "--quality 80 means nothing for png")
    let few = try tilecut("cut", picture, "--append", plain, "-o", folder.file("few.mbtiles"), "--colors", "16")
    #expect(few.status == 0, "\(few)")
  }

  @Test(arguments: [
    ["cut"], ["cut", "a.tif"], ["cut", "-o", "a.mbtiles"], ["inspect"], ["verify"], ["preview", "a"], ["extract", "a"],
    ["merge", "a"], ["diff", "a", "b"], ["diff", "a", "-o", "b"], ["apply", "a", "-o", "b"], ["places", "a"],
  ])
  func missingArgumentsAreNamed(_ arguments: [String]) throws {
    let run = try Command(built: "tilecut").run(arguments, in: folder.path)
    expectRefusal(run, status: 64, naming: "Usage: tilecut")
  }

  @Test func unknownCommandIsAnsweredWithTheNearestOrThoseThatThereAre() throws {
    for words in [["verfy", "a.mbtiles"], ["help", "verfy"]] {
      let run = try Command(built: "tilecut").run(words)
      expectRefusal(run, status: 64, naming: "there is no command verfy; did you mean verify?")
    }
    expectRefusal(try tilecut("melt"), status: 64, naming: "there is no command melt; choose one of cut, ")
    #expect(try !tilecut("verify", "--colour").stderr.contains("there is no command"))
    #expect(try tilecut("help", "metadata", "get").status == 0)
    let row = try tilecut("metadata", "gte", "a.mbtiles")
    expectRefusal(row, status: 64, naming: "there is no command metadata gte; did you mean metadata get?")
    let list = try tilecut("metadata", "list", "a.mbtiles")
    expectRefusal(list, status: 64, naming: "there is no command metadata list; choose one of get, set")
  }

  /// The argument parser has no suggestion where the command has few options of its own.
  @Test func optionsOfEveryCommandAreSuggested() throws {
    let version = try tilecut("--vesion")
    expectRefusal(version, status: 64, naming: "there is no --vesion; did you mean --version?")
    let help = try Command(built: "purchase-ledger").run(["init", "--hepl"])
    #expect(help.status == 64 && help.stderr.contains("there is no --hepl; did you mean --help?"), "\(help)")
  }

  /// The checks of a command come before the argument parser looks at options that it does not know.
  @Test func anOptionThatIsNotKnownIsNamedWhereACheckFails() throws {
    for (words, hint) in [
      (["convert", picture, "-o", output, "--schme", "xyz"], "there is no --schme; did you mean --scheme?"),
      (["packs", "catalogue", "--piont", "1,2"], "there is no --piont; did you mean --point?"),
      (["packs", "catalogue", "--colour"], "there is no --colour; --help lists the options"),
    ] {
      expectRefusal(try Command(built: "tilecut").run(words), status: 64, naming: hint)
    }
    let replay = try Command(built: "tileserve").run(["replay", "--version"])
    #expect(replay.status == 64 && replay.stderr.contains("there is no --version"), "\(replay)")
    // Here the message itself names it.
    #expect(try !tilecut("metadata", "set", output, "name", "--colour").stderr.contains("there is no --colour"))
  }

  /// A plan takes the options of cut and build, whose usage counts.
  @Test func wrongWordsOfAPlanAreAnsweredWithTheUsageOfTheirCommand() throws {
    let zoom = try tilecut("plan", picture, "-o", output, "--zom", "3")
    expectRefusal(zoom, status: 64, naming: "--zoom", "Usage: tilecut cut ", "See 'tilecut cut --help'")
    let grid = try tilecut("plan", picture, "-o", output, "--bbox", "1,2,3,4")
    expectRefusal(grid, status: 64, naming: "there is no --bbox; its name here is --bounds", "Usage: tilecut cut ")
    let build = try tilecut("plan", "a.json", "-o", output, "--catalogue", folder.file("c"), "--wrong")
    expectRefusal(build, status: 64, naming: "--wrong", "Usage: tilecut build ", "See 'tilecut build --help'")
  }

  /// The argument parser would suggest `--zoom` for `--bbox`.
  @Test func optionsOfOtherToolsAreAnsweredWithOurs() throws {
    for (theirs, ours) in [
      ("--bbox", "--bounds"), ("--s_srs", "--crs"),
    ] {
      let run = try tilecut("cut", picture, "-o", output, theirs, "1,2,3,4")
      expectRefusal(run, status: 64, naming: "there is no \(theirs); its name here is \(ours)")
    }
    let silent = try tilecut("cut", picture, "-o", output, "--silent")
    expectRefusal(silent, status: 64, naming: "there is no --silent; progress is left out with --quiet")
    // Only what the command has is named.
    let unshown = try tilecut("metadata", "get", picture, "--quiet")
    expectRefusal(unshown, status: 64, naming: "is left out with >/dev/null")
    #expect(try !tilecut("inspect", picture, "--bbox").stderr.contains("its name here"))
  }

  /// The argument parser would only say that `--output` is missing.
  @Test func anOptionThatIsNotKnownIsNamedWhereOneIsMissing() throws {
    for words in [["--ouput", output], ["--ouput=\(output)"]] {
      let run = try Command(built: "tilecut").run(["cut", picture] + words)
      expectRefusal(run, status: 64, naming: "there is no --ouput; did you mean --output?", "'--output <output>'")
    }
    let colour = try tilecut("verify", "--colour")
    expectRefusal(colour, status: 64, naming: "there is no --colour; --help lists the options", "'<bundle>'")
    let theirs = try tilecut("cut", picture, "--out", output)
    expectRefusal(theirs, status: 64, naming: "there is no --out; its name here is --output")
    // Nothing is unknown here: an option with its value, and a name that begins with dashes.
    // The plan's options are those of cut and build, too.
    for words in [
      ["cut", picture, "--zoom=3"], ["diff", "a", "--quiet", "--", "--b"], ["plan", picture, "--zoom=3", "--jobs=2"],
    ] {
      let run = try Command(built: "tilecut").run(words)
      expectRefusal(run, status: 64, naming: "Missing expected argument '--output <output>'")
      #expect(!run.stderr.contains("there is no"), "\(run)")
    }
  }

  /// The nearest folder that is there.
  @Test func whereAFileIsMissingTheCommandThatListsThemIsNamed() throws {
    let missing = folder.file("no/such/map.mbtiles")
    for words in [["inspect", missing], ["verify", missing], ["cut", folder.file("no/map.tif"), "-o", output]] {
      let run = try Command(built: "tilecut").run(words)
      expectRefusal(run, status: 66, naming: ": ls '\(folder.path)'\n")
    }
    let served = try Command(built: "tileserve").run([missing])
    #expect(served.status == 66 && served.stderr.hasSuffix("check the name: ls '\(folder.path)'\n"), "\(served)")
    // A file that is there is not looked for.
    let broken = try folder.write("broken.mbtiles", "x")
    #expect(try !tilecut("inspect", broken).stderr.contains("ls '"))
  }

  @Test func aPreviewIsDescribedInJSON() throws {
    let bundle = try folder.writeBundle("a.mbtiles", zooms: 0...0)
    let run = try tilecut("preview", bundle, "-o", folder.file("a.png"), "--json")
    let bytes = try folder.bytes("a.png").count
    #expect(run.status == 0 && run.stdout.contains("\"bytes\": \(bytes)"), "\(run)")
  }

  @Test func aPreviewUnderAnotherFormatsNameIsRefused() throws {
    let bundle = try folder.writeBundle("a.mbtiles", zooms: 0...0)
    let name = folder.file("a.jpg")
    expectRefusal(try tilecut("preview", bundle, "-o", name), status: 64, naming: name, "name it .png")
    #expect(!folder.names.contains("a.jpg"))
  }

  @Test func convertTakesItsOutputAsTheOtherCommandsDoToo() throws {
    let bundle = try folder.writeBundle("a.mbtiles", zooms: 0...1)
    let (first, second) = (folder.file("1.pmtiles"), folder.file("2.pmtiles"))
    #expect(try tilecut("convert", bundle, first).status == 0)
    #expect(try tilecut("convert", bundle, "-o", second).status == 0)
    #expect(try folder.bytes("1.pmtiles") == folder.bytes("2.pmtiles"))
    for arguments in [["convert", bundle], ["convert", bundle, first, "-o", second]] {
      let run = try Command(built: "tilecut").run(arguments)
      expectRefusal(run, status: 64, naming: "name one bundle to write")
    }
  }

  @Test func missingSourceFileIsNamed() throws {
    let missing = folder.file("missing.tif")
    expectRefusal(try tilecut("cut", missing, "-o", output), status: 66, naming: missing)
  }

  @Test func folderAsSourceIsRefused() throws {
    expectRefusal(try tilecut("cut", folder.path, "-o", output), status: 66, naming: "\(folder.path): is a folder; ")
  }

  @Test func emptySourceIsRefused() throws {
    let empty = try folder.write("empty.tif", "")
    expectRefusal(try tilecut("cut", empty, "-o", output), status: 65, naming: empty, "empty")
  }

  @Test func textFileAsSourceIsRefused() throws {
    let text = try folder.write("readme.tif", "not a raster\n")
    expectRefusal(try tilecut("cut", text, "-o", output), status: 65, naming: text, "GeoTIFF, PNG, JPEG")
  }

  /// The file is endless and has no size.
  @Test func deviceAsSourceIsRefused() throws {
    expectRefusal(try tilecut("cut", "/dev/zero", "-o", output), naming: "/dev/zero")
  }

  /// The error names the second of the sources.
  @Test func unusableSourceAmongSeveralIsNamed() throws {
    let text = try folder.write("readme.tif", "not a raster\n")
    let run = try tilecut("cut", picture, text, "-o", output)
    expectRefusal(run, status: 65, naming: text)
    #expect(!run.stderr.contains(picture), "\(run)")
  }
}
