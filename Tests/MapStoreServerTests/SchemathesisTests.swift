import Foundation
import MapStoreWire
import PurchaseLedger
import TestSupport
import Testing

@testable import MapStoreServer

/// schemathesis (from PyPI) generates requests from docs/reference/openapi.yaml and compares the running server's
/// answers with the document. It is the one that `make test` installs unless `SCHEMATHESIS` names another;
/// `SCHEMATHESIS_EXAMPLES` has it try more of each operation.
@Suite(
  .ownThread, .long,
  .enabled(
    if: Schemathesis.command != nil,
    "schemathesis is not installed (scripts/install-python-tools.sh): docs/reference/openapi.yaml is not tested"
  )
)
struct SchemathesisTests {
  /// Those that end the session come last: all others would be 401 after them.
  private static let ending = ["signOut", "signOutEverywhere", "eraseAccount", "changePassword"]

  /// This store has no real pictures, so these answer 503. `PageTests` tests them.
  private static let drawn = ["getPreviewTile", "getThumbnail"]

  @Test func serverDoesWhatTheDocumentSays() async throws {
    try await TestStore.run {
      $0.limits.requestsByAddress = .init(burst: 1_000_000, perMinute: 1_000_000)
      $0.limits.requestsByAccount = .init(burst: 1_000_000, perMinute: 1_000_000)
      // Passwords cost a second each in a debug build; after some the answer is 429, which the document has too.
      $0.limits.passwordsByAddress = .init(burst: 5, perMinute: 1)
    } _: { store in
      let anna = try store.person()
      _ = try await store.post([try store.evidence("alps", for: anna)], as: anna)
      let (port, token) = (store.server.port, anna.token)
      try await onThread {
        let left = (Self.ending + Self.drawn).flatMap { ["--exclude-operation-id", $0] }
        try Self.run(port: port, token: token, left)
        try Self.run(port: port, token: token, Self.ending.flatMap { ["--include-operation-id", $0] })
      }
      #expect(try await store.send("GET", StoreRoute.health.path).status == 200)
    }
  }

  private static func run(port: Int, token: String, _ choice: [String]) throws {
    let folder = try TemporaryFolder()
    let examples = ProcessInfo.processInfo.environment["SCHEMATHESIS_EXAMPLES"] ?? "5"
    let run = try #require(Schemathesis.command).run(
      [
        "run", ProjectFiles.path("docs/reference/openapi.yaml"), "--url", "http://127.0.0.1:\(port)", "-H",
        "Authorization: Bearer \(token)", "--max-examples", examples, "--seed", "1",
        "--generation-deterministic", "--no-color",
        // A schema cannot state a store's signature: unsigned evidence is refused, however well formed.
        "--exclude-checks", "positive_data_acceptance",
      ] + choice, in: folder.path, environment: ["PYTHONPATH": Schemathesis.modules], timeout: 900)
    #expect(run.status == 0, "\(run)")
  }
}

private enum Schemathesis {
  private static let named = ProcessInfo.processInfo.environment["SCHEMATHESIS"] ?? ""
  private static let folder = ProjectFiles.path(".build/schemathesis")
  /// Where Python finds the modules of the installed one; another knows itself.
  static let modules = named.isEmpty ? folder : ""
  static let command: Command? = {
    let path = named.isEmpty ? "\(folder)/bin/schemathesis" : named
    return FileManager.default.isExecutableFile(atPath: path) ? Command(path: path) : nil
  }()
}
