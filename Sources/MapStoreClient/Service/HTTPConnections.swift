package import Support

/// The connections of a ``StoreClient``: sends a request once, and follows no redirect, which could take the session's
/// token to another server.
///
/// With the trait `AsyncHTTPClient` these are `NIOConnections` on Linux; without it, and on Apple's platforms,
/// `URLSessionConnections`, which need no other package.
package protocol HTTPConnections: Sendable {
  /// Sends a request.
  ///
  /// - Returns: the head of the answer, whatever its status. Dropping it before the end of its body ends the transfer.
  /// - Throws: ``ConnectionFault``, also while the body is read; `CancellationError`.
  func send(_ request: HTTPMessage) async throws -> FileAnswer

  /// Closes all connections, also those in use. Later requests fail; calling it again does nothing.
  func close() async

  /// Begins to close all connections, and does not wait for it.
  func abandon()
}

/// A request to the store's server.
package struct HTTPMessage: Sendable {
  /// In upper case.
  package var method = "GET"
  package var url: HTTPAddress
  package var fields: [(name: String, value: String)] = []
  package var body: [UInt8]?
  /// Whether networks may be used that are paid by the byte.
  package var usesMetered = true
  /// Whether networks may be used for which the person has asked to save data.
  package var usesConstrained = true
}

/// Why a request has no answer, or no whole one.
package struct ConnectionFault: Error, CustomStringConvertible {
  package enum Kind: Sendable {
    /// No connection was made, so that the server has not seen the request.
    case notSent
    /// The server may have seen the request.
    case interrupted
    /// What came is no HTTP.
    case notHTTP
  }

  package let kind: Kind
  /// In words, without the name of a call or a class; starts in lower case.
  package let description: String
  /// Whether the host is there and nothing listens, which the next second rarely changes; always `.notSent`.
  package let isRefused: Bool

  package init(_ kind: Kind, _ description: String, isRefused: Bool = false) {
    (self.kind, self.description, self.isRefused) = (kind, description, isRefused)
  }
}
