import Foundation
import RegionCatalog
import TestSupport
import Testing
import TileIndex

/// `tilecut packs`: which files of a catalogue cover a place.
@Suite(.ownThread) struct PacksCommandTests {
  private let catalog: BuiltCatalog

  init() throws { catalog = try BuiltCatalog.built() }

  private func files(_ options: String...) throws -> [CoveringFile] {
    let run = try Command(built: "tilecut").run(["packs", catalog.output, "--json"] + options)
    #expect(run.status == 0, "\(run)")
    return try JSONDecoder().decode([CoveringFile].self, from: Data(run.stdout.utf8))
  }

  @Test func packsCoveringAPointABoxAndATrackAreListed() throws {
    let point = try files("--point", "15,45", "--region", "degrees")
    #expect(point.first?.kind == .overview && point.contains { $0.kind == .detail })
    let catalogue = try catalog.catalogue()
    let region = try #require(catalogue["degrees"])
    #expect(point.count < region.packs.count)
    for file in point {
      let hash = try FileHash.sha256(ofFile: catalog.path(file.file))
      #expect(hash == file.sha256)
    }
    #expect(try files("--bounds", "10,40,20,50", "--region", "degrees").count == region.packs.count)
    try catalog.folder.write("way.gpx", #"<gpx><trk><trkseg><trkpt lat="45" lon="15"/></trkseg></trk></gpx>"#)
    #expect(try files("--track", catalog.folder.file("way.gpx"), "--region", "degrees") == point)
    try catalog.folder.write("way.json", #"{"type": "LineString", "coordinates": [[10.5, 49.5], [19.5, 40.5]]}"#)
    let track = try files("--track", catalog.folder.file("way.json"), "--region", "degrees")
    #expect(track.count > point.count && track.count < region.packs.count)
    // All regions cover the first place, none of the two the second.
    #expect(Set(try files("--point", "15,45").map(\.region)) == ["whole", "degrees", "levels", "jpeg"])
    #expect(try files("--point=-70,-45", "--region", "whole", "jpeg").isEmpty)
  }

  @Test func unknownRegionsAreAnsweredWithThoseThatThereAre() throws {
    let near = try tilecut("packs", catalog.output, "--point", "15,45", "--region", "level")
    expectRefusal(near, status: 66, naming: "has no region \"level\"; did you mean \"levels\"?")
    let far = try tilecut("packs", catalog.output, "--point", "15,45", "--region", "x")
    #expect(far.stderr.contains("; choose one of ") && far.stderr.contains("degrees"), "\(far)")
  }

  /// A device that has the listed files, and no others, has every tile of the place.
  @Test(arguments: [1, 2, 3] as [UInt64]) func listedPacksHoldEveryTileOfTheArea(seed: UInt64) throws {
    var random = SeededGenerator(seed: seed)
    for id in ["degrees", "levels"] {
      let catalogue = try catalog.catalogue()
      let region = try #require(catalogue[id])
      let whole = try MBTilesReader(path: catalog.path(region.file))
      for _ in 0..<20 {
        let longitude = Double.random(in: 10...20, using: &random)
        let latitude = Double.random(in: 40...50, using: &random)
        let files = region.files(covering: .point(longitude: longitude, latitude: latitude))
        let packs = try files.map { try MBTilesReader(path: catalog.path($0.file)) }
        for zoom in region.minzoom...region.maxzoom {
          let tile = try #require(region.matrixSet.tile(longitude: longitude, latitude: latitude, zoom: zoom))
          guard let bytes = try whole.tile(tile) else { continue }
          let found = try packs.compactMap { try $0.tile(tile) }
          #expect(found == [bytes], "seed \(seed) \(id) \(tile)")
        }
      }
    }
  }

  @Test func plainTextListsSizes() throws {
    let run = try tilecut("packs", catalog.path("catalogue.json"), "--point", "15,45")
    #expect(run.status == 0 && run.stdout.contains("overview") && run.stdout.contains("whole region"), "\(run)")
    #expect(run.stdoutLines.last?.contains(" files, ") == true, "\(run)")
    let nothing = try tilecut("packs", catalog.output, "--point", "0,0", "--region", "jpeg")
    #expect(nothing.stdout == "nothing in the catalogue covers it\n")
  }

  @Test func unusableArgumentsAreRefused() throws {
    for options in [
      [], ["--point", "1"], ["--point", "1,95"], ["--bounds", "1,2,3"], ["--point", "1,2", "--bounds", "1,2,3,4"],
    ] {
      expectRefusal(try Command(built: "tilecut").run(["packs", catalog.output] + options), status: 64)
    }
    expectRefusal(try tilecut("packs", "/nowhere", "--point", "1,2"), status: 66, naming: "/nowhere")
    let bad = try catalog.folder.write("bad.json", "{}")
    expectRefusal(try tilecut("packs", bad, "--point", "1,2"), status: 65, naming: bad)
    expectRefusal(try tilecut("packs", catalog.output, "--point", "1,2", "--region", "x"), status: 66, naming: "\"x\"")
    expectRefusal(try tilecut("packs", catalog.output, "--track", bad), status: 65, naming: bad)
    expectRefusal(try tilecut("packs", catalog.output, "--track", "/nowhere.gpx"), status: 66, naming: "/nowhere.gpx")
  }
}
