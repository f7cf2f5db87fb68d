import Foundation
import TestSupport
import Testing

/// Every later state opens, or migrates, the files that an earlier state wrote (Fixtures/README.md). Each test works on
/// a copy.
@Suite(.ownThread) struct FixtureTests {
  static let states = ["2026-11"]

  /// A copy of a state's files.
  private func copy(of state: String) throws -> TemporaryFolder {
    let folder = try TemporaryFolder()
    let fixtures = ProjectFiles.path("Tests/CommandTests/Fixtures/\(state)")
    for name in try FileManager.default.contentsOfDirectory(atPath: fixtures) {
      try FileManager.default.copyItem(atPath: "\(fixtures)/\(name)", toPath: folder.file(name))
    }
    return folder
  }

  /// The tiles of a folder of tiles, by their names.
  private static func tiles(in folder: String) throws -> [String: Data] {
    let names = try FileManager.default.subpathsOfDirectory(atPath: folder).filter { $0.hasSuffix(".png") }
    return try Dictionary(
      uniqueKeysWithValues: names.map { ($0, try Data(contentsOf: URL(fileURLWithPath: "\(folder)/\($0)"))) })
  }

  private func ledger(_ arguments: String..., in folder: TemporaryFolder) throws -> CommandRun {
    try Command(built: "purchase-ledger").run(arguments, in: folder.path)
  }

  @Test(arguments: states) func bundlesOfEveryContainerAreReadAndHaveTheSameTiles(_ state: String) throws {
    let folder = try copy(of: state)
    let tiles = try Self.tiles(in: folder.file("bundles/park"))
    #expect(tiles.count == 19)
    for name in ["park.mbtiles", "park.pmtiles", "park.gpkg", "park", "degrees.mbtiles", "plan.tileset"] {
      let verified = try tilecut("verify", folder.file("bundles/\(name)"))
      #expect(verified.status == 0, "\(verified)")
      guard name != "degrees.mbtiles" else { continue }
      let converted = try tilecut(
        "convert", folder.file("bundles/\(name)"), folder.file("\(name).tiles/"), "--progress", "none")
      #expect(converted.status == 0, "\(converted)")
      #expect(try Self.tiles(in: folder.file("\(name).tiles")) == tiles, "\(name)")
    }
    for name in ["park.mbtiles", "park.pmtiles", "park.gpkg", "park"] {
      let found = try tilecut("places", folder.file("bundles/\(name)"), "mill")
      #expect(found.status == 0 && found.stdout.contains("Mill Hill"), "\(found)")
    }
  }

  @Test(arguments: states) func bundlesAreChangedInPlaceAndConverted(_ state: String) throws {
    let folder = try copy(of: state)
    for name in ["park.mbtiles", "park.gpkg", "park.pmtiles", "park"] {
      let bundle = folder.file("bundles/\(name)")
      let set = try tilecut("metadata", "set", bundle, "attribution", "Somebody else")
      #expect(set.status == 0, "\(set)")
      let converted = try tilecut("convert", bundle, folder.file("\(name).copy.mbtiles"), "--progress", "none")
      #expect(converted.status == 0, "\(converted)")
      try expectValid(folder.file("\(name).copy.mbtiles"))
    }
  }

  @Test(arguments: states) func aPatchMakesTheEditionOfItsTime(_ state: String) throws {
    let folder = try copy(of: state)
    let applied = try tilecut(
      "apply", folder.file("bundles/park-2026.2.from-2026.1.patch"), folder.file("bundles/park.mbtiles"), "-o",
      folder.file("new.mbtiles"), "--progress", "none")
    #expect(applied.status == 0, "\(applied)")
    #expect(applied.stdout.contains("the new edition"), "\(applied)")
    // Not byte for byte: the index of places folds letters otherwise than the program of that time. A device takes the
    // whole bundle then.
    let difference = try tilecut(
      "diff", folder.file("catalogue/park-2026.2.mbtiles"), folder.file("new.mbtiles"), "-o", folder.file("d.patch"),
      "--progress", "none")
    #expect(difference.status == 0 && difference.stdout.contains(" 0 new or changed tiles, 0 removed"), "\(difference)")
  }

