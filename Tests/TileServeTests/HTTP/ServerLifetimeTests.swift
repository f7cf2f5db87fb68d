import TestSupport
import Testing

@testable import TileServe

/// A server ends with the code that uses it, however that is left.
@Suite(.ownThread) struct ServerLifetimeTests {
  private struct Failure: Error {}

  /// Each server on a port that nobody else gets when it is closed.
  private func options() throws -> TileServerOptions {
    var options = TileServerOptions()
    options.port = try Socket.unsharedPort()
    return options
  }

  private func isListening(_ port: Int) async throws -> Bool { try await onThread { (try? Socket(port: port)) != nil } }

  /// Between `start` and `shutdown` anything may throw.
  @Test func aServerThatIsLetGoEnds() async throws {
    let registry = try TilesetRegistry([SampleTilesets.path])
    func failing() async throws -> Int {
      let server = try await TileServer.start(registry, options())
      let port = try #require(server.port)
      if try await isListening(port) { return port }
      throw Failure()
    }
    let port = try await failing()
    #expect(try await onThread { eventually { (try? Socket(port: port)) == nil } })
    await registry.close()
  }

  /// The system takes connections as soon as the port is open. The first of them waits for the server.
  @Test func connectionsDuringTheStartAreAnswered() async throws {
    let registry = try TilesetRegistry([SampleTilesets.path])
    for _ in 0..<30 {
      let options = try options()
      async let status = onThread {
        var connection: HTTPConnection?
        while connection == nil { connection = try? HTTPConnection(port: options.port) }
        return try connection?.request("/relief/0/0/0.png").status
      }
      let server = try await TileServer.start(registry, options)
      #expect(try await status == 200)
      try await server.shutdown()
    }
    await registry.close()
  }

  @Test func theRegistryMayBeLetGoToo() async throws {
    let port = try await TileServer.start(TilesetRegistry([SampleTilesets.path]), options()).port!
    #expect(try await onThread { eventually { (try? Socket(port: port)) == nil } })
  }

  @Test func theServerOfAClosureEndsWithIt() async throws {
    let registry = try TilesetRegistry([SampleTilesets.path])
    let port = try await withTileServer(registry, options()) { server in
      let port = try #require(server.port)
      #expect(try await isListening(port))
      return port
    }
    #expect(try await !isListening(port))
    let last = Locked(0)
    await #expect(throws: Failure.self) {
      try await withTileServer(registry, options()) { server in
        last.withLock { $0 = server.port ?? 0 }
        throw Failure()
      }
    }
    #expect(try await !isListening(last.withLock { $0 }))
    // A server that serves until its task is cancelled.
    let task = Task { try await withTileServer(registry, options()) { try await $0.wait() } }
    task.cancel()
    await #expect(throws: CancellationError.self) { try await task.value }
    await registry.close()
  }
}
