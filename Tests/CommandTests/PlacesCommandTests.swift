import Foundation
import TestSupport
import Testing

/// The option `cut --gazetteer` and the command `places`.
@Suite(.ownThread) struct PlacesCommandTests {
  let folder: TemporaryFolder
  let bundle: String

  init() throws {
    folder = try TemporaryFolder()
    bundle = folder.file("map.mbtiles")
    let list = try folder.write(
      "places.geojson",
      #"""
      {"type": "FeatureCollection", "features": [
      {"type": "Feature", "properties": {"name": "Žabljak", "kind": "town", "importance": 0.4},
       "geometry": {"type": "Point", "coordinates": [19.12, 43.15]}},
      {"type": "Feature", "properties": {"name": "Zagreb", "kind": "city", "importance": 0.8},
       "geometry": {"type": "Point", "coordinates": [15.98, 45.81]}},
      {"type": "Feature", "properties": {"name": "Zanzibar", "kind": "island", "importance": 0.9},
       "geometry": {"type": "Point", "coordinates": [39.3, -6.1]}}]}
      """#)
    let run = try tilecut("cut", try folder.writePlacedPicture(), "-o", bundle, "--zoom", "0-2", "--gazetteer", list)
    #expect(run.status == 0, "\(run)")
  }

  @Test func placesOfABundleAreFound() throws {
    try expectValid(bundle)
    let found = try tilecut("places", bundle, "z")
    // Places outside the map are left out.
    #expect(found.stdoutLines == ["Zagreb\tcity\t15.98\t45.81\t0.8", "Žabljak\ttown\t19.12\t43.15\t0.4"], "\(found)")
    let near = try tilecut("places", bundle, "za", "--near", "19.12,43.15", "--limit", "1")
    #expect(near.stdoutLines == ["Žabljak\ttown\t19.12\t43.15\t0.4\t0 m"], "\(near)")
    let json = try tilecut("places", bundle, "zagreb", "--json")
    let rows = try #require(try JSONSerialization.jsonObject(with: Data(json.stdout.utf8)) as? [[String: Any]])
    #expect(rows.count == 1 && rows[0]["name"] as? String == "Zagreb" && rows[0]["kind"] as? String == "city")
    let none = try tilecut("places", bundle, "\" OR (")
    #expect(none.status == 0 && none.stderr.isEmpty && none.stdout.isEmpty, "\(none)")
  }

  @Test(arguments: ["map.pmtiles", "map.gpkg", "map/"]) func placesAreFoundInEveryContainer(_ name: String) throws {
    let other = folder.file(name)
    #expect(try tilecut("convert", bundle, other).status == 0)
    for arguments in [["z"], ["zagreb"], ["za", "--near", "19.12,43.15"]] {
      let found = try Command(built: "tilecut").run(["places", other] + arguments)
      #expect(try found.stdout == Command(built: "tilecut").run(["places", bundle] + arguments).stdout, "\(found)")
      #expect(found.status == 0 && found.stdout.contains("Zagreb"), "\(found)")
    }
  }

  @Test(.enabled(if: Command(installed: "gdalinfo") != nil, "GDAL is not installed"))
  func bundleWithPlacesIsValidForOtherReaders() throws {
    let run = try Command(installed: "gdalinfo")!.run([bundle])
    #expect(run.status == 0 && run.stdout.contains("Driver: MBTiles") && run.stderr.isEmpty, "\(run)")
  }

  @Test func placesOutsideTheMapGiveAWarning() throws {
    let list = try folder.write(
      "far.geojson",
      #"{"type": "Feature", "properties": {"name": "Far"}, "geometry": {"type": "Point", "coordinates": [-100, -40]}}"#)
    let output = folder.file("far.mbtiles")
    let run = try tilecut("cut", folder.file("placed.png"), "-o", output, "--zoom", "0", "--gazetteer", list)
    #expect(run.status == 0 && run.stderr.contains("warning: the places to look for (1) all lie outside"), "\(run)")
    expectRefusal(try tilecut("places", output, "far"), status: 65, naming: output)
  }

  @Test func unusablePlaceListsAreNamed() throws {
    let empty = try folder.writeBundle("plain.mbtiles", zooms: 0...0)
    expectRefusal(try tilecut("places", empty, "x"), status: 65, naming: empty, "--gazetteer")
    let archive = folder.file("plain.pmtiles")
    #expect(try tilecut("convert", empty, archive).status == 0)
    expectRefusal(try tilecut("places", archive, "x"), status: 65, naming: archive, "--gazetteer")
    expectRefusal(try tilecut("places", bundle, "x", "--near", "541,2"), status: 64, naming: "--near")
    expectRefusal(try tilecut("places", bundle, "x", "--limit", "0"), status: 64, naming: "--limit")
    let bad = try folder.write("bad.tsv", "1\t2\t3\n")
    let output = folder.file("out.mbtiles")
    let (picture, list) = (folder.file("placed.png"), folder.file("places.geojson"))
    expectRefusal(
      try tilecut("cut", picture, "-o", output, "--gazetteer", bad), status: 65, naming: bad, "line 1", "geonames.org")
    expectRefusal(
      try tilecut("cut", picture, "-o", output, "--gazetteer", folder.file("no.tsv")), status: 66, naming: "no.tsv")
    expectRefusal(
      try tilecut("cut", picture, "-o", list, "--gazetteer", list, "--force"), status: 64, naming: list)
    #expect(!folder.names.contains("out.mbtiles"))
  }
}
