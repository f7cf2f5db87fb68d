import Foundation
import Support
import TestSupport
import Testing

@testable import TileIndex

@Suite(.ownThread) struct TileFolderWriterTests {
  let folder: TemporaryFolder
  init() throws { folder = try TemporaryFolder() }

  @discardableResult
  func write(
    _ name: String = "map/", scheme: TileScheme = .xyz, replacing: Bool = false, seed: UInt8 = 1,
    matrixSet: TileMatrixSet = .webMercatorQuad
  ) throws -> BundleSummary {
    let writer = try TileFolderWriter(
      path: folder.file(name), matrixSet: matrixSet, format: .png, replacing: replacing, scheme: scheme)
    for tile in [TileID(unchecked: 0, 0, 0), TileID(unchecked: 1, 1, 0), TileID(unchecked: 1, 0, 1)] {
      try writer.put(tile, blob(seed))
    }
    return try writer.finish(BundleMetadata(name: "A <b> & \"c\"", attribution: "<a href='x'>us</a>"))
  }

  @Test(arguments: TileScheme.allCases) func rowsFollowTheScheme(scheme: TileScheme) throws {
    let summary = try write(scheme: scheme)
    #expect(summary.tiles == 3 && summary.maxZoom == 1)
    #expect(folder.names == ["map"])
    let row = scheme == .xyz ? 0 : 1
    #expect(FileManager.default.fileExists(atPath: folder.file("map/1/1/\(row).png")))
    let reader = try TileFolderReader(path: folder.file("map"))
    #expect(try reader.tile(TileID(unchecked: 1, 1, 0)) == blob(1))
    #expect(try reader.tile(TileID(unchecked: 1, 1, 1)) == nil)
    #expect(reader.isTMS == (scheme == .tms) && reader.metadata.name == "A <b> & \"c\"")
    let json = try JSONValue(parsing: Array(folder.bytes("map/tiles.json")))
    #expect(json["tilejson"]?.string == "3.0.0" && json["scheme"]?.string == scheme.rawValue)
    #expect(json["tiles"]?.array == [.string("{z}/{x}/{y}.png")])
    let page = String(decoding: try folder.bytes("map/index.html"), as: UTF8.self)
    #expect(page.contains("<title>A &lt;b&gt; &amp; &quot;c&quot;</title>") && page.contains(">us</p>"))
    #expect(page.contains("\"tms\":\(scheme == .tms)"))
  }

  /// TileJSON has one grid; the page shows every one.
  @Test func otherGridsHaveNoTileJSON() throws {
    try write(matrixSet: .worldCRS84Quad)
    #expect(try TileFolderReader(path: folder.file("map")).matrixSet == .worldCRS84Quad)
    #expect(!FileManager.default.fileExists(atPath: folder.file("map/tiles.json")))
    #expect(FileManager.default.fileExists(atPath: folder.file("map/index.html")))
  }

  @Test func existingFoldersAreReplacedOnlyWhenAsked() throws {
    try write()
    let error = #expect(throws: BundleError.self) { try write(seed: 2) }
    #expect(error?.code == .exists)
    try write(replacing: true, seed: 2)
    #expect(try TileFolderReader(path: folder.file("map")).tile(TileID(unchecked: 0, 0, 0)) == blob(2))
    #expect(folder.names == ["map"])
    // An empty folder is as good as none.
    try FileManager.default.createDirectory(atPath: folder.file("empty"), withIntermediateDirectories: false)
    try write("empty/")
  }

  /// Whatever else a folder holds would be lost.
  @Test func foldersWithOtherFilesAreNeverReplaced() throws {
    try write()
    try folder.write("map/letters.txt", "dear")
    let error = #expect(throws: BundleError.self) { try write(replacing: true) }
    #expect(error?.code == .exists && error?.message.contains("letters.txt") == true)
    try folder.write("file", "x")
    #expect(throws: BundleError.self) { try write("file/", replacing: true) }
    try FileManager.default.createSymbolicLink(atPath: folder.file("link"), withDestinationPath: folder.file("map"))
    #expect(throws: BundleError.self) { try write("link/", replacing: true) }
    #expect(try folder.bytes("map/letters.txt").count == 4)
  }

  @Test func unfinishedWritersLeaveNothing() throws {
    for _ in 0..<2 {
      let writer = try TileFolderWriter(path: folder.file("map/"), matrixSet: .webMercatorQuad, format: .png)
      try writer.put(TileID(unchecked: 5, 3, 3), blob(1))
      let error = #expect(throws: BundleError.self) { try writer.put(TileID(unchecked: 5, 3, 3), blob(1)) }
      #expect(error?.message.contains("twice") == true && folder.names.count == 1)
    }
    #expect(folder.names == [])
  }
}
