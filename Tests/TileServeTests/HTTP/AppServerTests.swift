import Foundation
import TestSupport
import Testing
import TileIndex

@testable import TileServe

/// A server inside an app.
@Suite(.ownThread) struct AppServerTests {
  /// Without options: any free port of this machine, no pages of other origins.
  @Test func theDefaultsAreForAnApp() async throws {
    try await serving([SampleTilesets.path]) {
      $0.crossOrigin = TileServerOptions().crossOrigin
    } _: { (served) async throws in
      #expect(served.server.url == "http://127.0.0.1:\(served.port)/" && served.port != 8080)
      for target in ["/relief.json", "/relief/0/0/0.png", "/tilesets.json"] {
        let answer = try served.get(target, ["Origin": "https://app.example"])
        #expect(answer.status == 200)
        #expect(!answer.fields.contains { $0.name.hasPrefix("Access-Control") }, "\(target): \(answer)")
      }
    }
    #expect(TileServerOptions().host == "127.0.0.1" && TileServerOptions().port == 0)
  }

  @Test func urlsOfATileset() async throws {
    try await serving([SampleTilesets.path]) {
      $0.basePath = "/maps"
    } _: { (served) async throws in
      let url = try await served.server.url(for: "photo")
      #expect(url == "http://127.0.0.1:\(served.port)/maps/photo/{z}/{x}/{y}.jpg")
      let target = url.replacing("{z}", with: "1").replacing("{x}", with: "0").replacing("{y}", with: "1")
        .replacing("http://127.0.0.1:\(served.port)", with: "")
      #expect(try served.get(target).status == 200)
      let json = served.server.tileJSON(for: "photo").replacing("http://127.0.0.1:\(served.port)", with: "")
      #expect(try served.get(json).text.contains("/maps/photo/{z}/{x}/{y}.jpg"))
      await #expect { try await served.server.url(for: "none") } throws: {
        ($0 as? ServeError)?.code == .unknownTileset
      }
    }
  }

  /// The app goes to the background and comes back, twice, and the URL stays valid.
  @Test func aPausedServerListensAgainOnItsPort() async throws {
    let port = try Socket.unsharedPort()
    try await serving([SampleTilesets.path]) {
      $0.port = port
    } _: { (served) async throws in
      let open = try served.connect()
      #expect(try open.request("/health").status == 200)
      for _ in 0..<2 {
        await served.server.pause()
        await served.server.pause()
        #expect(throws: (any Error).self) { try served.get("/health") }
        #expect(throws: (any Error).self, "open connections end") { try open.request("/health") }
        try await served.server.resume()
        try await served.server.resume()
        #expect(try served.get("/relief/0/0/0.png").status == 200)
      }
      // Connections are kept open again.
      let again = try served.connect()
      for _ in 0..<3 { #expect(try again.request("/relief.json").status == 200) }
    }
  }

  /// Whichever way they overlap, they happen one after the other.
  @Test func quickChangesEndAsTheLastSays() async throws {
    let port = try Socket.unsharedPort()
    try await serving([SampleTilesets.path]) {
      $0.port = port
    } _: { (served) async throws in
      let server = served.server
      try await withThrowingTaskGroup(of: Void.self) { group in
        for _ in 0..<5 {
          group.addTask { await server.pause() }
          group.addTask { try await server.resume() }
        }
        try await group.waitForAll()
      }
      try await server.resume()
      #expect(try served.get("/health").status == 200)
    }
  }

  /// While it was paused another program took the port.
  @Test func aTakenPortIsReported() async throws {
    let port = try Socket.unsharedPort()
    try await serving([SampleTilesets.path]) {
      $0.port = port
    } _: { (served) async throws in
      await served.server.pause()
      let registry = try TilesetRegistry([SampleTilesets.path])
      var options = TileServerOptions()
      options.port = port
      let other = try await TileServer.start(registry, options)
      await #expect { try await served.server.resume() } throws: { ($0 as? ServeError)?.code == .cannotListen }
      try await other.shutdown()
      await registry.close()
      try await served.server.resume()
      #expect(try served.get("/health").status == 200)
    }
  }

  /// A paused server can be ended; `wait()` returns then, and not before.
  @Test func pausingDoesNotEnd() async throws {
    let registry = try TilesetRegistry([SampleTilesets.path])
    var options = TileServerOptions()
    options.port = try Socket.unsharedPort()
    let server = try await TileServer.start(registry, options)
    let hasEnded = Locked(false)
    let waiting = Task {
      try await server.wait()
      hasEnded.withLock { $0 = true }
    }
    await server.pause()
    try await server.resume()
    await server.pause()
    #expect(!hasEnded.withLock { $0 })
    try await server.shutdown()
    try await waiting.value
    #expect(hasEnded.withLock { $0 })
    await registry.close()
  }

  /// The number of open files that the process may have is the app's.
  @Test func theFileLimitIsRaisedOnRequestOnly() async throws {
    func limits() -> rlimit {
      var limits = rlimit()
      _ = getrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limits)
      return limits
    }
    var lowered = limits()
    lowered.rlim_cur = min(lowered.rlim_cur, lowered.rlim_max) - 1
    #expect(setrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &lowered) == 0)
    try await serving([SampleTilesets.path]) { _ in
    } _: { _ in
      #expect(limits().rlim_cur == lowered.rlim_cur)
    }
    try await serving([SampleTilesets.path]) {
      $0.raisesFileLimit = true
    } _: { _ in
      #expect(limits().rlim_cur == limits().rlim_max)
    }
  }
}
