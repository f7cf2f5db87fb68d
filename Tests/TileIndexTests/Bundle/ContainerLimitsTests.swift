import TestSupport
import Testing

@testable import TileIndex

/// Metadata and places that would fill the memory are refused in every container, with the file's name, and none are
/// left out in silence.
@Suite(.ownThread) struct ContainerLimitsTests {
  let folder: TemporaryFolder
  init() throws { folder = try TemporaryFolder() }

  static let containers = ["a.mbtiles", "a.gpkg", "a.pmtiles", "a/"]
  private static let feature =
    #"{"type":"Feature","properties":{"name":"NAME"},"geometry":{"type":"Point","coordinates":[1,LATITUDE]}}"#

  /// A bundle of one tile with other metadata than a writer accepts. As a folder it is named without the slash.
  private func write(_ name: String, _ rows: [(name: String, value: String)]) throws -> String {
    let sink = try BundleFile.create(folder.file(name), matrixSet: .webMercatorQuad, format: .png, replacing: true)
    try sink.put(TileID(unchecked: 0, 0, 0), Images.grey256)
    _ = try sink.finish(BundleMetadata(name: "map"))
    let members = rows.map { "\"\($0.name)\":\"\($0.value)\"" }.joined(separator: ",")
    switch name {
    case "a.mbtiles":
      let database = try Database(folder.file(name))
      try database.run("BEGIN")
      for row in rows { try database.run("INSERT INTO metadata VALUES ('\(row.name)', '\(row.value)')") }
      try database.run("COMMIT")
    case "a.gpkg": try Database(folder.file(name)).run("UPDATE gpkg_metadata SET metadata = '{\(members)}'")
    case "a.pmtiles": try writeArchive("{\(members)}")
    default: try folder.write("a/metadata.json", "{\(members)}")
    }
    return folder.file(name.hasSuffix("/") ? "a" : name)
  }

  private func writeArchive(_ metadata: String) throws {
    var archive = SmallArchive()
    archive.tiles = [0: Images.grey256]
    archive.metadata = Array(metadata.utf8)
    try folder.write("a.pmtiles", bytes: archive.bytes)
  }

  private func refusal(_ path: String, _ body: (String) throws -> Void = { _ = try BundleFile.open($0) })
    -> BundleError?
  {
    let error = #expect(throws: BundleError.self) { try body(path) }
    #expect(error?.code == .malformed && error?.path == path, "\(error?.description ?? "")")
    #expect(error?.remedy != nil)
    return error
  }

  @Test(arguments: containers) func manyRowsAreRefused(container: String) throws {
    let path = try write(container, (0..<1001).map { ("row\($0)", "") } + (0..<1001).map { ("other\($0)", "x") })
    #expect(refusal(path)?.message.contains("more than 1000 rows") == true)
  }

  @Test(arguments: containers) func longMetadataAreRefused(container: String) throws {
    let path = try write(container, (0..<6).map { ("row\($0)", String(repeating: "x", count: 900_000)) })
    #expect(refusal(path)?.message.contains("all rows") == true)
  }

  /// 18 MB in one text.
  @Test(arguments: containers) func longRowsAreRefused(container: String) throws {
    let path = try write(container, [("json", String(repeating: "0", count: 18_000_000))])
    _ = refusal(path)
  }

  /// Each value of a JSON document takes dozens of bytes of memory.
  @Test func documentsOfMillionsOfValuesAreRefused() throws {
    let path = try write("a/", [])
    try folder.write("a/places.geojson", "[" + String(repeating: "0,", count: 2_100_000) + "0]")
    let error = refusal(path) { _ = try BundleFile.open($0).places() }
    #expect(error?.message.contains("values") == true, "\(error?.description ?? "")")
  }

  /// A few kilobytes that become gigabytes: of text, and of values.
  @Test func compressedBombsAreRefused() throws {
    for metadata in [
      #"{"a":"\#(String(repeating: "x", count: 17 << 20))"}"#,
      #"{"a":[\#(String(repeating: "0,", count: 3_000_000))0]}"#,
    ] {
      try writeArchive(metadata)
      _ = refusal(folder.file("a.pmtiles"))
    }
  }