  @Test(arguments: states) func aCatalogueIsAsked(_ state: String) throws {
    let folder = try copy(of: state)
    let packs = try tilecut("packs", folder.file("catalogue"), "--point", "11.5,48.5")
    #expect(packs.status == 0 && packs.stdout.contains("park"), "\(packs)")
  }

  @Test(arguments: states) func theServerServesThem(_ state: String) throws {
    let folder = try copy(of: state)
    let server = try RunningServer(["--config", "tileserve.json"], in: folder.path)
    let tile = try folder.bytes("bundles/park/5/17/11.png")
    for id in ["park", "plan"] {
      let response = try server.get("/\(id)/5/17/11.png")
      #expect(response.status == 200 && Data(response.body) == tile, "\(id): \(response.status)")
    }
    #expect(try server.get("/degrees/0/5/1.webp").status == 200)
    let stored = try RunningServer(["upstream"], in: folder.path).get("/far/2/2/1.png")
    #expect(try stored.status == 200 && Data(stored.body) == folder.bytes("bundles/park/2/2/1.png"), "\(stored.status)")
  }

  @Test(arguments: states) func ledgersAreCleanAndAgreeWithTheStore(_ state: String) throws {
    let folder = try copy(of: state)
    let before = String(decoding: try folder.bytes("ledger-verified.json"), as: UTF8.self)
    let head = try #require(before.firstMatch(of: /"head":"([0-9a-f]{64})"/)?.output.1)
    let app = ["--root-certificate", "appstore.root.der", "--bundle-id", "org.example.maps"]
    let verified = try Command(built: "purchase-ledger").run(
      ["verify", "--ledger", "ledger.sqlite", "--signatures", "--head", String(head)] + app, in: folder.path)
    #expect(verified.status == 0, "\(verified)")
    let agreed = try Command(built: "purchase-ledger").run(
      ["reconcile", "--ledger", "ledger.sqlite", "--against", "appstore.sales.jsonl"] + app, in: folder.path)
    #expect(agreed.status == 0, "\(agreed)")
    let both = try ledger("verify", "--signatures", "--config", "ledger-of-both/config.json", in: folder)
    #expect(both.status == 0, "\(both)")
    let exported = try ledger("export", "--format", "hledger", "--config", "ledger-of-both/config.json", in: folder)
    #expect(exported.status == 0, "\(exported)")
  }

  /// The store and the devices of that time go on: an update comes as a patch, and a refunded map stays revoked.
  @Test(arguments: states) func aStoreAndItsDevicesGoOn(_ state: String) throws {
    let folder = try copy(of: state)
    let server = try Command(built: "mapstore").start(["serve", "--config", "store.json"], in: folder.path)
    #expect(server.wait(timeout: 60) { server.stdout.contains("/catalogue\n") }, "\(server.stdout) \(server.stderr)")
    let url = try #require(server.stdout.firstMatch(of: /catalogue: +(http:\S+)\/catalogue/)?.output.1)
    let oldURL = String(decoding: try folder.bytes("server-url.txt"), as: UTF8.self)
      .trimmingCharacters(in: .whitespacesAndNewlines)
    for device in ["phone", "tablet"] {
      let name = "\(device)/.mapstore-client.json"
      let state = String(decoding: try folder.bytes(name), as: UTF8.self)
      try folder.write(name, state.replacingOccurrences(of: oldURL, with: url))
    }
    func client(_ words: String...) throws -> CommandRun {
      try Command(built: "mapstore").run(
        ["client"] + words, in: folder.path, environment: ["MAPSTORE_PASSWORD": "a long password"])
    }
    let synced = try client("sync", "--all", "--folder", "phone", "--progress", "none")
    #expect(synced.status == 0, "\(synced)")
    #expect(try folder.bytes("phone/park.mbtiles") == folder.bytes("catalogue/park-2026.2.mbtiles"))
    let library = try client("library", "--folder", "tablet")
    #expect(library.status == 0 && library.stdout.contains(/fault .*revoked/), "\(library)")
  }
}
