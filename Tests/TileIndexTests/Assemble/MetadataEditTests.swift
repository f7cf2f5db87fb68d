import Foundation
import TestSupport
import Testing

@testable import TileIndex

@Suite(.ownThread) struct MetadataEditTests {
  let folder: TemporaryFolder
  init() throws { folder = try TemporaryFolder() }

  func bundle(_ name: String) throws -> String {
    let source = try folder.writeBundle("source.mbtiles", zooms: 0...2, places: BundleConvertTests.places)
    if name != "source.mbtiles" { try BundleConvert().write(BundleFile.open(source), to: folder.file(name)) }
    return folder.file(name)
  }

  @Test(arguments: ["source.mbtiles", "a.pmtiles", "a/"]) func rowsAreSetAndRemoved(name: String) throws {
    let path = try bundle(name)
    let before = try BundleFile.open(path)
    let tiles = try TilesHash.of(before)
    for (row, value) in [
      ("attribution", "© ä \"us\""), ("attribution", "them"), ("edition", "2"),
      ("bounds", "-179.5,-80,179,80.123456789"),
      ("center", "0,1.5,2"), ("version", "3"), ("type", "overlay"),
    ] {
      try MetadataEdit(name: row, value: value).apply(to: path)
      #expect(try BundleFile.open(path).metadata[row] == value, "\(row)")
    }
    try MetadataEdit(name: "edition", value: nil).apply(to: path)
    let after = try BundleFile.open(path)
    #expect(after.metadata["edition"] == nil && after.metadata["name"] == before.metadata["name"])
    #expect(try TilesHash.of(after) == tiles && after.places().all() == before.places().all())
    let report = try BundleVerifier(path: path) { _, _ in nil }.verify()
    #expect(report.isValid, "\(report.outcomes.flatMap(\.findings))")
    #expect(!folder.names.contains { $0.hasSuffix(".partial") })
    if let archive = (after as? PMTilesReader)?.archive {
      #expect(archive.header.bounds.west == -179.5 && archive.header.center.zoom == 2)
    }
  }

  @Test(
    arguments: [
      ("name", ""), ("name", nil), ("format", "jpg"), ("format", nil), ("format", "foo/bar/baz"), ("type", "layer"),
      ("version", "1.2.3"), ("minzoom", "1"), ("maxzoom", "9"), ("bounds", "1,2,3"), ("bounds", "3,4,1,2"),
      ("bounds", "3,2,3,4"), ("bounds", "600,2,601,4"),
      ("bounds", "-180,-90,180,90"), ("center", "0,0"), ("center", "600,0,1"), ("center", "0,0,7"), ("json", "[1]"),
      ("json", "{"), ("tile_matrix_set", "x"), ("", "x"), ("a\0b", "x"), ("x", "a\0b"),
    ] as [(String, String?)]) func valuesThatBreakARuleAreRefused(name: String, value: String?) throws
  {
    let path = try bundle("source.mbtiles")
    let before = try folder.bytes("source.mbtiles")
    let error = #expect(throws: BundleError.self) { try MetadataEdit(name: name, value: value).apply(to: path) }
    #expect(error?.code == .invalidContent && error?.remedy != nil)
    #expect(try folder.bytes("source.mbtiles") == before)
  }

  /// One rule for longitudes in all commands.
  @Test(
    arguments: [
      ("bounds", "175,-18,185,-12", "-180,-18,180,-12"), ("bounds", "175,-18,-175,-12", "-180,-18,180,-12"),
      ("bounds", "185,-18,190,-12", "-175,-18,-170,-12"), ("bounds", "10,-18,20,-12", "10,-18,20,-12"),
      ("center", "190,0,1", "-170,0,1"), ("center", "180,0,1", "180,0,1"),
    ]) func longitudesATurnAwayAreStoredWithinTheWorld(name: String, value: String, stored: String) throws
  {
    let path = try bundle("source.mbtiles")
    #expect(try MetadataEdit(name: name, value: value).apply(to: path) == stored)
    #expect(try BundleFile.open(path).metadata[name] == stored)
  }

  @Test func aCenterWithoutBoundsLiesInTheTiles() throws {
    let path = folder.file("part.mbtiles")
    let writer = try BundleWriter(path: path, matrixSet: .webMercatorQuad, format: .png)
    try writer.put(TileID(unchecked: 3, 1, 1), Images.grey256)
    _ = try writer.finish(BundleMetadata(name: "part"))
    try MetadataEdit(name: "bounds", value: nil).apply(to: path)
    let error = #expect(throws: BundleError.self) { try MetadataEdit(name: "center", value: "10,0,3").apply(to: path) }
    #expect(error?.message.contains("outside the tiles") == true)
    try MetadataEdit(name: "center", value: "-120,75,3").apply(to: path)
  }

  @Test func missingRowsCannotBeRemoved() throws {
    let path = try bundle("source.mbtiles")
    let error = #expect(throws: BundleError.self) { try MetadataEdit(name: "x", value: nil).apply(to: path) }
    #expect(error?.code == .notFound)
  }

  /// A bundle of another maker, with a row twice and without a unique index.
  @Test func bundlesOfOtherMakersAreChangedInPlace() throws {
    let path = folder.file("a.mbtiles")
    try Database(path).run(ForeignBundle.flat() + "INSERT INTO metadata VALUES ('name', 'again')")
    try MetadataEdit(name: "name", value: "Mine").apply(to: path)
    #expect(
      try MBTilesReader(path: path).metadata.entries.filter { $0.name == "name" }.map(\.value) == ["Mine", "Mine"])
    try Database(folder.file("b.mbtiles")).run(ForeignBundle.withoutRowid)
    try MetadataEdit(name: "name", value: "Mine").apply(to: folder.file("b.mbtiles"))
    #expect(try MBTilesReader(path: folder.file("b.mbtiles")).metadata["name"] == "Mine")
  }
}
