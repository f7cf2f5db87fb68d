import Foundation
import TestSupport
import Testing
import TileIndex

@Suite(.ownThread) struct TileFolderReaderTests {
  let folder: TemporaryFolder
  init() throws { folder = try TemporaryFolder() }

  /// Writes a file and the folders above it.
  func put(_ name: String, _ bytes: [UInt8]) throws {
    let url = folder.url.appendingPathComponent(name)
    try FileManager.default.createDirectory(at: url.deletingLastPathComponent(), withIntermediateDirectories: true)
    try Data(bytes).write(to: url)
  }
  func put(_ name: String, _ text: String) throws { try put(name, Array(text.utf8)) }

  /// Writes the tiles of ``ForeignBundle`` in the layout of mb-util.
  func putTiles(_ fileExtension: String = "png", isTMS: Bool = false) throws {
    for (tile, bytes) in ForeignBundle.tiles {
      let row = isTMS ? (1 << tile.zoom) - 1 - tile.row : tile.row
      try put("\(tile.zoom)/\(tile.column)/\(row).\(fileExtension)", bytes)
    }
  }

  func expectTiles() throws {
    let reader = try TileFolderReader(path: folder.path)
    for (tile, bytes) in ForeignBundle.tiles { #expect(try reader.tile(tile) == bytes, "\(tile)") }
    #expect(try reader.tile(TileID(unchecked: 2, 0, 0)) == nil)
    #expect(try reader.tile(TileID(unchecked: 2, 4, 0)) == nil)
    #expect(try reader.zooms() == [0, 1, 2])
    #expect(try reader.range(zoom: 1) == TileRange(zoom: 1, columns: 0...1, rows: 0...1))
    #expect(try reader.range(zoom: 2) == TileRange(zoom: 2, columns: 1...3, rows: 0...3))
    #expect(try reader.range(zoom: 3) == nil)
  }

  @Test(arguments: ["png", "jpg", "jpeg", "webp", "pbf", "mvt", "PNG"]) func extensionsAreRecognised(_ name: String)
    throws
  {
    try putTiles(name)
    #expect(TileFolderReader.isTileFolder(folder.path))
    try expectTiles()
    #expect(try TileFolderReader(path: folder.path).metadata.format == TileFormat(lenient: name))
  }

  /// The scheme in metadata.json takes precedence over the presence of tilemapresource.xml.
  @Test(arguments: [
    (nil, false, false), ("xyz", false, false), ("tms", false, true), (nil, true, true), ("xyz", true, false),
    ("TMS", true, true),
  ]) func rowOrderFollowsScheme(scheme: String?, hasResource: Bool, isTMS: Bool) throws {
    try putTiles(isTMS: isTMS)
    if let scheme { try put("metadata.json", #"{"name": "n", "scheme": "\#(scheme)"}"#) }
    if hasResource { try put("tilemapresource.xml", Self.resource(profile: "mercator")) }
    try expectTiles()
    #expect(try TileFolderReader(path: folder.path).metadata["scheme"] == nil)
  }

  /// A folder may have no other document.
  @Test(arguments: ["tiles.json", "tilejson.json", "tile.json"], ["xyz", "tms"])
  func tileJSONAloneTellsTheOrderOfRows(_ name: String, scheme: String) throws {
    try putTiles(isTMS: scheme == "tms")
    try put(
      name,
      #"{"tilejson": "3.0.0", "name": "n", "tiles": ["{z}/{x}/{y}.png"], "bounds": [-180, -85, 180, 85], "#
        + #""scheme": "\#(scheme)"}"#
    )
    try expectTiles()
    let rows = try TileFolderReader(path: folder.path).metadata
    #expect(rows.name == "n" && rows["bounds"] == "-180,-85,180,85" && rows["tiles"] == nil && rows["tilejson"] == nil)
    // Where there are both, metadata.json alone counts.
    try put("metadata.json", #"{"scheme": "\#(scheme)", "name": "m"}"#)
    #expect(try TileFolderReader(path: folder.path).metadata.name == "m")
  }

  /// What gdal2tiles 3.10 writes with --xyz: for Google Earth the place of each of the coarsest tiles, nothing else.
  @Test(arguments: [
    ("3/7/2", BoundingBox(west: -22.5, south: 22.5, east: 0, north: 45), "WorldCRS84Quad", TileID(unchecked: 3, 7, 2)),
    ("3/7/5", BoundingBox(west: -22.5, south: 22.5, east: 0, north: 45), "WorldCRS84Quad", TileID(unchecked: 3, 7, 2)),
    ("3/3/2", BoundingBox(west: -45, south: 0, east: 0, north: 45), "WorldCRS84Quad", TileID(unchecked: 2, 3, 1)),
    (
      "3/3/3", BoundingBox(west: -45, south: 0, east: 0, north: 40.97989806962016), "WebMercatorQuad",
      TileID(unchecked: 3, 3, 3)
    ),
    (
      "3/3/4", BoundingBox(west: -45, south: 0, east: 0, north: 40.97989806962016), "WebMercatorQuad",
      TileID(unchecked: 3, 3, 3)
    ),
  ]) func documentsForGoogleEarthTellTheGrid(_ name: String, box: BoundingBox, grid: String, tile: TileID) throws {
    try put("\(name).png", blob(7))
    try put("doc.kml", Self.overlay(name, box))
    let reader = try TileFolderReader(path: folder.path)
    #expect(reader.matrixSet.identifier == grid)
    #expect(try reader.tile(tile) == blob(7))
    #expect(try reader.zooms() == [tile.zoom])
  }

  /// As gdal2tiles --xyz without --tmscompatible numbers rows: from 270 degrees north.
  @Test func placesOfNoGridAreRefused() throws {
    try put("3/3/5.png", blob(7))
    try put("doc.kml", Self.overlay("3/3/5", BoundingBox(west: -45, south: 0, east: 0, north: 45)))
    let error = #expect(throws: BundleError.self) { try TileFolderReader(path: folder.path) }
    #expect(error?.message.contains("doc.kml says that tile 3/3/5") == true, "\(String(describing: error))")
    #expect(error?.remedy?.contains("--tmscompatible") == true)
    // Who names the grid is believed; other documents of this name say nothing.
    #expect(throws: Never.self) { try TileFolderReader(path: folder.path, matrixSet: .webMercatorQuad) }
    for text in ["<kml><Document><name>my places</name></Document></kml>", "no XML", ""] {
      try put("doc.kml", text)
      #expect(try TileFolderReader(path: folder.path).matrixSet == .webMercatorQuad)
    }
  }

  private static func overlay(_ name: String, _ box: BoundingBox) -> String {
    """
    <?xml version="1.0" encoding="utf-8"?>
    <kml xmlns="http://www.opengis.net/kml/2.2"><Document><name>in.tif</name>
      <NetworkLink><name>\(name).png</name>
        <Region><LatLonAltBox><north>\(box.north)</north><south>\(box.south)</south>
          <east>\(box.east)</east><west>\(box.west)</west></LatLonAltBox></Region>
        <Link><href>\(name).kml</href></Link></NetworkLink>
    </Document></kml>
    """
  }

  static func resource(profile: String, units: String = "0.703125", crs: String = "EPSG:3857") -> String {
    """
    <?xml version="1.0" encoding="utf-8"?>
    <TileMap version="1.0.0" tilemapservice="http://tms.osgeo.org/1.0.0">
      <Title>A &amp; B</Title>
      <Abstract></Abstract>
      <SRS>\(crs)</SRS>
      <TileFormat width="256" height="256" mime-type="image/png" extension="png"/>
      <TileSets profile="\(profile)">
        <TileSet href="0" units-per-pixel="\(units)" order="0"/>
      </TileSets>
    </TileMap>
    """
  }

  @Test func gridsOfGDAL2TilesAreRead() throws {
    try put("0/1/0.png", blob(1))
    try put("1/3/0.png", blob(2))
    try put("tilemapresource.xml", Self.resource(profile: "geodetic", crs: "EPSG:4326"))
    let reader = try TileFolderReader(path: folder.path)
    #expect(reader.matrixSet == .worldCRS84Quad)
    #expect(reader.metadata.name == "A & B")
    #expect(try reader.tile(TileID(unchecked: 0, 1, 0)) == blob(1))
    #expect(try reader.tile(TileID(unchecked: 1, 3, 1)) == blob(2))
    // One tile of 360 degrees at zoom 0: zoom 1 has the tiles of WorldCRS84Quad's zoom 0.
    try put("tilemapresource.xml", Self.resource(profile: "geodetic", units: "1.40625", crs: "EPSG:4326"))
    let shifted = try TileFolderReader(path: folder.path)
    #expect(try shifted.zooms() == [0] && shifted.tile(TileID(unchecked: 0, 3, 0)) == nil)
    try put("tilemapresource.xml", Self.resource(profile: "raster", units: "1", crs: "EPSG:4326"))
    let raster = #expect(throws: BundleError.self) { try TileFolderReader(path: folder.path) }
    #expect(raster?.code == .malformed && raster?.remedy?.contains("mercator") == true)
    try put("tilemapresource.xml", Self.resource(profile: "local", crs: "EPSG:2056"))
    let error = #expect(throws: BundleError.self) { try TileFolderReader(path: folder.path) }
    #expect(error?.message.contains("EPSG:2056") == true)
  }

  /// Documents that a search for strings would misread: each states degrees and the title "A & B".
  @Test(arguments: [
    "<TileMap><Title>A &#38; B</Title><SRS>EPSG:4326</SRS><TileSets profile='geodetic'/></TileMap>",
    "<TileMap><Title><![CDATA[A & B]]></Title><TileSets\n  profile = \"geodetic\" /></TileMap>",
    "<TileMap><!-- <Title>C</Title> --><Title lang='en'>A &amp; B</Title><TileSets profile=\"geodetic\"/></TileMap>",
    "<t:TileMap xmlns:t='urn:t'><t:Title>A &amp; B</t:Title><t:TileSets profile='geodetic'/></t:TileMap>",
    "<TileMap><Title>A<!-- --> &amp; B</Title><SRS>&#69;PSG:4326</SRS></TileMap>",
    """
    <TileMap><Title>A &amp; B</Title><X note='>'/><TileSets note='profile="mercator"' profile='geodetic'/></TileMap>
    """,
  ]) func tileMapResourcesAreParsedAsXML(text: String) throws {
    try put("0/1/0.png", blob(1))
    try put("tilemapresource.xml", text)
    let reader = try TileFolderReader(path: folder.path)
    #expect(reader.matrixSet == .worldCRS84Quad)
    #expect(reader.metadata.name == "A & B")
  }

  @Test(arguments: [
    "<TileMap><Title>A</TileMap>", "<TileMap><TileSets profile=geodetic/></TileMap>", "no XML",
    "<!DOCTYPE TileMap [<!ENTITY e \"geodetic\">]><TileMap><TileSets profile=\"&e;\"/></TileMap>",
    "<!DOCTYPE TileMap [<!ENTITY e SYSTEM \"file:///etc/hostname\">]><TileMap><Title>&e;</Title></TileMap>",
  ]) func malformedAndHostileTileMapResourcesAreRefused(text: String) throws {
    try put("0/0/0.png", blob(1))
    try put("tilemapresource.xml", text)
    let error = #expect(throws: BundleError.self) { try TileFolderReader(path: folder.path) }
    #expect(error?.code == .malformed && error?.message.contains("tilemapresource.xml is not well-formed XML") == true)
    #expect(error?.remedy?.isEmpty == false)
  }

  @Test func emptyTileMapResourcesStateTheRowOrder() throws {
    try putTiles(isTMS: true)
    try put("tilemapresource.xml", "")
    try expectTiles()
  }

  @Test func gridIsReadFromMetadataJSON() throws {
    try put("0/1/0.png", blob(1))
    try put("metadata.json", #"{"tile_matrix_set": "WorldCRS84Quad"}"#)
    #expect(try TileFolderReader(path: folder.path).matrixSet == .worldCRS84Quad)
    #expect(try TileFolderReader(path: folder.path).tile(TileID(unchecked: 0, 1, 0)) == blob(1))
    try put("metadata.json", #"{"tile_matrix_set": "Other"}"#)
    #expect(throws: BundleError.self) { try TileFolderReader(path: folder.path) }
    #expect(try TileFolderReader(path: folder.path, matrixSet: .webMercatorQuad).matrixSet == .webMercatorQuad)
  }

  /// Strings as mb-util and tippecanoe write them, or typed values as in TileJSON.
  @Test func metadataMayBeStringsOrTypedValues() throws {
    try putTiles()
    try put(
      "metadata.json",
      #"""
      {"name": "Maps", "minzoom": 0, "maxzoom": "2", "bounds": [-180, -85, 180.0, 85], \#
      "json": "{\"vector_layers\":[]}"}
      """#
    )
    let metadata = try TileFolderReader(path: folder.path).metadata
    #expect(metadata.name == "Maps" && metadata.minZoom == 0 && metadata.maxZoom == 2)
    #expect(metadata.bounds == BoundingBox(west: -180, south: -85, east: 180, north: 85))
    #expect(metadata.json == #"{"vector_layers":[]}"#)
    #expect(metadata.format == .png)
  }

  @Test func malformedMetadataIsReported() throws {
    try putTiles()
    for text in ["{\n\"name\": }", "[]"] {
      try put("metadata.json", text)
      let error = #expect(throws: BundleError.self) { try TileFolderReader(path: folder.path) }
      #expect(error?.code == .malformed && error?.message.contains("metadata.json") == true)
    }
    try put("metadata.json", "")
    try expectTiles()
  }

  @Test func mixedExtensionsAreRead() throws {
    try putTiles()
    try put("2/1/2.jpg", [0xff, 0xd8, 0xff, 1])
    try put("2/2/1.jpg", [0xff, 0xd8, 0xff, 2])
    try put("2/3/1.jpg", [0xff, 0xd8, 0xff, 3])
    try expectTiles()
    #expect(try TileFolderReader(path: folder.path).tile(TileID(unchecked: 2, 1, 2)) == [0xff, 0xd8, 0xff, 1])
  }

  /// Other files found in real folders.
  @Test func otherFileNamesAreIgnored() throws {
    try putTiles()
    for name in [
      "index.html", ".DS_Store", "2/readme.txt", "2/1/0.png.aux.xml", "2/1/00.png", "2/1/-1.png", "2/01/0.png",
      "2/1/9.png",
      "2/9/0.png", "31/0/0.png", "99999999999999999999/0/0.png", "3/0/.png", "4/x/0.png", "2/1/1e0.png", "5/0/0.gif",
    ] { try put(name, blob(1)) }
    try put("6/0/0.png/inside", "a folder with a tile's name")
    try put("2/0/0.png", [])
    let reader = try TileFolderReader(path: folder.path)
    // What was emptied a moment ago may be about to be filled.
    #expect(eventually { (try? reader.tile(TileID(unchecked: 2, 0, 0))) == .some(nil) })
    #expect(try reader.tile(TileID(unchecked: 6, 0, 0)) == nil)
    #expect(try reader.tile(TileID(unchecked: 2, 1, 3)) == blob(4))
    #expect(try Set([0, 1, 2]).isSubset(of: reader.zooms()))
    #expect(try !reader.zooms().contains(5))
    #expect(try reader.range(zoom: 4) == nil)
  }

  @Test func addedAndRemovedTilesAreVisible() throws {
    try putTiles()
    let reader = try TileFolderReader(path: folder.path)
    try put("3/7/7.png", blob(8))
    #expect(try reader.tile(TileID(unchecked: 3, 7, 7)) == blob(8))
    try FileManager.default.removeItem(atPath: folder.file("0"))
    #expect(try reader.tile(TileID(unchecked: 0, 0, 0)) == nil)
    #expect(try reader.zooms() == [1, 2, 3])
  }

  @Test func symbolicLinksMayLeadOutOfTheFolder() throws {
    let other = try TemporaryFolder()
    try other.write("sea.png", bytes: blob(9))
    try putTiles()
    try FileManager.default.createSymbolicLink(
      atPath: folder.file("2/1/1.png"), withDestinationPath: other.file("sea.png"))
    let reader = try TileFolderReader(path: folder.path)
    #expect(try reader.tile(TileID(unchecked: 2, 1, 1)) == blob(9))
  }

  /// Opening a pipe would block until it has a writer.
  @Test func pipesDoNotBlock() throws {
    try putTiles()
    guard let made = try run("mkfifo", [folder.file("2/1/1.png")]), made.status == 0 else {
      try Test.cancel("pipes cannot be made here")
    }
    #expect(try TileFolderReader(path: folder.path).tile(TileID(unchecked: 2, 1, 1)) == nil)
  }

  @Test func tileFoldersAreDetected() throws {
    func make(_ names: [String]) throws -> Bool {
      let folder = try TemporaryFolder()
      for name in names {
        let url = folder.url.appendingPathComponent(name)
        try FileManager.default.createDirectory(at: url.deletingLastPathComponent(), withIntermediateDirectories: true)
        try Data([1]).write(to: url)
      }
      return TileFolderReader.isTileFolder(folder.path)
    }
    #expect(try make(["7/1/2.png"]))
    #expect(try make(["metadata.json", "7/empty"]))
    #expect(try make(["tilemapresource.xml", "0/0/0.jpg"]))
    #expect(try !make([]))
    #expect(try !make(["metadata.json", "a/0/0.png"]))
    #expect(try !make(["metadata.json", "7"]))
    #expect(try !make(["2024/05/01.jpg"]))
    #expect(try !make(["12/holiday/1.jpg"]))
    #expect(try !make(["1/2/3.txt"]))
    #expect(try !make(["a.mbtiles", "b/c.mbtiles"]))
    #expect(!TileFolderReader.isTileFolder(folder.file("nothing")))
  }
}

/// Reads the output of gdal2tiles for a real raster, in both of its row orders.
@Suite(.ownThread) struct GDAL2TilesFolderTests {
  @Test(arguments: [[], ["--xyz"]]) func bothRowOrdersAreRead(options: [String]) throws {
    let folder = try TemporaryFolder()
    let source = ProjectFiles.path("sample-regions/\(ProjectFiles.sampleRegions[1])")
    let names = try FileManager.default.contentsOfDirectory(atPath: source)
    let raster = try #require(names.first { $0.hasSuffix(".tif") })
    let arguments = ["--zoom=5-8", "--webviewer=none"] + options + ["\(source)/\(raster)", folder.file("out")]
    guard let made = try run("gdal2tiles.py", arguments), made.status == 0 else {
      try Test.cancel("gdal2tiles does not run here")
    }
    let reader = try BundleFile.open(folder.file("out"))
    #expect(reader is TileFolderReader)
    let zooms = try reader.zooms()
    #expect(zooms == [5, 6, 7, 8])
    // Every tile has a parent, which would fail with flipped rows.
    for zoom in zooms.dropFirst() {
      let range = try #require(try reader.range(zoom: zoom))
      for tile in range where try reader.tile(tile) != nil {
        let parent = try #require(reader.matrixSet.parent(of: tile))
        #expect(try reader.tile(parent) != nil, "\(tile)")
        #expect(tile.row < 1 << (zoom - 1), "the sample lies in the north")
      }
    }
  }
}
