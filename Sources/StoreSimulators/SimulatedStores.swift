/// Both simulated stores behind one address, on one clock.
package final class SimulatedStores: Sendable {
  package let apple: AppStoreSimulator
  package let play: PlaySimulator
  package let server: StoreServer

  private init(_ apple: AppStoreSimulator, _ play: PlaySimulator, _ server: StoreServer) {
    (self.apple, self.play, self.server) = (apple, play, server)
  }

  /// Starts to answer.
  ///
  /// - Parameters:
  ///   - latency: How long a request is under way, in milliseconds of the virtual clock: half of it before the answer.
  ///   - watch: Sees each request and its answer, and may put another in its place.
  package static func start(
    _ apple: AppStoreSimulator, _ play: PlaySimulator, clock: SimulatedClock, latency: Int64 = 80,
    watch: @escaping @Sendable (StoreServer.Request, () -> StoreServer.Reply) -> StoreServer.Reply = { $1() }
  ) async throws -> SimulatedStores {
    let server = try await StoreServer.start { request, _ in
      clock.advance(by: latency / 2)
      defer { clock.advance(by: latency / 2) }
      return watch(request) {
        AppStoreSimulator.owns(request)
          ? apple.answer(request) : PlaySimulator.owns(request) ? play.answer(request) : .html(404)
      }
    }
    return SimulatedStores(apple, play, server)
  }

  package var url: String { server.url }
  package var tokenURI: String { "\(server.url)/token" }
}
