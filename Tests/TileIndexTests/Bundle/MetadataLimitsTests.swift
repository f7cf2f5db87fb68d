import Support
import TestSupport
import Testing
import TileIndex

/// Metadata and places are in memory, so they are limited alike in every container: what is above is refused, and what
/// is left out of a copy is said.
@Suite(.ownThread) struct MetadataLimitsTests {
  let folder: TemporaryFolder
  init() throws { folder = try TemporaryFolder() }

  private func bundle(_ name: String) throws -> String {
    let sink = try BundleFile.create(folder.file(name), matrixSet: .webMercatorQuad, format: .png)
    defer { sink.discard() }
    try sink.put(TileID(unchecked: 0, 0, 0), SampleTiles.image(1))
    try sink.write(places: [Place(name: "Here", kind: "town", longitude: 1, latitude: 2, importance: 1)])
    _ = try sink.finish(BundleMetadata(name: "map"))
    return folder.file(name)
  }

  private func change(_ path: String, _ sql: String) throws {
    let connection = try SQLiteConnection(creating: path)
    try connection.execute(sql)
    try connection.close()
  }

  private func refusal(_ path: String) -> BundleError? {
    #expect(throws: BundleError.self) { try BundleFile.open(path).places() }
  }

  /// 18 MB in one text.
  private static let long = "hex(zeroblob(9000000))"

  @Test func longRowsAreRefusedInEveryContainer() throws {
    let mbtiles = try bundle("a.mbtiles")
    try change(mbtiles, "INSERT INTO metadata VALUES ('json', \(Self.long))")
    let package = try bundle("a.gpkg")
    try change(package, "UPDATE gpkg_metadata SET metadata = '{\"name\":\"' || \(Self.long) || '\"}'")
    let tiles = try bundle("tiles/")
    let text = #"{"name":""# + String(repeating: "0", count: 17 << 20) + #""}"#
    try folder.write("tiles/metadata.json", text)
    var archive = SmallArchive()
    archive.tiles = [0: try SampleTiles.image(1)]
    archive.metadata = Array((#"{"json":""# + String(repeating: "0", count: 2 << 20) + #""}"#).utf8)
    let pmtiles = try folder.write("a.pmtiles", bytes: archive.bytes)
    for path in [mbtiles, package, tiles, pmtiles] {
      let error = refusal(path)
      #expect(error?.code == .malformed && error?.remedy != nil, "\(path): \(error?.description ?? "")")
      #expect(error?.description.contains(path.hasSuffix("/") ? "tiles" : path) == true)
    }
  }

  @Test func tooManyRowsAreRefused() throws {
    let path = try bundle("a.mbtiles")
    try change(
      path,
      """
      WITH n(i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM n WHERE i < 1000)
      INSERT INTO metadata SELECT 'n' || i, i FROM n
      """
    )
    #expect(refusal(path)?.message.contains("more than 1000 rows") == true)
  }

  /// Each value of a JSON document takes dozens of bytes of memory.
  @Test func documentsOfMillionsOfValuesAreRefused() throws {
    _ = try bundle("tiles/")
    try folder.write("tiles/places.geojson", "[" + String(repeating: "0,", count: 2_100_000) + "0]")
    let error = refusal(folder.file("tiles"))
    #expect(error?.code == .malformed && error?.message.contains("values") == true, "\(error?.description ?? "")")
  }

  /// A place that cannot be stored is not searched for, and stops a copy, which would lose it in silence.
  @Test(arguments: ["a.gpkg", "tiles/"]) func placesThatCannotBeCopiedAreSaid(name: String) throws {
    let path = try bundle(name)
    let places =
      #"{"type":"FeatureCollection","features":[{"type":"Feature","geometry":{"type":"Point","coordinates":[1,2]},"#
      + #""properties":{"name":"Good"}},{"type":"Feature","geometry":{"type":"Point","coordinates":[1,200]},"#
      + #""properties":{"name":"Beyond"}}]}"#
    if name == "tiles/" {
      try folder.write("tiles/places.geojson", places)
    } else {
      try change(path, "UPDATE gpkg_metadata SET metadata = '\(places)' WHERE metadata LIKE '%FeatureCollection%'")
    }
    let reader = try BundleFile.open(path)
    #expect(try reader.places().map(\.name) == ["Good"])
    let error = #expect(throws: BundleError.self) {
      try BundleConvert().write(reader, to: folder.file("copy.mbtiles"))
    }
    #expect(error?.message.contains("Beyond") == true, "\(error?.description ?? "")")
    #expect(!folder.names.contains("copy.mbtiles"))
  }

  /// A view has rows that are in no page of the file, perhaps without end.
  @Test func patchesWithViewsAreRefused() throws {
    let (old, new) = (try bundle("old.mbtiles"), try bundle("new.mbtiles"))
    for table in ["info", "tiles"] {
      let patch = folder.file("\(table).patch")
      _ = try BundlePatch.diff(old: old, new: new, output: patch)
      try change(
        patch,
        """
        ALTER TABLE \(table) RENAME TO other;
        CREATE VIEW \(table) AS WITH RECURSIVE n(i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM n)
        SELECT other.* FROM n, other;
        """)
      let error = #expect(throws: BundleError.self) {
        try BundlePatch.apply(patch, to: old, output: folder.file("out.mbtiles"))
      }
      #expect(error?.message.contains("views") == true, "\(error?.description ?? "")")
    }
    #expect(!folder.names.contains("out.mbtiles"))
  }
}
