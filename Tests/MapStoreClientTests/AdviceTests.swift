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

  private func client(_ address: String? = nil) -> StoreClient {
    StoreClient(address: address ?? store.address, retry: Device.retry())
  }

  /// A request that may have succeeded is not repeated, and the error says how to find out.
  @Test func anAccountThatMayHaveBeenMade() async throws {
    store.lie.withLock { $0 = { _, _ in ChaosAnswer(body: [1, 2, 3], fault: .cut(1)) } }
    let client = client()
    let error = await failure { _ = try await client.register(person) }
    #expect(error?.code == .unreachable && error?.remedy?.contains("sign in") == true, "\(error as Any)")
    #expect(error?.remedy?.contains("address") == false)
    #expect(store.count("POST /v1/accounts") == 1)
  }

  /// No request was sent, so the remedy is about the network and the address.
  @Test func unreachableServerIsReportedWithARemedy() async throws {
    store.stop()
    let client = client()
    let error = await failure { _ = try await client.register(person) }
    #expect(error?.code == .unreachable && error?.remedy?.contains("check the network and the address") == true)
    #expect(error?.message.contains("connect(") == false, "\(error as Any)")
  }

  @Test(arguments: [true, false]) func failingServerGetsNoAdviceAboutItsAddress(isCut: Bool) async throws {
    store.lie.withLock {
      $0 = { _, _ in isCut ? ChaosAnswer(body: [1, 2, 3], fault: .cut(1)) : ChaosAnswer(status: 503) }
    }
    let client = client()
    let error = await failure { _ = try await client.region("alps") }
    #expect(error?.code == .unreachable && error?.remedy?.contains("address") == false, "\(error as Any)")
    #expect(error?.message.contains("6 attempts") == true)
  }

  /// Errors of libraries name the files that they were built from.
  @Test func messagesHaveNoPathsOfTheBuildMachine() async throws {
    let client = client("https://127.0.0.1:\(store.port)")
    let error = await failure { _ = try await client.region("alps") }
    #expect(error?.message.contains("no secure connection: ") == true, "\(error as Any)")
    #expect(error?.message.contains("/") == false, "\(error as Any)")
  }
}
