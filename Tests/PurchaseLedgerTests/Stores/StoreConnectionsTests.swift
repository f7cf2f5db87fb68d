import AsyncHTTPClient
import Testing

@testable import PurchaseLedger

/// Clients of the stores that nobody shuts down.
struct StoreConnectionsTests {
  /// An error between the making of a client and its shutdown does not end the process.
  @Test func aClientThatIsLetGoClosesItsConnections() throws {
    let client = try GooglePlayClient(
      packageName: "org.example.maps", credentials: .accessToken("given"), environment: .production,
      verifier: GoogleVerifier(identity: .init(packageName: "org.example.maps")), clock: .fixed(0),
      baseURL: "http://127.0.0.1:1", rate: 1)
    #expect(client.packageName == "org.example.maps")
  }

  @Test func aShutdownIsNoFault() async throws {
    let connections = StoreConnections()
    try await connections.http.shutdown()
  }
}
