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

  /// The tiles of a foreign bundle, as mb-util leaves them.
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

  @Test(arguments: ["png", "jpg", "jpeg", "webp", "pbf", "mvt", "PNG"]) func allExtensions(_ name: String) throws {
    try putTiles(name)
    #expect(TileFolderReader.isTileFolder(folder.path))
    try expectTiles()
    #expect(try TileFolderReader(path: folder.path).metadata.format == TileFormat(lenient: name))
  }

  /// The rows of the two schemes; the document's word counts, the file of gdal2tiles only without it.
  @Test(arguments: [
    (nil, false, false), ("xyz", false, false), ("tms", false, true), (nil, true, true), ("xyz", true, false),
    ("TMS", true, true),
  ]) func schemes(scheme: String?, hasResource: Bool, isTMS: Bool) throws {
    try putTiles(isTMS: isTMS)
    if let scheme { try put("metadata.json", #"{"name": "n", "scheme": "\#(scheme)"}"#) }
    if hasResource { try put("tilemapresource.xml", Self.resource(profile: "mercator")) }
    try expectTiles()
    #expect(try TileFolderReader(path: folder.path).metadata["scheme"] == nil)
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

  @Test func gridsOfGDAL2Tiles() throws {
    try put("0/1/0.png", blob(1))
    try put("1/3/0.png", blob(2))
    try put("tilemapresource.xml", Self.resource(profile: "geodetic", crs: "EPSG:4326"))
    let reader = try TileFolderReader(path: folder.path)
    #expect(reader.matrixSet == .worldCRS84Quad)
    #expect(reader.metadata.name == "A & B")
    #expect(try reader.tile(TileID(unchecked: 0, 1, 0)) == blob(1))
    #expect(try reader.tile(TileID(unchecked: 1, 3, 1)) == blob(2))
    for (profile, units, word) in [("geodetic", "1.40625", "tmscompatible"), ("raster", "1", "mercator")] {
      try put("tilemapresource.xml", Self.resource(profile: profile, units: units, crs: "EPSG:4326"))
      let error = #expect(throws: BundleError.self) { try TileFolderReader(path: folder.path) }
      #expect(error?.code == .malformed && error?.remedy?.contains(word) == true)
    }
    try put("tilemapresource.xml", Self.resource(profile: "local", crs: "EPSG:2056"))
    let error = #expect(throws: BundleError.self) { try TileFolderReader(path: folder.path) }
    #expect(error?.message.contains("EPSG:2056") == true)
  }

  @Test func gridsFromTheDocument() throws {
    try put("0/1/0.png", blob(1))
    try put("metadata.json", #"{"tile_matrix_set": "WorldCRS84Quad"}"#)
    #expect(try TileFolderReader(path: folder.path).matrixSet == .worldCRS84Quad)
    #expect(try TileFolderReader(path: folder.path).tile(TileID(unchecked: 0, 1, 0)) == blob(1))
    try put("metadata.json", #"{"tile_matrix_set": "Other"}"#)
    #expect(throws: BundleError.self) { try TileFolderReader(path: folder.path) }
    #expect(try TileFolderReader(path: folder.path, matrixSet: .webMercatorQuad).matrixSet == .webMercatorQuad)
  }

  /// Strings as mb-util and tippecanoe write them, or TileJSON's own kinds.
  @Test func metadataOfBothKinds() throws {
    try putTiles()
    try put(
      "metadata.json",
      #"{"name": "Maps", "minzoom": 0, "maxzoom": "2", "bounds": [-180, -85, 180.0, 85], "json": "{\"vector_layers\":[]}"}"#
    )
    let metadata = try TileFolderReader(path: folder.path).metadata
    #expect(metadata.name == "Maps" && metadata.minZoom == 0 && metadata.maxZoom == 2)
    #expect(metadata.bounds == BoundingBox(west: -180, south: -85, east: 180, north: 85))
    #expect(metadata.json == #"{"vector_layers":[]}"#)
    #expect(metadata.format == .png)
  }

  @Test func brokenDocumentsAreNamed() throws {
    try putTiles()
    for text in ["{\n\"name\": }", "[]"] {
      try put("metadata.json", text)
      let error = #expect(throws: BundleError.self) { try TileFolderReader(path: folder.path) }
      #expect(error?.code == .malformed && error?.message.contains("metadata.json") == true)
    }
    try put("metadata.json", "")
    try expectTiles()
  }

  @Test func twoFormatsInOneFolder() throws {
    try putTiles()
    try put("2/1/2.jpg", [0xff, 0xd8, 0xff, 1])
    try put("2/2/1.jpg", [0xff, 0xd8, 0xff, 2])
    try put("2/3/1.jpg", [0xff, 0xd8, 0xff, 3])
    try expectTiles()
    #expect(try TileFolderReader(path: folder.path).tile(TileID(unchecked: 2, 1, 2)) == [0xff, 0xd8, 0xff, 1])
  }

  /// What lies about in real folders.
  @Test func otherNamesAreNoTiles() throws {
    try putTiles()
    for name in [
      "index.html", ".DS_Store", "2/readme.txt", "2/1/0.png.aux.xml", "2/1/00.png", "2/1/-1.png", "2/01/0.png",
      "2/1/9.png",
      "2/9/0.png", "31/0/0.png", "99999999999999999999/0/0.png", "3/0/.png", "4/x/0.png", "2/1/1e0.png", "5/0/0.gif",
    ] { try put(name, blob(1)) }
    try put("6/0/0.png/inside", "a folder with a tile's name")
    try put("2/0/0.png", [])
    let reader = try TileFolderReader(path: folder.path)
    #expect(try reader.tile(TileID(unchecked: 2, 0, 0)) == nil)
    #expect(try reader.tile(TileID(unchecked: 6, 0, 0)) == nil)
    #expect(try reader.tile(TileID(unchecked: 2, 1, 3)) == blob(4))
    #expect(try Set([0, 1, 2]).isSubset(of: reader.zooms()))
    #expect(try !reader.zooms().contains(5))
    #expect(try reader.range(zoom: 4) == nil)
  }

  @Test func tilesThatComeAndGoAreSeen() throws {
    try putTiles()
    let reader = try TileFolderReader(path: folder.path)
    try put("3/7/7.png", blob(8))
    #expect(try reader.tile(TileID(unchecked: 3, 7, 7)) == blob(8))
    try FileManager.default.removeItem(atPath: folder.file("0"))
    #expect(try reader.tile(TileID(unchecked: 0, 0, 0)) == nil)
    #expect(try reader.zooms() == [1, 2, 3])
  }

  @Test func linksMayLeadOut() throws {
    let other = try TemporaryFolder()
    try other.write("sea.png", bytes: blob(9))
    try putTiles()
    try FileManager.default.createSymbolicLink(
      atPath: folder.file("2/1/1.png"), withDestinationPath: other.file("sea.png"))
    let reader = try TileFolderReader(path: folder.path)
    #expect(try reader.tile(TileID(unchecked: 2, 1, 1)) == blob(9))
  }

  /// A pipe under a tile's name would otherwise be waited for until somebody writes into it.
  @Test func pipesAreNotWaitedFor() throws {
    try putTiles()
    guard let made = try run("mkfifo", [folder.file("2/1/1.png")]), made.status == 0 else {
      try Test.cancel("pipes cannot be made here")
    }
    #expect(try TileFolderReader(path: folder.path).tile(TileID(unchecked: 2, 1, 1)) == nil)
  }

  @Test func whatIsATileFolder() throws {
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
