import Foundation
import TestSupport
import Testing

/// `mapstore quickstart`: from a raster to a shop in one command.
@Suite(.ownThread) struct QuickstartTests {
  private static let raster = ProjectFiles.path("sample-regions/jacksboro-fault/jacksboro-fault-relief.tif")

  private func run(_ arguments: [String]) throws -> CommandRun {
    try Command(built: "mapstore").run(["quickstart"] + arguments, timeout: 120)
  }

  @Test func aRasterBecomesAShopAndASecondRunGoesOn() throws {
    let folder = try TemporaryFolder()
    let raster = folder.file("Jacksboro Fault.tif")
    try FileManager.default.copyItem(atPath: Self.raster, toPath: raster)
    let shop = folder.file("Jacksboro Fault-shop")
    let first = try run([raster, "--no-serve", "--price", "7.5 EUR"])
    #expect(first.status == 0, "\(first)")
    let names = ["regions.json", "products.json", "mapstore.json", "link.key", "grant.key", "ledger.sqlite"]
    for name in names { #expect(first.stdout.contains("made \(shop)/\(name)\n"), "\(name)") }
    #expect(first.stdout.contains("1 region, 1 made") && first.stdout.contains("edit next"))
    for name in ["link.key", "grant.key"] {
      let mode = try FileManager.default.attributesOfItem(atPath: "\(shop)/\(name)")[.posixPermissions] as? Int
      #expect(mode == 0o600)
    }
    func bytes() throws -> [Data] {
      try (names + ["catalogue/catalogue.json"]).map { try Data(contentsOf: URL(fileURLWithPath: "\(shop)/\($0)")) }
    }
    let before = try bytes()
    // Prices and texts that were edited stay.
    let second = try run([raster, "--no-serve", "--price", "9.00 USD"])
    #expect(second.status == 0 && second.stdout.contains("0 made, 1 unchanged"), "\(second)")
    #expect(try !second.stdout.contains("\nmade ") && bytes() == before)

    // The third run serves it.
    let process = try Command(built: "mapstore").start(["quickstart", raster, "--port", "0"])
    defer {
      process.send(SIGTERM)
      _ = process.wait(timeout: 15) as CommandRun
    }
    let isUp = process.wait(timeout: 60) { process.stdout.contains("/catalogue\n") }
    let line = try #require(process.stdout.split(separator: "\n").first { $0.hasPrefix("catalogue: ") })
    #expect(isUp && process.stdout.contains("selling 1 of 1 regions") && !process.stdout.contains("expire"))
    let base = line.dropFirst(11).dropLast("/catalogue".count)
    let page = try Command(path: "/usr/bin/curl").run(["-s", "\(base)/regions/jacksboro-fault"]).stdout
    #expect(page.contains("<h1>Jacksboro Fault</h1>") && page.contains("€7.50"), "\(page)")
  }

  @Test func whatCannotBeAShop() throws {
    let folder = try TemporaryFolder()
    let missing = try run([folder.file("no.tif")])
    #expect(missing.status == 2 && missing.stderr.contains("no.tif: is not a file; check the name"), "\(missing)")
    for price in ["4.99", "4.999 EUR", "4.99 EURO"] {
      let wrong = try run([Self.raster, "-o", folder.file("shop"), "--price", price])
      #expect(wrong.status == 64 && wrong.stderr.contains("--price: "), "\(wrong)")
    }
    // Not a raster: tilecut says why, and nothing is published.
    let text = try folder.write("text.tif", "no raster")
    let refused = try run([text, "--no-serve"])
    #expect(refused.status == 2 && refused.stderr.contains("no catalogue was built"), "\(refused)")
    #expect(!folder.names.contains("text-shop/catalogue/catalogue.json"))
  }
}
