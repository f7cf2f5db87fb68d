import Foundation
import MapStoreWire
import PurchaseLedger
import TestSupport

/// The built `mapstore serve` under way over a shelf and ledger of a test's own. It is killed when this goes.
final class ServerProcess {
  let shop: Shop
  let process: ChildProcess
  let port: Int

  /// What outlives the process: files and the store's authority.
  struct Shop {
    let folder: TemporaryFolder
    let shelf: TestShelf
    let authority: ThrowAwayAuthority
    var ledger: String { folder.file("ledger.sqlite") }

    init() throws {
      folder = try TemporaryFolder()
      shelf = try TestShelf(folder)
      authority = try ThrowAwayAuthority()
      try folder.write("root.der", bytes: authority.rootCertificate)
      try folder.write("link.key", bytes: (0..<32).map { _ in UInt8.random(in: 0...255) })
      _ = try Ledger.create(at: folder.file("ledger.sqlite"), policy: LedgerPolicy(), clock: .system)
      try folder.write(
        "store.json",
        #"{"shelf": "shelf", "ledger": "ledger.sqlite", "port": 0, "rootCertificates": ["root.der"], "bundleId": "\#(TestStore.bundleID)", "hmacKeyFiles": ["link.key"]}"#
      )
    }

    /// An account's session, made by another process than the server.
    func openSession() throws -> SessionDetails {
      try Ledger.open(at: ledger, policy: nil, clock: .system).openSession(lasting: 86_400_000)
    }

    var arguments: [String] { ["serve", "--config", folder.file("store.json"), "--log-level", "warning"] }
  }

  struct NotServing: Error { let text: String }

  init(_ shop: Shop) throws {
    self.shop = shop
    process = try Command(built: "mapstore").start(shop.arguments)
    let output = process
    let came = output.wait(timeout: 60) { output.stdout.contains("catalogue: ") && output.stdout.hasSuffix("\n") }
    guard came, let match = output.stdout.firstMatch(of: /catalogue: http:\/\/[^\n]*:(\d+)\//),
      let port = Int(match.output.1)
    else { throw NotServing(text: "stdout: \(output.stdout)\nstderr: \(output.stderr)") }
    self.port = port
  }

  func send(_ method: String, _ target: String, token: String? = nil, _ message: some Encodable) throws -> HTTPResponse
  {
    try TestStore.request(port: port, method, target, token: token, body: WireJSON.encode(message))
  }

  func get(_ target: String, token: String? = nil, _ fields: [String: String] = [:]) throws -> HTTPResponse {
    try TestStore.request(port: port, "GET", target, token: token, fields)
  }

}
