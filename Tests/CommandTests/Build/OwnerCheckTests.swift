import Foundation
import RegionCatalog
import TestSupport
import Testing
import TileIndex

/// `tilecut build` onto a published catalogue: no owner loses a map without a word.
@Suite(.ownThread) struct OwnerCheckTests {
  private let catalog: BuiltCatalog

  init() throws {
    catalog = try BuiltCatalog()
    try catalog.write([Self.fault, BuiltCatalog.region("park")].joined(separator: ","))
    #expect(try catalog.build().status == 0)
  }

  private static let fault = BuiltCatalog.region("fault", #", "productId": "org.fault""#)

  @Test(arguments: [
    // The id is gone, its product stays.
    (
      #""jacksboro", "productId": "org.fault""#,
      #"the region "fault"; add "formerIds": ["fault"] to the region "jacksboro""#
    ),
    // Another product, or none.
    (#""fault", "productId": "org.other""#, #"add "formerProductIds": ["org.fault"] to the region "fault""#),
    (#""fault""#, #"the product "org.fault""#),
    // All of it is gone.
    (#""other""#, #"keep the region "fault""#),
    // An alias that is misspelled.
    (#""jacksboro", "productId": "org.fault", "formerIds": ["fualt"]"#, #"the region "fault""#),
  ])
  func lostNamesAreRefused(region: String, expected: String) throws {
    let before = try catalog.contents()
    try catalog.write(
      [#"{"id": \#(region), "title": "F", "category": "park"}"#, BuiltCatalog.region("park")].joined(separator: ","))
    for options in [[], ["--dry-run"]] {
      let run = try Command(built: "tilecut").run(
        ["build", catalog.manifest, "-o", catalog.output, "--progress", "none"] + options)
      #expect(run.status == 73 && run.stderr.contains(expected), "\(run)")
      #expect(run.stderr.contains("--orphan-owners") && run.stderr.contains("regions.json: lacks names"), "\(run)")
      #expect(try catalog.contents() == before)
    }
    #expect(try catalog.build("--orphan-owners").status == 0)
    #expect(try catalog.catalogue()["park"] != nil)
  }

  /// The names of two published regions are exchanged: nothing is lost, but devices have the maps under the other id.
  @Test func idsDoNotPassToAnotherProduct() throws {
    try catalog.write(
      [
        BuiltCatalog.region("park", #", "productId": "org.fault""#),
        BuiltCatalog.region("fault", #", "productId": "park""#),
      ].joined(separator: ","))
    let run = try catalog.build()
    #expect(run.status == 73 && run.stderr.contains(#"whose product was "org.fault" and is "park""#), "\(run)")
  }

  @Test func formerNamesArePublishedAndStay() throws {
    let renamed = BuiltCatalog.region(
      "jacksboro", #", "productId": "org.j", "formerIds": ["fault"], "formerProductIds": ["org.fault"]"#)
    try catalog.write([renamed, BuiltCatalog.region("park")].joined(separator: ","))
    let run = try catalog.build()
    #expect(run.status == 0 && !run.stderr.contains("warning"), "\(run)")
    #expect(try catalog.catalogue()["jacksboro"]?.names.ids == ["jacksboro", "fault"])
    // Dropping the alias drops the owners.
    try catalog.write(
      [BuiltCatalog.region("jacksboro", #", "productId": "org.j""#), BuiltCatalog.region("park")].joined(separator: ",")
    )
    #expect(try catalog.build().status == 73)
    // A former name that nothing ever had is said.
    try catalog.write(
      [renamed, BuiltCatalog.region("park", #", "formerIds": ["prak"]"#)].joined(separator: ","))
    let warned = try catalog.build()
    #expect(warned.status == 0, "\(warned)")
    #expect(
      warned.stderr.contains(#"park: formerIds has "prak", which the published catalogue never had"#), "\(warned)")
  }

  /// Only the renamed region is built: its entry takes the place of the old one.
  @Test func partialBuildsReplaceTheRenamedRegion() throws {
    try catalog.write(
      [BuiltCatalog.region("jacksboro", #", "productId": "org.fault", "formerIds": ["fault"]"#)].joined(separator: ","))
    let run = try catalog.build("--region", "jacksboro")
    #expect(run.status == 0, "\(run)")
    #expect(try catalog.catalogue().regions.map(\.id) == ["jacksboro", "park"])
    try catalog.expectConsistent()
  }

  /// A patch leads from the edition under the former id. Most of the map is noise, which did not change, so that the
  /// patch is smaller than the map.
  @Test func patchesLeadFromFormerIDs() throws {
    func build(_ id: String, _ fields: String, _ options: String...) throws -> CommandRun {
      let contents = #", "productId": "org.fault", "sources": ["other.png", "noise.png"], "zoom": [0, 5]\#(fields)"#
      try catalog.write([BuiltCatalog.region(id, contents), BuiltCatalog.region("park")].joined(separator: ","))
      return try catalog.build(options)
    }
    #expect(try build("fault", #", "edition": "2""#).status == 0)
    _ = try catalog.folder.writePlacedPicture("other.png", edge: 47)
    let run = try build(
      "jacksboro", #", "edition": "3", "formerIds": ["fault"]"#, "--patches-from", catalog.output)
    #expect(run.status == 0, "\(run)")
    let region = try #require(try catalog.catalogue()["jacksboro"])
    let patch = try #require(region.patches.first { $0.fromEdition == "2" }, "\(run)")
    #expect(patch.bytes < region.bytes)
    let output = catalog.folder.file("applied.mbtiles")
    let applied = try tilecut("apply", catalog.path(patch.file), catalog.path("fault-2.mbtiles"), "-o", output)
    #expect(applied.status == 0, "\(applied)")
    #expect(try FileHash.sha256(ofFile: output) == region.sha256)
  }
}
