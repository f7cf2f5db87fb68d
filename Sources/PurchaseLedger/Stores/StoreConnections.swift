import AsyncHTTPClient

/// The connections of a client, which are closed with it: also if its `init` throws. AsyncHTTPClient ends the process
/// where one of its clients is let go that was not shut down.
final class StoreConnections: Sendable {
  let http: HTTPClient

  init() {
    var configuration = HTTPClient.Configuration(redirectConfiguration: .disallow)
    // It would do so for a minute, whatever the cause.
    configuration.connectionPool.retryConnectionEstablishment = false
    http = HTTPClient(eventLoopGroup: HTTPClient.defaultEventLoopGroup, configuration: configuration)
  }

  deinit { _ = http.shutdown() }
}

extension [AppStoreClient] {
  /// Shuts the clients down after the work, also after a failure.
  package func closing<Value>(_ work: (Self) async throws -> Value) async throws -> Value {
    let result = await Result { try await work(self) }
    for client in self { try? await client.shutdown() }
    return try result.get()
  }
}

extension [GooglePlayClient] {
  /// Shuts the clients down after the work, also after a failure.
  package func closing<Value>(_ work: (Self) async throws -> Value) async throws -> Value {
    let result = await Result { try await work(self) }
    for client in self { try? await client.shutdown() }
    return try result.get()
  }
}

extension Result where Failure == any Error {
  fileprivate init(_ work: () async throws -> Success) async {
    do { self = .success(try await work()) } catch { self = .failure(error) }
  }
}
