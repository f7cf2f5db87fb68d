import Foundation
import Support
import TestSupport
import Testing
import TileIndex

@testable import RegionCatalog
@testable import TileCut

/// docs/reference/regions.schema.json and the parser agree.
@Suite(.ownThread) struct ManifestSchemaTests {
  private let schema: JSONValue

  init() throws { schema = try JSONFile.read(ProjectFiles.path("docs/reference/regions.schema.json")) }

  private func properties(_ names: String...) -> Set<String> {
    let object = names.reduce(Optional(schema)) { $0?[$1] }
    return Set(object?["properties"]?.members?.map(\.name) ?? [])
  }

  @Test func schemaHasTheKeysOfTheParser() {
    #expect(properties() == Set(RegionManifest.documentKeys))
    #expect(properties("$defs", "settings") == Set(RegionSettings.keys))
    #expect(properties("$defs", "region").union(RegionSettings.keys) == Set(RegionManifest.regionKeys))
    #expect(properties("$defs", "source") == Set(SourceSettings.keys))
    #expect(properties("$defs", "model") == Set(SourceSettings.modelKeys))
    #expect(properties("$defs", "preview") == Set(RegionSettings.previewKeys))
    #expect(properties("$defs", "matrix") == Set(RegionSettings.gridKeys))
    #expect(properties("$defs", "rasterLayer") == Set(MapLayers.rasterKeys))
    #expect(properties("$defs", "reliefLayer") == Set(MapLayers.reliefKeys))
    #expect(properties("$defs", "vectorLayer") == Set(MapLayers.vectorKeys))
    #expect(properties("$defs", "contourLayer") == Set(MapLayers.contourKeys))
    #expect(properties("$defs", "graticuleLayer") == Set(MapLayers.graticuleKeys))
    #expect(properties("$defs", "styleRule") == Set(StyleRule.keys))
  }

  @Test func schemaHasTheEnumerationsOfTheParser() {
    func words(_ key: String) -> [String]? {
      schema["$defs"]?["settings"]?["properties"]?[key]?["enum"]?.array?.compactMap(\.string)
    }
    #expect(words("container") == RegionSettings.containers.map(\.rawValue))
    let bytes = schema["$defs"]?["settings"]?["properties"]?["packBytes"]
    #expect(bytes?["minimum"] == .number(RegionSettings.packBytesLimits.lowerBound))
    #expect(bytes?["maximum"] == .number(RegionSettings.packBytesLimits.upperBound))
  }

