import Foundation
import TestSupport
import Testing
import TileIndex

/// What gdal2tiles makes of a real raster is read tile by tile, in both of its row orders.
@Suite(.ownThread) struct GDAL2TilesFolderTests {
  @Test(arguments: [[], ["--xyz"]]) func isReadAsItIs(options: [String]) throws {
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
    // A parent of every tile exists: with the rows the wrong way round that would hardly be so.
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
