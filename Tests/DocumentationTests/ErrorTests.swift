import Foundation
import MapStoreClient
import MapStoreServer
import OfflineMap
import PurchaseLedger
import RegionCatalog
import StoreSimulators
import Support
import TestSupport
import Testing
import TileImage
import TileIndex
import TileServe

/// What libraries throw can be shown to people: a sentence, what to do about it, and no words of a command line.
@Suite struct ErrorTests {
  /// Errors that do not conform to LocalizedError on Linux, and why.
  private static let exempt = [
    "CatalogBuildError": "TileCut is for publishers, whose commands print the text; tilecut has no Foundation",
    "CatalogBuildFailure": "the same", "CutError": "the same", "ManifestError": "the same",
    "ReplayError": "of a module that is no product",
  ]

  private static let samples: [any Error] = [
    thrown { _ = try MapBundle(path: "/maps/none.mbtiles") }, thrown { _ = try TileID(quadkey: "9") },
    thrown { _ = try GazetteerFile.places(inFile: "/maps/none.json") },
    thrown { _ = try Track(path: "/maps/none.gpx") },
    thrown { _ = try WireJSON.decode(Problem.self, from: [123]) },
    Problem(.notOwned, title: "Not owned", status: 403, detail: "the account does not own it", remedy: "buy it first"),
    thrown { _ = try OfflineRegionManager(folder: "/dev/null/maps", grants: .init()) },
    ServeError(.cannotListen, "the address is in use", remedy: "choose another port"),
    LedgerError(.notALedger, at: "/ledger.sqlite", "is not a ledger", remedy: "name another file"),
    VerificationError(.malformed, "is no receipt", remedy: "send the whole of it"),
    ImageError(.malformed, "the data end early"),
    TileFailure(tileID: TileID(unchecked: 1, 0, 1), reason: ImageError(.malformed, "the data end early")),
    StoreError(.invalidOption, at: "/maps/keys", "is no key", remedy: "make one of 32 bytes"),
    FakeStoreFileError(.unwritable, path: "/maps/keys", "exists already", remedy: "choose another name"),
  ]

  private static func thrown(_ work: () throws -> Void) -> any Error {
    do { try work() } catch { return error }
    return CancellationError()
  }

  @Test func everyPublicErrorHasASentenceOrIsOfATool() throws {
    let named = Set(Self.samples.map { "\(type(of: $0))" })
    for (path, text) in try sources() {
      for match in text.matches(of: /(?m)^ *public (?:struct|enum|final class) (\w+): [^{]*\b(?:Toolkit)?Error\b/) {
        let name = String(match.1)
        #expect(named.contains(name) == (Self.exempt[name] == nil), "\(path): \(name)")
      }
    }
  }

  @Test(arguments: samples) func errorIsASentenceForPeople(_ error: any Error) throws {
    let localized = try #require(error as? any LocalizedError, "\(type(of: error))")
    let what = try #require(localized.errorDescription)
    #expect(what.hasSuffix(".") && !what.contains("; ") && !what.contains("(/"), "\(what)")
    #expect(error.localizedDescription == what)
    if let remedy = localized.recoverySuggestion {
      #expect(remedy.hasSuffix(".") && remedy.first?.isUppercase == true, "\(remedy)")
    }
  }

  /// One remedy for each kind of failure, which is what a caller can do.
  @Test func gridErrorsHaveARemedy() throws {
    let codes: [GridError.Code] = [
      .zoomOutOfRange, .columnOutOfRange, .rowOutOfRange, .invalidQuadkey, .invalidHilbertID,
    ]
    let remedies = codes.map { GridError($0, "no such tile").recoverySuggestion }
    #expect(Set(remedies).count == 5 && !remedies.contains(nil))
  }

  /// Where every module has Foundation, `ToolkitError` is a `LocalizedError`; on Linux another module makes it one, or
  /// none.
  @Test func conformancesAreWhereFoundationIs() throws {
    var conforming: [String: [String]] = [:]
    for (path, text) in try sources() where path.hasSuffix("/LocalizedErrors.swift") {
      let first = text.prefix { $0 != "\n" }
      for match in text.matches(of: /extension ([A-Za-z.]+): LocalizedError/) {
        conforming[String(match.1), default: []].append(String(first))
      }
    }
    for (name, conditions) in conforming {
      #expect(conditions == ["#if !canImport(Darwin)"] && Self.exempt[name] == nil, "\(name)")
    }
    #expect(conforming.count == 7)
  }

  /// Options of programs that are named before them are no options of the library's caller.
  @Test func librariesOfAppsNameNoCommands() throws {
    let libraries = [
      "TileIndex", "RegionCatalog", "TilePrefetch", "MemoryPressure", "OfflineMap", "TileImage",
      "TileServe",
      "MapStoreWire", "MapStoreClient", "PurchaseVerification", "PurchaseLedger", "Accounts",
      "StoreSimulators", "MapStoreServer",
    ]
    for (path, text) in try sources() where libraries.contains(where: { path.hasPrefix("\($0)/") }) {
      // The reports of a reconciliation and of a ledger's state are the commands' output.
      if path.contains("/Reconcile/Reconcile") || path.contains("/Status/Status") { continue }
      for line in text.split(separator: "\n") where !line.drop(while: { $0 == " " }).hasPrefix("//") {
        let namesOption = line.contains(/(^|[ "(`])--[a-z]/) && !line.contains("gdal2tiles ")
        // The name of a file format.
        let namesCommand =
          line.contains(/\b(tilecut|tileserve|mapstore) |ulimit| -o\b/)
          && !line.contains("tilecut tileset")
        #expect(!namesOption && !namesCommand, "\(path): \(line)")
      }
    }
  }

  private func sources() throws -> [(path: String, text: String)] {
    let root = ProjectFiles.path("Sources")
    let names = try #require(FileManager.default.enumerator(atPath: root)).compactMap { $0 as? String }
    return try names.filter { $0.hasSuffix(".swift") }.map {
      ($0, try String(contentsOfFile: "\(root)/\($0)", encoding: .utf8))
    }
  }
}
