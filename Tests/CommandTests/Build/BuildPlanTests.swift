import Foundation
import TestSupport
import Testing

/// `tilecut plan --catalogue`, `build --plan` and `missing`: a build that is divided into its regions.
@Suite(.ownThread) struct BuildPlanTests {
  let catalog: BuiltCatalog

  init() throws {
    catalog = try BuiltCatalog()
    try catalog.writeVariety()
  }

  private func run(_ words: String..., environment: [String: String] = [:]) throws -> CommandRun {
    try Command(built: "tilecut").run(words, in: catalog.folder.path, environment: environment)
  }

  private func plan(_ options: String...) throws -> CommandRun {
    try Command(built: "tilecut").run(
      ["plan", "regions.json", "--catalogue", "dist", "-o", "plan.json", "--force"] + options, in: catalog.folder.path)
  }

  private func make(_ shard: Int) throws -> CommandRun {
    try run("build", "--plan", "plan.json", "--shard", "\(shard)")
  }

  /// The regions of the plan, in its order.
  private func regions() throws -> [(id: String, tiles: Int)] {
    let json = try #require(
      try JSONSerialization.jsonObject(with: catalog.folder.bytes("plan.json")) as? [String: Any])
    return try #require(json["shards"] as? [[String: Any]]).map { shard in
      (try #require(shard["region"] as? String), try #require(shard["tiles"] as? Int))
    }
  }

  /// As the tasks of a job array make them, in any order and one of them twice.
  @Test func regionsThatShardsMadeArePublishedWithTheBytesOfAnUndividedBuild() throws {
    let plan = try plan()
    #expect(plan.status == 0 && plan.stdout.hasPrefix("plan.json: 4 shards, a region each, of up to "), "\(plan)")
    let regions = try regions()
    #expect(Set(regions.map(\.id)) == ["whole", "degrees", "levels", "jpeg"])
    #expect(regions.map(\.tiles) == regions.map(\.tiles).sorted(by: >))
    #expect(try run("missing", "plan.json").stdout == "0-3\n")
    for number in [3, 0, 2, 0] {
      let run = try make(number)
      #expect(run.status == 0 && run.stdout.hasPrefix("shard \(number) of 4: \(regions[number].id) "), "\(run)")
    }
    #expect(try run("missing", "plan.json").stdout == "1\n")
    expectRefusal(
      try run("build", "--plan", "plan.json"), status: 65, naming: "has shards whose region is not made: 1")
    #expect(!FileManager.default.fileExists(atPath: catalog.path("catalogue.json")))
    let last = try run("build", "--plan", "plan.json", "--shard", "auto", environment: ["SLURM_ARRAY_TASK_ID": "1"])
    #expect(last.status == 0, "\(last)")
    // From another folder, in which the plan's relative paths mean nothing.
    let elsewhere = try Command(built: "tilecut").run(
      ["build", "--plan", catalog.folder.file("plan.json")], in: FileManager.default.temporaryDirectory.path)
    #expect(elsewhere.status == 0 && elsewhere.stdout.contains("4 regions, 0 made, 4 unchanged"), "\(elsewhere)")
    #expect(try catalog.contents() == BuiltCatalog.built().contents())
    #expect(try run("missing", "plan.json").stdout == "")
  }

  @Test func exitCodesTellSchedulersWhetherToTryAgain() throws {
    #expect(try plan("--region", "whole", "jpeg").status == 0)
    let picture = catalog.folder.file("placed.png")
    #expect(try make(2).status == 64)
    #expect(try run("build", "--plan", "plan.json", "--shard", "auto").status == 64)
    expectRefusal(try run("cut", "--plan", "plan.json", "--shard", "0"), status: 64, naming: "use build --plan")
    expectRefusal(try run("merge", "--plan", "plan.json", "-o", "a.mbtiles"), status: 64, naming: "use build --plan")
    #expect(try run("build", "--plan", "elsewhere.json", "--shard", "0").status == 75)
    // Sources, or the catalogue's disk, that are away.
    try FileManager.default.moveItem(atPath: picture, toPath: picture + ".away")
    #expect(try make(0).status == 75)
    try FileManager.default.moveItem(atPath: picture + ".away", toPath: picture)
    try FileManager.default.moveItem(atPath: catalog.output, toPath: catalog.output + ".away")
    #expect(try make(0).status == 75)
    #expect(try run("missing", "plan.json").status == 66)
    #expect(!FileManager.default.fileExists(atPath: catalog.output))
    try FileManager.default.moveItem(atPath: catalog.output + ".away", toPath: catalog.output)
    #expect(try make(0).status == 0)
    // A region that is made needs no source.
    try FileManager.default.moveItem(atPath: picture, toPath: picture + ".away")
    #expect(try make(0).status == 0)
    // Other content.
    try FileManager.default.copyItem(atPath: catalog.folder.file("other.png"), toPath: picture)
    expectRefusal(try make(1), status: 65, naming: "or a source of it has changed")
    let text = String(decoding: try catalog.folder.bytes("plan.json"), as: UTF8.self)
    try catalog.folder.write("plan.json", text.replacing("\"jpeg\"", with: "\"degrees\""))
    expectRefusal(try make(0), status: 65, naming: "was changed after it was made")
  }

  /// Nothing is published that was not planned.
  @Test func manifestsThatChangedAreRefused() throws {
    try catalog.write([BuiltCatalog.region("a"), BuiltCatalog.region("b")].joined(separator: ","))
    #expect(try plan().status == 0)
    for shard in 0...1 { #expect(try make(shard).status == 0) }
    try catalog.write(["a", "b", "c"].map { BuiltCatalog.region($0) }.joined(separator: ","))
    expectRefusal(try run("build", "--plan", "plan.json"), status: 65, naming: "the manifest has a region \"c\"")
    try catalog.write(BuiltCatalog.region("a"))
    expectRefusal(try run("build", "--plan", "plan.json"), status: 65, naming: "the manifest has no region \"b\"")
    try catalog.write(
      [BuiltCatalog.region("a"), BuiltCatalog.region("b", #", "zoom": [0, 0]"#)].joined(separator: ","))
    expectRefusal(try run("build", "--plan", "plan.json"), status: 65, naming: "the region \"b\" or a source")
    #expect(!FileManager.default.fileExists(atPath: catalog.path("catalogue.json")))
  }

  @Test(arguments: [
    (["plan", "regions.json", "--catalogue", "dist", "-o", "p.json", "--shard-tiles", "5"], "leave --shard-tiles out"),
    (["plan", "regions.json", "--catalogue", "dist", "-o", "p.json", "--rebuild"], "leave it out of the plan"),
    (["build", "regions.json", "--plan", "p.json"], "leave them out"),
    (["build", "--plan", "p.json", "--shard", "0", "--prune"], "publishes nothing"),
    (["build", "regions.json", "-o", "dist", "--shard", "0"], "--shard needs --plan"),
    (["build"], "'<manifest>'"), (["build", "regions.json"], "'--output <output>'"),
  ])
  func contradictionsAreRefused(_ words: [String], _ what: String) throws {
    let run = try Command(built: "tilecut").run(words, in: catalog.folder.path)
    #expect(run.status == 64 && run.stderr.contains(what), "\(run)")
    #expect(!FileManager.default.fileExists(atPath: catalog.output))
  }

  @Test(.enabled(if: SchemaValidator.isThere, SchemaValidator.hint))
  func plansAreAsTheSchemaSays() throws {
    #expect(try plan("--pack-bytes", "400000").status == 0)
    let first = try catalog.folder.bytes("plan.json")
    let run = try SchemaValidator.run("docs/reference/build-plan.schema.json", catalog.folder.file("plan.json"))
    #expect(run.status == 0, "\(run)")
    // Equal inputs, equal plans; another size of packs, another plan.
    #expect(try plan("--pack-bytes", "400000").status == 0)
    #expect(try catalog.folder.bytes("plan.json") == first)
    #expect(try plan("--pack-bytes", "500000").status == 0)
    #expect(try catalog.folder.bytes("plan.json") != first)
  }
}
