import Foundation
import OfflineMap
import Synchronization
import TestSupport
import Testing

#if canImport(FoundationNetworking)
  import FoundationNetworking
#endif

/// The files of examples/apple. Their frameworks are missing here: what they use of them is declared in Tests/StandIns.
@Suite(.ownThread) struct AppleExampleTests {
  /// The example's own file is a source of these tests.
  @Test func urlsOfABundleAreAnsweredByTheExample() async throws {
    let folder = try TemporaryFolder()
    let bundle = try MapBundle(path: folder.writeBundle("map.mbtiles", edge: 64))
    BundleURLProtocol.bundles.withLock { $0["map"] = bundle }
    let configuration = URLSessionConfiguration.ephemeral
    configuration.protocolClasses = [BundleURLProtocol.self]
    let session = URLSession(configuration: configuration)
    let (data, response) = try await session.data(from: #require(URL(string: "bundle://map/2/1/3")))
    #expect(try await Array(data) == bundle.tile(TileID(zoom: 2, column: 1, row: 3)))
    #expect(response.mimeType == "image/png")
    for missing in ["bundle://map/9/1/3", "bundle://map/2/4/0", "bundle://other/2/1/3", "bundle://map"] {
      let url = try #require(URL(string: missing))
      await #expect(throws: (any Error).self, "\(missing)") { try await session.data(from: url) }
    }
  }

  #if os(Linux)
    @Test func examplesForApplesFrameworksAreTypeCorrect() throws {
      let folder = try TemporaryFolder()
      let flags = Self.flags + ["-I", folder.path]
      for module in ["CoreGraphics", "ImageIO", "MapKit", "SwiftUI"] {
        let standIn = ProjectFiles.path("Tests/StandIns/\(module).swift")
        try expectSuccess(
          flags + ["-emit-module", "-module-name", module, standIn, "-o", folder.file("\(module).swiftmodule")])
      }
      let examples = try FileManager.default.contentsOfDirectory(atPath: ProjectFiles.path("examples/apple"))
        .filter { $0.hasSuffix(".swift") }
      #expect(examples.count == 5)
      // A source of the module, whose part for these frameworks is not in the one that is imported here.
      let decoder = try String(
        contentsOfFile: ProjectFiles.path("Sources/OfflineMap/Session/SystemImageDecoder.swift"), encoding: .utf8)
      let part = try #require(decoder.firstRange(of: "#if canImport(ImageIO)"))
      let copy = try folder.write("Decoder.swift", "public import OfflineMap\n" + decoder[part.lowerBound...])
      try expectSuccess(
        flags + ["-typecheck", "-module-name", "Adapters", copy]
          + examples.map { ProjectFiles.path("examples/apple/\($0)") })
    }

    /// What the article of TileIndex has an app add that links nothing above it. Only the code of another package may.
    @Test func anAppMakesErrorsLocalized() throws {
      let app = """
        import FoundationEssentials
        import LocalizedErrors
        import TileIndex

        extension BundleError: @retroactive LocalizedError {}
        extension GridError: @retroactive LocalizedError {}

        func lines(for error: any LocalizedError) -> [String?] { [error.errorDescription, error.recoverySuggestion] }
        """
      let folder = try TemporaryFolder()
      try expectSuccess(Self.flags + ["-typecheck", "-module-name", "App", folder.write("App.swift", app)])
    }

    /// The modules of this build, with the C modules that they were compiled with.
    private static var flags: [String] {
      let build = URL(fileURLWithPath: CommandLine.arguments[0]).deletingLastPathComponent().path
      let sources = ProjectFiles.path("Sources")
      var flags = ["-swift-version", "6", "-parse-as-library", "-I", "\(build)/Modules"]
      let system = ["CSQLite", "CZlib", "CNettle", "CExpat", "CPNG", "CJPEG", "CWebP", "CDeflate"]
      let shims = ["CSystemShim", "CPNGShim", "CJPEGShim"]
      for shim in shims { flags += ["-Xcc", "-I\(sources)/\(shim)/include"] }
      let maps = system.map { "\(sources)/\($0)/module.modulemap" }
      for map in maps + shims.map({ "\(build)/\($0).build/module.modulemap" }) {
        flags += ["-Xcc", "-fmodule-map-file=\(map)"]
      }
      return flags
    }

    /// The compiler has no complaint, not even a warning.
    private func expectSuccess(_ arguments: [String]) throws {
      let result = try #require(try run("env", ["swiftc"] + arguments))
      #expect(result.status == 0 && !result.output.contains("warning:"), "\(result.output)")
    }
  #endif
}
