import MapStoreWire
import TestSupport
import Testing

@testable import MapStoreClient

/// The remedies in error messages fit the errors.
@Suite(.ownThread) struct AdviceTests {
  private let store: ChaosStore
  private let person = Credentials(login: "a", password: "password")

  init() throws { store = try ChaosStore(try SampleShop()) }

  private func failure(_ work: () async throws -> Void) async -> MapStoreError? {
    do { try await work() } catch { return error as? MapStoreError }
    return nil
  }

  /// A request that may have succeeded is not repeated, and the error says how to find out.
  @Test(arguments: Connections.allCases) func anAccountThatMayHaveBeenMade(over: Connections) async throws {
    store.lie.withLock { $0 = { _, _ in ChaosAnswer(body: [1, 2, 3], fault: .cut(1)) } }
    let client = try over.client(store.address)
    let error = await failure { _ = try await client.register(person) }
    #expect(error?.code == .unreachable && error?.remedy?.contains("sign in") == true, "\(error as Any)")
    #expect(error?.remedy?.contains("address") == false)
    #expect(store.count("POST /v1/accounts") == 1)
  }

  /// No request was sent, so the remedy is about the network and the address.
  @Test(arguments: Connections.allCases) func unreachableServerIsReportedWithARemedy(over: Connections) async throws {
    store.stop()
    let client = try over.client(store.address)
    let error = await failure { _ = try await client.register(person) }
    #expect(error?.code == .unreachable && error?.remedy?.contains("check the network and the address") == true)
    // At once, since a person waits.
    #expect(error?.message.contains("attempts") == false, "\(error as Any)")
    #expect(error?.message.contains("connect(") == false, "\(error as Any)")
  }

  @Test(arguments: [true, false], Connections.allCases)
  func failingServerGetsNoAdviceAboutItsAddress(isCut: Bool, over: Connections) async throws {
    store.lie.withLock {
      $0 = { _, _ in isCut ? ChaosAnswer(body: [1, 2, 3], fault: .cut(1)) : ChaosAnswer(status: 503) }
    }
    let client = try over.client(store.address)
    let error = await failure { _ = try await client.region("alps") }
    #expect(error?.code == .unreachable && error?.remedy?.contains("address") == false, "\(error as Any)")
    #expect(error?.message.contains("6 attempts") == true)
  }

  /// Errors of libraries name the files that they were built from.
  @Test(arguments: Connections.allCases) func messagesHaveNoPathsOfTheBuildMachine(over: Connections) async throws {
    let client = try over.client("https://127.0.0.1:\(store.port)")
    let error = await failure { _ = try await client.region("alps") }
    #expect(error?.message.contains("no secure connection: ") == true, "\(error as Any)")
    #expect(error?.message.contains("/") == false, "\(error as Any)")
  }

  /// The session's token could be sent to another server.
  @Test(arguments: Connections.allCases) func noRedirectIsFollowed(over: Connections) async throws {
    store.lie.withLock { $0 = { _, _ in ChaosAnswer(status: 302, headers: [("Location", "/v1/elsewhere")]) } }
    let session = StoreSession(SessionDetails(token: "first", expiresAt: .max, account: Device.account))
    let client = try over.client(store.address, session)
    let error = await failure { _ = try await client.account() }
    #expect(error?.code == .refused && error?.message.contains("302") == true, "\(error as Any)")
    #expect(store.book.withLock { $0.requests } == ["GET /v1/account"])
  }

  @Test(arguments: Connections.allCases) func aClientThatWasShutDownSendsNothing(over: Connections) async throws {
    let client = try over.client(store.address)
    await client.shutdown()
    let error = await failure { _ = try await client.region("alps") }
    #expect(error?.code == .unreachable, "\(error as Any)")
    #expect(store.book.withLock { $0.requests } == [])
  }
}