  @Test func titlesOfGeoPackagesAreLimited() throws {
    let path = try write("a.gpkg", [("credits", "a")])
    try Database(path).run("UPDATE gpkg_contents SET description = '\(String(repeating: "x", count: 2 << 20))'")
    _ = refusal(path)
  }

  @Test func descriptionsOfTilesetsAreLimited() throws {
    let long = String(repeating: "x", count: 2 << 20)
    let path = try folder.write(
      "a.tileset",
      String(decoding: ShardedTileset.magic, as: UTF8.self)
        + #""shardZoom":1,"shards":[{"root":"1/0/0","file":"b.mbtiles"}],"levels":[],"metadata":{"name":"\#(long)"}}"#)
    #expect(refusal(path)?.message.contains("too long") == true)
  }

  // MARK: - Places

  private func write(_ container: String, placeNames: [String], latitude: String = "2") throws -> String {
    let path = try write(container, [("credits", "a")])
    let features = placeNames.map { Self.feature.replacing("NAME", with: $0).replacing("LATITUDE", with: latitude) }
      .joined(separator: ",")
    let document = #"{"type":"FeatureCollection","features":[\#(features)]}"#
    switch container {
    case "a.mbtiles":
      let database = try Database(path)
      try database.run(PlaceTables.statements[0])
      for name in placeNames {
        try database.run("INSERT INTO places (name, kind, longitude, latitude, importance) VALUES ('\(name)','',1,2,0)")
      }
    case "a.gpkg":
      try Database(path).run(
        """
        INSERT INTO gpkg_metadata (md_scope, md_standard_uri, mime_type, metadata) VALUES ('dataset', \
        'https://www.rfc-editor.org/rfc/rfc7946', 'application/geo+json', '\(document)');
        INSERT INTO gpkg_metadata_reference (reference_scope, table_name, timestamp, md_file_id) SELECT 'table', \
        table_name, '2026-01-01T00:00:00.000Z', last_insert_rowid() FROM gpkg_contents
        """)
    case "a.pmtiles": try writeArchive(#"{"name":"a","places":\#(document)}"#)
    default: try folder.write("a/places.geojson", document)
    }
    return path
  }

  /// A place that lies nowhere, in the containers whose places are a document.
  @Test(arguments: ["a.gpkg", "a.pmtiles", "a/"]) func placesBeyondThePolesStopACopy(container: String) throws {
    let path = try write(container, placeNames: ["Here", "Beyond"], latitude: "200")
    #expect(try BundleFile.open(path).places().valid.isEmpty)
    let error = refusal(path) {
      try BundleConvert().write(BundleFile.open($0), to: folder.file("copy.mbtiles"))
    }
    #expect(error?.message.contains("Here") == true, "\(error?.description ?? "")")
    #expect(!folder.names.contains("copy.mbtiles"))
  }

  /// The map is shown with the places that are valid; a copy would lose the others.
  @Test(arguments: containers) func placesAreNotLeftOutOfCopies(container: String) throws {
    let path = try write(container, placeNames: ["Here", String(repeating: "n", count: 1001)])
    let reader = try BundleFile.open(path)
    #expect(try reader.places().valid.map(\.name) == ["Here"])
    let error = refusal(path) {
      try BundleConvert().write(BundleFile.open($0), to: folder.file("copy.mbtiles"))
    }
    #expect(error?.message.contains("more than 1000 bytes") == true)
    #expect(!folder.names.contains("copy.mbtiles"))
  }

  @Test(arguments: containers) func placesWithGiantNamesAreRefused(container: String) throws {
    let path = try write(container, placeNames: [String(repeating: "n", count: 17 << 20)])
    _ = refusal(path) { _ = try BundleFile.open($0).places() }
  }
}
