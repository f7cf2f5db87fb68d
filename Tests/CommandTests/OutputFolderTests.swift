import Foundation
import TestSupport
import Testing
import TileIndex

/// Commands that write a folder, onto a folder of somebody else.
@Suite(.ownThread) struct OutputFolderTests {
  let folder: TemporaryFolder
  init() throws { folder = try TemporaryFolder() }

  private func write(_ name: String) throws {
    try FileManager.default.createDirectory(
      atPath: (folder.file(name) as NSString).deletingLastPathComponent, withIntermediateDirectories: true)
    try folder.write(name, "precious")
  }

  @Test(arguments: ["photos/2024/05/IMG_0001.jpg", "photos/12/24/1234.jpg"])
  func foldersOfPhotosAreNeverReplaced(photo: String) throws {
    try write(photo)
    let picture = try folder.writePlacedPicture()
    let bundle = try folder.writeBundle("a.mbtiles", zooms: 0...1)
    for words in [
      ["cut", picture, "-o", "photos/", "--zoom", "0"], ["convert", bundle, "-o", "photos/"],
      ["extract", bundle, "-o", "photos/", "--zoom", "0"], ["merge", bundle, bundle, "-o", "photos/"],
      ["textures", bundle, "-o", "photos"],
    ] {
      let run = try Command(built: "tilecut").run(words + ["--force"], in: folder.path)
      // Without the encoder no textures are made.
      if words[0] != "textures" || run.status != 71 { expectRefusal(run, status: 73, naming: "photos") }
      #expect(try folder.bytes(photo) == Data("precious".utf8), "\(run)")
    }
  }

  /// What --resume and a plan keep beside the output.
  @Test func foldersOfWorkAreNotTakenFromOthers() throws {
    let picture = try folder.writePlacedPicture()
    try write(".map.mbtiles.resume/letters.txt")
    let resume = try tilecut("cut", picture, "-o", folder.file("map.mbtiles"), "--zoom", "0", "--resume")
    expectRefusal(resume, status: 64, naming: "letters.txt")
    let force = try tilecut("cut", picture, "-o", folder.file("map.mbtiles"), "--zoom", "0", "--force")
    #expect(force.status == 0, "\(force)")
    #expect(try folder.bytes(".map.mbtiles.resume/letters.txt") == Data("precious".utf8))

    #expect(try tilecut("plan", picture, "--zoom", "0", "-o", folder.file("plan.json")).status == 0)
    try write("plan.shards/0.pmtiles")
    try write("plan.shards/holidays.jpg")
    expectRefusal(
      try tilecut("cut", "--plan", folder.file("plan.json"), "--shard", "0"), status: 64, naming: "holidays.jpg")
    #expect(try folder.bytes("plan.shards/0.pmtiles") == Data("precious".utf8))
  }

  /// Four rows at once, and two rasters at once: what ends with 0 is there afterwards.
  @Test(arguments: ["map.mbtiles", "map.pmtiles", "map.gpkg"])
  func changesAtTheSameTimeAreKeptOrRefused(name: String) throws {
    let bundle = folder.file(name)
    #expect(try tilecut("cut", folder.writePlacedPicture(), "-o", bundle, "--zoom", "0-4").status == 0)
    let rows = try (0..<4).map { ("k\($0)", try startTilecut("metadata", "set", bundle, "k\($0)", "v")) }
    let kept = rows.filter { $0.1.wait().status == 0 }.map(\.0)
    let metadata = try BundleFile.open(bundle).metadata
    #expect(!kept.isEmpty && kept.allSatisfy { metadata[$0] == "v" }, "\(kept)")
    let rasters = try (0..<2).map { number in
      let (picture, west) = (try folder.writePlacedPicture("more\(number).png"), Double(-100 + 60 * number))
      try folder.write("more\(number).pgw", "0.01\n0\n0\n-0.01\n\(west)\n45\n")
      return (TileID(unchecked: 4, Int((west + 180) / 22.5), 5), try startTilecut("cut", picture, "--append", bundle))
    }
    let drawn = rasters.filter { $0.1.wait().status == 0 }.map(\.0)
    let reader = try BundleFile.open(bundle)
    #expect(!drawn.isEmpty, "\(rasters[0].1.wait())")
    for tile in drawn { #expect(try reader.tile(tile) != nil, "\(tile)") }
    #expect(rasters.allSatisfy { [0, 75].contains($0.1.wait().status) })
    #expect(rows.allSatisfy { [0, 75].contains($0.1.wait().status) })
    #expect(!folder.names.contains { $0.hasPrefix(".") }, "\(folder.names)")
  }
}