  /// Members that are options of `tilecut cut` too are defined in one place. `make bless` writes them.
  @Test func schemaHasTheSettingsOfACut() throws {
    let path = ProjectFiles.path("docs/reference/regions.schema.json")
    if ProcessInfo.processInfo.environment["BLESS"] == "1" {
      var lines = try String(contentsOfFile: path, encoding: .utf8).components(separatedBy: "\n")
      for setting in CutSetting.all { try Self.replace(setting, in: &lines) }
      try lines.joined(separator: "\n").write(toFile: path, atomically: true, encoding: .utf8)
    }
    let found = try JSONFile.read(path)["$defs"]?["settings"]?["properties"]
    for setting in CutSetting.all {
      #expect(
        try found?[setting.name] == JSONValue(parsing: Array(setting.schema.utf8)),
        "\(setting.name) of the schema has changed; if that is wanted: make bless")
    }
  }

  /// The lines of a member of `settings` become one.
  private static func replace(_ setting: CutSetting, in lines: inout [String]) throws {
    let indent = String(repeating: " ", count: 8)
    let start = try #require(lines.firstIndex { $0.hasPrefix("\(indent)\"\(setting.name)\": ") })
    let end = try #require(lines[(start + 1)...].firstIndex { $0.hasPrefix("\(indent)\"") || $0.hasPrefix("      }") })
    let comma = lines[end - 1].hasSuffix(",") ? "," : ""
    lines.replaceSubrange(start..<end, with: ["\(indent)\"\(setting.name)\": \(setting.schema)\(comma)"])
  }

  @Test func schemaHasTheLimitsOfTheParser() {
    let interval = schema["$defs"]?["graticuleLayer"]?["properties"]?["interval"]
    #expect(interval?["minimum"]?.finite == MapLayers.graticuleIntervals.lowerBound)
    #expect(interval?["maximum"]?.finite == MapLayers.graticuleIntervals.upperBound)
  }

  private static let validator = """
    import json, sys, jsonschema
    schema = json.load(open(sys.argv[1]))
    for path in sys.argv[2:]:
        print("ok" if jsonschema.Draft202012Validator(schema).is_valid(json.load(open(path))) else "bad")
    """
  static let hasValidator =
    (try? Command(installed: "python3")?.run(["-c", "import jsonschema.validators"]))?.status == 0

  /// Compared with the Python package jsonschema.
  @Test(.enabled(if: hasValidator, "python3 has no jsonschema (apt-get install python3-jsonschema)"))
  func schemaAndParserAcceptTheSameDocuments() throws {
    let region = #""id": "a", "title": "A", "category": "c", "sources": ["x"]"#
    let layered = #""id": "a", "title": "A", "category": "c", "layers":"#
    let raster = #"{"type": "raster", "sources": ["x"]}"#
    let lines = #"{"type": "vector", "data": "x.gpx", "style": [{"type": "line", "paint": {"line-width": 2}}]}"#
    let documents = [
      (true, #"{"regions": [{\#(region)}]}"#), (true, #"{"version": 1, "regions": [{\#(region), "zoom": [1, 2]}]}"#),
      (true, #"{"categories": {"c": {"zoom": 3}}, "regions": [{\#(region), "bounds": [170, 1, -170, 2]}]}"#),
      (true, #"{"regions": [{\#(region), "bounds": [170, 1, 190, 2]}]}"#),
      (true, #"{"regions": [{\#(region), "matrix": {"id": "G", "tileEdges": [8, 2], "tileSizes": [288]}}]}"#),
      (true, #"{"regions": [{\#(region), "scale": "auto", "bands": [4, 3, 2], "alpha": "none"}]}"#),
      (true, #"{"regions": [{\#(region), "scale": [4400, 0], "bands": [2], "alpha": 5, "resampling": "mode"}]}"#),
      (true, #"{"regions": [{\#(layered) [{"type": "relief", "dem": ["x"], "tint": [[0, "red"]]}]}]}"#),
      (
        true,
        #"""
        {"regions": [{\#(layered) [{"type": "relief", "dem": ["x"], "overlay": true, "shadowColor": "#213a5c",
          "highlightColor": "#fff0d0"}]}]}
        """#
      ), (true, #"{"regions": [{\#(layered) [{"type": "raster", "sources": [{"file": "x"}]}]}]}"#),
      (true, #"{"regions": [{\#(layered) [{"type": "raster", "sources": ["x"]}, \#(lines)]}]}"#),
      (
        true,
        #"{"regions": [{\#(layered) [{"type": "raster", "sources": [{"file": "x", "bands": [4], "alpha": 1}]}]}]}"#
      ), (false, #"{"regions": [{\#(layered) [{"type": "relief", "dem": [{"file": "x", "bands": [4]}]}]}]}"#),
      (true, #"{"regions": [{\#(layered) [{"type": "relief", "dem": [{"file": "x", "nodata": [4]}]}]}]}"#),
      (false, #"{"regions": [{\#(layered) [{"type": "raster", "sources": [{"file": "x", "bands": [1, 2]}]}]}]}"#),
      (
        true,
        #"""
        {"regions": [{\#(layered) [\#(raster), {"type": "contours", "dem": ["x"], "interval": 20, "indexEvery": 4},
          {"type": "graticule", "interval": 0.5, "images": {"hut": "hut.svg"}, "style": [{"type": "symbol"}]}]}]}
        """#
      ), (true, #"{"regions": [{\#(layered) [\#(raster), {"type": "graticule"}]}]}"#),
      (false, #"{"regions": [{\#(layered) [\#(raster), {"type": "graticule", "interval": 0.00027777}]}]}"#),
      (false, #"{"regions": [{\#(layered) [\#(raster), {"type": "graticule", "dem": ["x"]}]}]}"#),
      (false, #"{"regions": [{\#(layered) [\#(raster), {"type": "graticule", "images": {"hut": 5}}]}]}"#),
      (false, #"{"regions": [{\#(layered) [\#(raster), {"type": "graticule", "images": {}}]}]}"#),
      (false, #"{"regions": [{\#(layered) [\#(raster), {"type": "contours", "dem": ["x"]}]}]}"#),
      (false, #"{"regions": [{\#(layered) [\#(raster), {"type": "contours", "dem": ["x"], "interval": 0}]}]}"#),
      (
        false,
        #"""
        {"regions": [{\#(layered) [\#(raster),
          {"type": "contours", "dem": ["x"], "interval": 5, "indexEvery": 0}]}]}
        """#
      ),
      (false, #"{"regions": [{\#(layered) [\#(lines)]}]}"#),
      (false, #"{"regions": [{\#(layered) []}]}"#), (false, #"{"regions": [{\#(layered) [{"type": "relief"}]}]}"#),
      (false, #"{"regions": [{\#(layered) [{"type": "relief", "dem": ["x"], "shading": "cel"}]}]}"#),
      (false, #"{"regions": [{\#(layered) [{"type": "relief", "dem": ["x"], "strength": 2}]}]}"#),
      (false, #"{"regions": [{\#(region), "scale": [1, 1]}]}"#),
      (false, #"{"regions": [{\#(region), "scale": "all"}]}"#),
      (false, #"{"regions": [{\#(region), "bands": [1, 2]}]}"#),
      (false, #"{"regions": [{\#(region), "bands": [0]}]}"#),
      (false, #"{"regions": [{\#(region), "bands": [1.5]}]}"#),
      (false, #"{"regions": [{\#(region), "alpha": 0}]}"#),
      (false, #"{"regions": [{\#(region), "alpha": "no"}]}"#),
      (false, #"{"regions": []}"#), (false, #"{"regions": [{\#(region), "zooms": 3}]}"#),
      (false, #"{"regions": [{\#(region), "zoom": [0, 31]}]}"#),
      (false, #"{"regions": [{\#(region), "format": "gif"}]}"#),
      (true, #"{"regions": [{\#(region), "container": "pmtiles"}]}"#),
      (false, #"{"regions": [{\#(region), "container": "folder"}]}"#),
      (false, #"{"defaults": {"id": "a"}, "regions": [{\#(region)}]}"#), (false, #"{"regions": [{"id": "a"}]}"#),
      (false, #"{"regions": [{\#(region), "edition": "a/b"}]}"#),
      (false, #"{"version": 2, "regions": [{\#(region)}]}"#),
      (false, #"{"regions": [{\#(region), "packBytes": 5}]}"#),
      (false, #"{"regions": [{\#(region), "bounds": [0, 0]}]}"#),
      (false, #"{"regions": [{\#(region), "preview": {"width": "x"}}]}"#),
    ]
    let folder = try TemporaryFolder()
    var paths = [ProjectFiles.path("sample-regions/regions.json")]
    for (index, document) in documents.enumerated() { paths.append(try folder.write("\(index).json", document.1)) }
    let python = try #require(Command(installed: "python3"))
    let run = try python.run(["-c", Self.validator, ProjectFiles.path("docs/reference/regions.schema.json")] + paths)
    #expect(run.stdoutLines.map { $0 == "ok" } == [true] + documents.map(\.0), "\(run)")
    for (path, expected) in zip(paths, [true] + documents.map(\.0)) {
      #expect(((try? RegionManifest(path: path)) != nil) == expected, "\(path)")
    }
  }
}
