import Foundation
import Logging
import MapStoreWire
import StoreSimulators
import Support
import TestSupport
import Testing
import TileIndex

@testable import Accounts
@testable import MapStoreServer
@testable import PurchaseLedger

/// A map store over loopback: a real server over a fake catalogue and a real ledger, with an ephemeral certificate
/// authority.
final class TestStore: Sendable {
  static let now: Int64 = 1_790_000_000_000
  static let bundleID = "org.example.maps"

  let folder: TemporaryFolder
  let catalog: TestCatalog
  let ledger: Ledger
  let authority: EphemeralCA
  let server: MapStoreServer
  private let time: Locked<Int64>
  private let ids = Locked(1000)

  private init(
    _ folder: TemporaryFolder, _ catalog: TestCatalog, _ ledger: Ledger, _ authority: EphemeralCA,
    _ server: MapStoreServer, _ time: Locked<Int64>
  ) {
    (self.folder, self.catalog, self.ledger) = (folder, catalog, ledger)
    (self.authority, self.server, self.time) = (authority, server, time)
  }

  /// - Parameters:
  ///   - log: receives the messages of the log.
  ///   - change: changes the default options, which have no limits that a test could reach by accident.
  static func run<Value: Sendable>(
    products: String? = nil, alpsBytes: Int = 700_000, corners: Int = 0, packageName: String? = bundleID,
    googleKey: [UInt8]? = nil, log: Locked<[String]>? = nil, _ change: (inout StoreOptions) -> Void = { _ in },
    _ body: @escaping @Sendable (TestStore) async throws -> Value
  ) async throws -> Value {
    let folder = try TemporaryFolder()
    let catalog = try TestCatalog(folder, alpsBytes: alpsBytes, corners: corners)
    let time = Locked(now)
    let clock = LedgerClock(now: { time.withLock { $0 } })
    let ledger = try Ledger.create(at: folder.file("ledger.sqlite"), policy: LedgerPolicy(), clock: clock)
    let authority = try EphemeralCA()
    var options = StoreOptions(catalogFolder: catalog.path)
    options.port = 0
    options.limits.passwordsByAddress = .init(burst: 1000, perMinute: 1000)
    options.limits.passwordsByLogin = .init(burst: 1000, perMinute: 1000)
    options.limits.requestsByAccount = .init(burst: 10_000, perMinute: 10_000)
    if let products { options.products = try folder.write("products.csv", products) }
    change(&options)
    let server = try await MapStoreServer.start(
      options, ledger: ledger,
      identity: StoreIdentity(
        rootCertificates: [authority.rootCertificate], bundleID: bundleID, googlePublicKey: googleKey,
        packageName: packageName), clock: clock,
      logger: Logger(
        label: "test",
        factory: { _ in log.map { ListLogHandler(lines: $0) as any LogHandler } ?? SwiftLogNoOpLogHandler() }))
    let store = TestStore(folder, catalog, ledger, authority, server, time)
    do {
      let value = try await body(store)
      try await server.shutdown()
      return value
    } catch {
      try? await server.shutdown()
      throw error
    }
  }

  func wait(milliseconds: Int64) { time.withLock { $0 += milliseconds } }

  // MARK: Requests

  /// One request on a connection of its own.
  func send(
    _ method: String, _ target: String, token: String? = nil, _ fields: [String: String] = [:], body: [UInt8] = []
  ) async throws -> HTTPResponse {
    let port = server.port
    return try await onThread {
      try Self.request(port: port, method, target, token: token, fields, body: body)
    }
  }

  static func request(
    port: Int, _ method: String, _ target: String, token: String? = nil, _ fields: [String: String] = [:],
    body: [UInt8] = []
  ) throws -> HTTPResponse {
    var fields = fields
    if let token { fields["Authorization"] = "Bearer \(token)" }
    if !body.isEmpty || method == "POST" || method == "PUT" { fields["Content-Length"] = "\(body.count)" }
    let connection = try HTTPConnection(port: port)
    try connection.socket.send(Array(HTTPConnection.head(target, method: method, fields).utf8) + body)
    return try connection.response(to: method)
  }

  func send(
    _ method: String, _ target: String, token: String? = nil, _ message: some Encodable
  ) async throws -> HTTPResponse {
    try await send(
      method, target, token: token, ["Content-Type": "application/json"], body: try WireJSON.encode(message))
  }

  /// Keeps everything that computes waiting until it is ended.
  final class Hold: Sendable {
    private let holds = Locked(true)
    func end() { holds.withLock { $0 = false } }
    fileprivate func wait() { _ = eventually(seconds: 120) { holds.withLock { !$0 } } }
  }

  /// Takes all turns of answers that compute, or of those that read the ledger.
  func holdTurns(of queue: (StoreCapacity) -> FairQueue = { $0.queue }) async throws -> Hold {
    let (hold, queue) = (Hold(), queue(server.service.capacity))
    let count = queue.runningMax
    for number in 0..<count {
      Task {
        try await queue.run(for: .init(FairQueue.Lane("test"), network: "\(number)")) { hold.wait() }
      }
    }
    #expect(try await onThread { eventually(seconds: 60) { queue.runningCount == count } })
    return hold
  }

  // MARK: People and purchases

