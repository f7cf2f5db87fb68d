import Crypto
import CryptoExtras
import Foundation
import StoreSimulators
import Support
import TestSupport

@testable import PurchaseLedger

/// The jobs of a night, each of which opens the ledger anew: by the functions that the commands call, with waits in
/// virtual time, or by the built command.
struct NightlyJobs {
  enum Job: CaseIterable {
    case google
    case apple
    case reconcile

    var store: Store? { self == .google ? .google : self == .apple ? .apple : nil }
  }

  let clock: SimulatedClock
  let machine: Machine
  let stores: SimulatedStores
  let identity: StoreIdentity
  let environment: StoreEnvironment
  let settings: PullSettings
  /// Nil for jobs in this process.
  let command: Command?

  /// - Parameter ahead: How far the ledger's clock is ahead.
  /// - Returns: The exit code.
  func run(_ job: Job, ahead: Int64) async throws -> Int {
    if let command { return try run(command, job, ahead) }
    let own = clock.ledgerClock(ahead: ahead)
    let ledger = try Ledger.open(at: machine.path, policy: nil, clock: own)
    defer { ledger.close() }
    var retry = RetryPolicy(attemptsMax: 3, firstDelay: 1, delayMax: 20)
    retry.sleep = { [clock] in clock.advance(by: Int64($0 * 1000)) }
    switch job {
    case .google:
      let client = try GooglePlayClient(
        packageName: ShopGenerator.packageName, credentials: stores.play.credentials(tokenURI: stores.tokenURI),
        environment: environment, verifier: try GoogleVerifier(identity: identity), clock: own, baseURL: stores.url,
        rate: 1_000_000, retry: retry, settings: settings)
      return try await [client].closing {
        try await StorePull(ledger: ledger, clock: own, settings: settings).google(
          $0, everyone: false, acknowledge: true
        ) { _, _ in }
      }.needsPerson ? 1 : 0
    case .apple:
      let client = try AppStoreClient(
        credentials: stores.apple.credentials(), environment: environment,
        verifier: try AppleVerifier(identity: identity), clock: own, baseURL: stores.url, rate: 1_000_000,
        retry: retry, settings: settings)
      return try await [client].closing {
        try await StorePull(ledger: ledger, clock: own, settings: settings).apple(
          $0, everyone: false, transactions: []
        ) { _, _ in }
      }.needsPerson ? 1 : 0
    case .reconcile: return try Reconciler(ledger: ledger).run(apply: true).isAgreed ? 0 : 1
    }
  }

  private func run(_ command: Command, _ job: Job, _ ahead: Int64) throws -> Int {
    let folder = try TemporaryFolder()
    let account = JSONValue.object([
      .init("client_email", .string(stores.play.setup.email)),
      .init("private_key", .string(stores.play.setup.key.pemRepresentation)),
      .init("token_uri", .string(stores.tokenURI)),
    ])
    try folder.write("account.json", account.text)
    try folder.write("key.p8", stores.apple.key.pemRepresentation)
    try folder.write("root.der", bytes: identity.rootCertificates[0])
    try folder.write("licensing.der", bytes: identity.googlePublicKey ?? [])
    let keys = stores.apple.credentials()
    let apple = JSONValue.object([
      .init("issuerId", .string(keys.issuerID)), .init("keyId", .string(keys.keyID)),
      .init("privateKey", .string("key.p8")), .init("baseUrl", .string(stores.url)),
    ])
    let google = JSONValue.object([
      .init("serviceAccount", .string("account.json")), .init("baseUrl", .string(stores.url)),
    ])
    let settings = JSONValue.object([
      .init("ledger", .string(machine.path)), .init("rootCertificates", .array([.string("root.der")])),
      .init("bundleId", .string(ShopGenerator.bundleID)),
      .init("appAppleId", .string("\(ShopGenerator.appAppleID)")),
      .init("packageName", .string(ShopGenerator.packageName)), .init("googlePublicKey", .string("licensing.der")),
      .init("now", .string("\(clock.now + ahead)")), .init("apple", apple), .init("google", google),
    ])
    try folder.write("config.json", settings.text)
    let words: [String] =
      switch job {
      case .google: ["pull", "--store", "google", "--acknowledge"]
      case .apple: ["pull", "--store", "apple"]
      case .reconcile: ["reconcile", "--apply"]
      }
    let run = machine.run(try command.start(words + ["--config", folder.file("config.json")]))
    guard let status = run.status, status < 2 else { throw CommandFailure(run: run) }
    return Int(status)
  }

  private struct CommandFailure: Error, CustomStringConvertible {
    let run: CommandRun
    var description: String { "\(run)" }
  }
}
