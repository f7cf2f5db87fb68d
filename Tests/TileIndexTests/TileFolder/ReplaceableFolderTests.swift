import Foundation
import TestSupport
import Testing

@testable import TileIndex

/// Folders of others are never replaced, whatever their names look like.
@Suite(.ownThread) struct ReplaceableFolderTests {
  let folder: TemporaryFolder
  let source: any BundleReader

  init() throws {
    folder = try TemporaryFolder()
    source = try BundleFile.open(folder.writeBundle("source.mbtiles", zooms: 0...2))
  }

  private func write(_ name: String, _ text: String = "precious") throws {
    let path = folder.file(name)
    try FileManager.default.createDirectory(
      atPath: (path as NSString).deletingLastPathComponent, withIntermediateDirectories: true)
    try Data(text.utf8).write(to: URL(fileURLWithPath: path))
  }

  private func convert() throws { try BundleConvert().write(source, to: folder.file("out/"), replacing: true) }

  @Test(arguments: [
    // Photos by date; the last two have the names of tiles.
    "2024/05/IMG_0001.jpg", "12/24/IMG_0001.jpg", "12/24/1234.jpg", "12/5/7.png", "3/notes.txt", "3/4/5/6.png", "3",
    "index.html", "metadata.json", "12/24", ".hidden", "12/.hidden", "12/24/.hidden", "7/8/9.tif",
  ]) func foldersOfOthersAreKept(name: String) throws {
    try write("out/\(name)")
    let error = #expect(throws: BundleError.self) { try convert() }
    #expect(error?.code == .exists && error?.remedy != nil)
    #expect(try folder.bytes("out/\(name)") == Data("precious".utf8))
    #expect(folder.names == ["out", "source.mbtiles"])
  }

  @Test(arguments: ["2024/05/a.jpg", "1/0/mine.png", "1/notes.txt", "0/0/0/0.png", "letters", "1/0/7.tif", "0/0/.a"])
  func whatLiesInOurOwnFoldersIsKept(name: String) throws {
    try convert()
    try write("out/\(name)")
    let error = #expect(throws: BundleError.self) { try convert() }
    #expect(error?.code == .exists && error?.message.contains("which no folder of tiles has") == true)
    #expect(try folder.bytes("out/\(name)") == Data("precious".utf8))
  }

  @Test func linksAreKept() throws {
    try convert()
    try write("photos/1.png")
    try FileManager.default.createSymbolicLink(
      atPath: folder.file("out/9"), withDestinationPath: folder.file("photos"))
    #expect(throws: BundleError.self) { try convert() }
    #expect(try FileManager.default.destinationOfSymbolicLink(atPath: folder.file("out/9")) == folder.file("photos"))
  }

  /// While the new tiles were written somebody put a file into the old folder.
  @Test func filesThatComeMeanwhileAreKept() throws {
    try convert()
    let writer = try TileFolderWriter(
      path: folder.file("out/"), matrixSet: .webMercatorQuad, format: .png, replacing: true)
    try writer.put(TileID(unchecked: 0, 0, 0), blob(1))
    try write("out/1/letter.txt")
    let error = #expect(throws: BundleError.self) {
      _ = try writer.finish(BundleMetadata(name: "new"))
    }
    #expect(error?.code == .exists)
    #expect(try folder.bytes("out/1/letter.txt") == Data("precious".utf8))
    #expect(try TilesHash.of(BundleFile.open(folder.file("out"))) == TilesHash.of(source))
    #expect(folder.names == ["out", "source.mbtiles"])
  }

  @Test func ownAndEmptyFoldersAreReplaced() throws {
    try FileManager.default.createDirectory(atPath: folder.file("out"), withIntermediateDirectories: false)
    for _ in 0..<2 { try convert() }
    #expect(try TilesHash.of(BundleFile.open(folder.file("out"))) == TilesHash.of(source))
    #expect(folder.names == ["out", "source.mbtiles"])
  }
}