  struct Person: Sendable {
    let session: SessionDetails
    let credentials: Credentials?
    var token: String { session.token }
    var appAccountToken: String { session.account.appAccountToken }
  }

  /// An account with a session, without a password: hashing one takes seconds in a debug build.
  func person() throws -> Person {
    Person(session: try ledger.openSession(lasting: 86_400_000), credentials: nil)
  }

  /// Registers and signs in with a password.
  func person(registering login: String) async throws -> Person {
    let credentials = Credentials(login: login, password: "a long password")
    let registered = try await send("POST", StoreRoute.register.path, credentials)
    guard registered.status == 201 else { throw Unexpected(registered) }
    return Person(session: try await signIn(credentials), credentials: credentials)
  }

  func signIn(_ credentials: Credentials) async throws -> SessionDetails {
    let answer = try await send("POST", StoreRoute.signIn.path, credentials)
    guard answer.status == 201 else { throw Unexpected(answer) }
    return try WireJSON.decode(SessionDetails.self, from: answer.body)
  }

  /// A signed transaction of a region's product.
  func evidence(
    _ region: String, for person: Person? = nil, id: String? = nil, environment: StoreEnvironment = .production,
    _ change: (inout StoreTransaction) -> Void = { _ in }
  ) throws -> String {
    let id =
      id
      ?? ids.withLock { ids in
        ids += 1
        return String(ids)
      }
    var fact = StoreTransaction(
      store: .apple, environment: environment, transactionID: id, originalTransactionID: id,
      productID: TestCatalog.product(region), productType: .nonConsumable, purchaseDate: Self.now - 10_000,
      ownership: .purchased, appAccountToken: person.flatMap { AccountToken($0.appAccountToken) },
      price: Money(milliunits: 4990, currency: "USD"), reason: "PURCHASE", signedDate: Self.now - 5_000,
      trust: .signed, statement: .purchased)
    change(&fact)
    return String(decoding: try authority.transaction(fact, bundleID: Self.bundleID), as: UTF8.self)
  }

  func post(_ evidence: [String], as person: Person, isRestore: Bool = false) async throws -> [PurchaseResult] {
    let answer = try await send(
      "POST", StoreRoute.purchases.path, token: person.token,
      PurchaseSubmission(transactions: evidence, isRestore: isRestore))
    guard answer.status == 200 else { throw Unexpected(answer) }
    return try WireJSON.decode(PurchaseResults.self, from: answer.body).results
  }

  func library(of person: Person, installed: String = "") async throws -> [String: LibraryRegion] {
    let answer = try await send("GET", "\(StoreRoute.library.path)?installed=\(installed)", token: person.token)
    guard answer.status == 200 else { throw Unexpected(answer) }
    let regions = try WireJSON.decode(Library.self, from: answer.body).regions
    return Dictionary(uniqueKeysWithValues: regions.map { ($0.id, $0) })
  }

  func ticket(_ region: String, as person: Person) async throws -> DownloadTicket {
    let answer = try await send(
      "POST", StoreRoute.downloads.path, token: person.token, DownloadRequest(regionId: region, kind: .bundle))
    guard answer.status == 201 else { throw Unexpected(answer) }
    return try WireJSON.decode(DownloadTicket.self, from: answer.body)
  }

  struct Unexpected: Error, CustomStringConvertible {
    let description: String
    init(_ response: HTTPResponse) { description = "\(response)" }
  }

  /// Audit events, as kind, outcome and detail.
  func audits() throws -> [String] {
    var audits: [String] = []
    try ledger.export(.jsonLines) { text in
      for line in text.split(separator: "\n") where line.contains("\"audit\"") { audits.append(String(line)) }
    }
    return audits
  }
}

extension Ledger {
  /// A new account's session, put into the database by hand.
  func openSession(lasting milliseconds: Int64) throws -> SessionDetails {
    let (account, token, session) = (AccountID.random(), AccountToken.random(), SessionToken.random())
    let expiresAt = clock.now() + milliseconds
    try write { booker in
      try booker.append(.accountOpened(account, token: token))
      let row = try booker.projections.accounts.account(id: account)
      let insert = try booker.db.cached(
        "INSERT INTO session (token_sha256, account, opened_at, expires_at) VALUES (?, ?, ?, ?)")
      insert.bind(1, session.sha256)
      insert.bind(2, row?.number ?? 0)
      insert.bind(3, booker.now)
      insert.bind(4, expiresAt)
      try insert.run()
    }
    return SessionDetails(
      token: session.text, expiresAt: expiresAt,
      account: AccountDetails(id: account.description, appAccountToken: token.description))
  }
}

extension HTTPResponse {
  func problem() throws -> Problem {
    guard self["Content-Type"] == Problem.contentType else { throw TestStore.Unexpected(self) }
    return try WireJSON.decode(Problem.self, from: body)
  }
}

/// Keeps the messages of a log.
struct ListLogHandler: LogHandler {
  let lines: Locked<[String]>
  var metadata: Logger.Metadata = [:]
  var logLevel = Logger.Level.info

  init(lines: Locked<[String]>) { self.lines = lines }

  subscript(metadataKey key: String) -> Logger.Metadata.Value? {
    get { metadata[key] }
    set { metadata[key] = newValue }
  }

  func log(event: LogEvent) {
    lines.withLock { $0.append("\(event.level) \(event.message)") }
  }
}
