import Foundation
import Gazetteer
import MapStoreClient
import OfflineMap
import PurchaseLedger
import RegionCatalog
import TestSupport
import Testing
import TileServe

/// What libraries throw can be shown to people: a sentence, what to do about it, and no options of a command.
@Suite struct ErrorTests {
  /// Errors that only servers and the tools of publishers meet. They have texts, and no conformance to LocalizedError.
  private static let ofTools: Set = [
    "CatalogBuildError", "CatalogBuildFailure", "CutError", "FakeStoreFileError", "ImageError", "ManifestError",
    "Problem", "ReplayError",
    "StoreError", "Unreadable",
  ]

  private static let samples: [any Error] = [
    thrown { _ = try MapBundle(path: "/maps/none.mbtiles") }, thrown { _ = try TileID(quadkey: "9") },
    thrown { _ = try GazetteerFile.places(inFile: "/maps/none.json") },
    thrown { _ = try Track(path: "/maps/none.gpx") }, thrown { _ = try OfflineRegionManager(folder: "/dev/null/maps") },
    ServeError(.cannotListen, "the address is in use; choose another port"),
    LedgerError(.notALedger, at: "/ledger.sqlite", "is not a ledger; name another file"),
    VerificationError(.malformed, "is no receipt; send the whole of it"),
  ]

  private static func thrown(_ work: () throws -> Void) -> any Error {
    do { try work() } catch { return error }
    return CancellationError()
  }

  @Test func everyPublicErrorHasASentenceOrIsOfATool() throws {
    let named = Set(Self.samples.map { "\(type(of: $0))" })
    for (path, text) in try sources() {
      for match in text.matches(of: /(?m)^ *public (?:struct|enum|final class) (\w+): [^{]*\bError\b/) {
        let name = String(match.1)
        #expect(named.contains(name) != Self.ofTools.contains(name), "\(path): \(name)")
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

  /// Options of programs that are named before them are no options of the library's caller.
  @Test func librariesOfAppsNameNoOptions() throws {
    let libraries = [
      "TileIndex", "Gazetteer", "RegionCatalog", "TilePrefetch", "MemoryPressure", "OfflineMap", "TileImage",
      "TileServe",
      "MapStoreWire", "MapStoreClient", "PurchaseVerification", "PurchaseLedger", "MapStoreServer",
    ]
    for (path, text) in try sources() where libraries.contains(where: { path.hasPrefix("\($0)/") }) {
      for line in text.split(separator: "\n") where line.contains(/"[^"]* --[a-z][^"]*"/) {
        // The report of a reconciliation is the command's output, which it writes line by line.
        if path.contains("/Reconcile/Reconcile") { continue }
        let isComment = line.drop { $0 == " " }.hasPrefix("//")
        #expect(isComment || line.contains(/(gdal2tiles|tilecut merge) --/), "\(path): \(line)")
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
