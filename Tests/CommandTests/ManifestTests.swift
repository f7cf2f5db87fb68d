import TestSupport
import Testing

/// A region manifest in place of sources.
@Suite(.ownThread) struct ManifestTests {
  let folder: TemporaryFolder
  let output: String

  init() throws {
    folder = try TemporaryFolder()
    output = folder.file("out.mbtiles")
    _ = try folder.writePlacedPicture()
  }

  private func manifest(_ json: String) throws -> String { try folder.write("regions.json", json) }

  private static let good = """
    {"regions": [{"id": "alps", "title": "The Alps", "category": "range", "description": "With snow",
      "attribution": "Surveyors", "sources": ["placed.png"]}]}
    """

  @Test func manifestTextsAreInTheMetadata() throws {
    let run = try tilecut("cut", try manifest(Self.good), "-o", output, "--zoom", "0", in: "/")
    #expect(run.status == 0, "\(run)")
    let metadata = try SQLiteFile.metadata(output)
    #expect(metadata["name"] == "The Alps" && metadata["description"] == "With snow")
    #expect(metadata["attribution"] == "Surveyors")
    try expectValid(output)
  }

  @Test func optionsWinOverTheManifest() throws {
    let run = try tilecut(
      "cut", try manifest(Self.good), "-o", output, "--zoom", "0", "--name", "Other", "--attribution", "Us")
    #expect(run.status == 0, "\(run)")
    let metadata = try SQLiteFile.metadata(output)
    #expect(metadata["name"] == "Other" && metadata["attribution"] == "Us" && metadata["description"] == "With snow")
  }

  @Test func pathsAreRelativeToTheManifest() throws {
    _ = try manifest(Self.good)
    for (name, working) in [
      ("regions.json", folder.path), ("./regions.json", folder.path), (folder.file("regions.json"), "/"),
    ] {
      let run = try tilecut("cut", name, "-o", output, "--zoom", "0", "--force", in: working)
      #expect(run.status == 0, "\(run)")
    }
  }

  /// The error, and its place in the document.
  @Test(arguments: [
    ("", "line 1"), ("{\"regions\": [\n  {\"id\": \"a\",\n   oops}]}", "line 3"), ("[1]", "is an array, not an object"),
    ("{}", "regions"),
    (#"{"regions": []}"#, "regions is empty"), (#"{"regions": [{"title": "A"}]}"#, "regions[0].id is missing"),
    (#"{"regions": [{"id": 7}]}"#, "regions[0].id is a number, not a string"),
    (#"{"regions": [{"id": "../a", "title": "A", "category": "c", "sources": ["x"]}]}"#, "regions[0].id"),
    (#"{"regions": [{"id": "a", "title": "", "category": "c", "sources": ["x"]}]}"#, "regions[0].title"),
    (#"{"regions": [{"id": "a", "title": "A", "category": "c", "sources": []}]}"#, "regions[0].sources"),
    (#"{"regions": [{"id": "a", "title": "A", "category": "c", "sources": ["x", 1]}]}"#, "regions[0].sources[1]"),
    (
      #"{"regions": [{"id": "a", "title": "A\u0000", "category": "c", "sources": ["placed.png"]}]}"#, "regions[0].title"
    ),
  ])
  func manifestErrorsNameThePlace(_ json: String, _ place: String) throws {
    let path = try manifest(json)
    let run = try tilecut("cut", path, "-o", output)
    expectRefusal(run, status: 65, naming: path, place)
    #expect(!folder.names.contains("out.mbtiles"))
  }

  @Test func aManifestThatIsNoJSONIsAnsweredWithItsReference() throws {
    let path = try manifest("{\"regions\": [")
    expectRefusal(try tilecut("cut", path, "-o", output), status: 65, naming: "see docs/reference/region-manifest.md")
  }

  @Test func missingManifestIsNamed() throws {
    expectRefusal(
      try tilecut("cut", folder.file("missing.json"), "-o", output), status: 66, naming: folder.file("missing.json"))
  }

  @Test func missingSourceOfAManifestIsNamed() throws {
    let path = try manifest(#"{"regions": [{"id": "a", "title": "A", "category": "c", "sources": ["gone.tif"]}]}"#)
    expectRefusal(try tilecut("cut", path, "-o", output), status: 66, naming: folder.file("gone.tif"))
  }

  @Test func cutRefusesManifestsOfSeveralRegions() throws {
    let region = { (id: String) in #"{"id": "\#(id)", "title": "A", "category": "c", "sources": ["placed.png"]}"# }
    let path = try manifest("{\"regions\": [\(region("a")), \(region("b"))]}")
    expectRefusal(try tilecut("cut", path, "-o", output), status: 64, naming: path, "2 regions")
    expectRefusal(
      try tilecut("cut", path, folder.file("placed.png"), "-o", output), status: 64, naming: "goes alone")
  }
}
