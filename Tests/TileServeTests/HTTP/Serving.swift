import Synchronization
import TestSupport
import Testing
import TileIndex

@testable import TileServe

/// A server in this process, on its own port, while a test runs.
struct Served {
  let server: TileServer
  let registry: TilesetRegistry
  var port: Int { server.port! }

  func connect() throws -> HTTPConnection { try HTTPConnection(port: port) }

  /// Sends a request on a new connection.
  func get(_ target: String, method: String = "GET", _ fields: [String: String] = [:]) throws -> HTTPResponse {
    try connect().request(target, method: method, fields)
  }

  /// A value of `/metrics`.
  func metric(_ name: String) throws -> Double? {
    try get("/metrics").text.split(separator: "\n").first { $0.hasPrefix("\(name) ") }.flatMap {
      Double($0.dropFirst(name.utf8.count + 1))
    }
  }

  /// Waits until no other connection is open.
  func isQuiet() throws -> Bool { try eventually { try metric("tileserve_connections") == 1 } }
}

/// Serves files and folders while the body runs. Folders are scanned only when the test calls `refresh()`.
func serving(
  _ paths: [String], accessLog: AccessLog? = nil, _ change: (inout TileServerOptions) -> Void = { _ in },
  _ body: (Served) async throws -> Void
) async throws { try await serving(TilesetRegistry(paths), accessLog: accessLog, change, body) }

func serving(
  _ registry: TilesetRegistry, accessLog: AccessLog? = nil, _ change: (inout TileServerOptions) -> Void = { _ in },
  _ body: (Served) async throws -> Void
) async throws {
  var options = TileServerOptions()
  options.crossOrigin = .any
  options.loopCount = 2
  options.refreshSeconds = 0
  options.webLibraryFolders = []
  options.limits.drainSeconds = 2
  // Independent of the memory pressure on the machine.
  options.memoryPressure = nil
  change(&options)
  await ServerLimit.shared.enter()
  defer { ServerLimit.shared.leave() }
  let server = try await TileServer.start(registry, options, accessLog: accessLog)
  do {
    // Clients block, so they must not use Swift's few threads.
    try await withTaskExecutorPreference(ThreadExecutor()) {
      try await body(Served(server: server, registry: registry))
    }
  } catch {
    try await server.shutdown()
    await registry.close()
    throw error
  }
  try await server.shutdown()
  await registry.close()
}

/// Limits the number of servers that run at the same time.
private final class ServerLimit: Sendable {
  static let shared = ServerLimit()
  private let state = Mutex((room: 3, waiting: [CheckedContinuation<Void, Never>]()))

  func enter() async {
    await withCheckedContinuation { continuation in
      let mayEnter = state.withLock { state in
        guard state.room > 0 else {
          state.waiting.append(continuation)
          return false
        }
        state.room -= 1
        return true
      }
      if mayEnter { continuation.resume() }
    }
  }

  func leave() {
    let next = state.withLock { state -> CheckedContinuation<Void, Never>? in
      guard state.waiting.isEmpty else { return state.waiting.removeFirst() }
      state.room += 1
      return nil
    }
    next?.resume()
  }
}

/// A folder with one bundle of each kind, created once.
enum SampleTilesets {
  /// relief (PNG, one tile missing), photo (JPEG), air (WebP), labels (PNG with holes), roads (vector, gzipped),
  /// degrees (another grid).
  static let folder = Result {
    let folder = try TemporaryFolder()
    try folder.writeBundle("relief.mbtiles", zooms: 0...2, seed: 1, without: [tile(2, 3, 3)])
    try folder.writeBundle("photo.mbtiles", .jpg, zooms: 0...1, seed: 2)
    try folder.writeBundle("air.mbtiles", .webp, zooms: 0...1, seed: 3, edge: 64)
    try folder.writeBundle("labels.mbtiles", zooms: 0...1, seed: 4, hollow: true)
    try folder.writeBundle("roads.mbtiles", .pbf, zooms: 0...1, seed: 5, without: [tile(1, 1, 1)])
    try folder.writeBundle("degrees.mbtiles", zooms: 0...1, seed: 6, edge: 64, matrixSet: .worldCRS84Quad)
    return folder
  }

  static var path: String { get throws { try folder.get().path } }
}
