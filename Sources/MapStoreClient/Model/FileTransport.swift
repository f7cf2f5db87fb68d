/// Fetches files of the store's: over HTTP connections of the client's own unless
/// ``OfflineRegionOptions/transport`` names another one.
///
/// A transport sends one request, and answers with what the server said, also if that is an error. Repetition, ranges,
/// checksums and the record of what is on the disk are the library's.
public protocol FileTransport: Sendable {
  /// Sends a request, and returns when the head of the answer is there.
  ///
  /// Cancelling the task ends the request. Called concurrently.
  ///
  /// - Parameter received: for transports that give the body only when it is complete: to be called with the number of
  ///   bytes that have arrived so far.
  /// - Throws: any error, which leads to a repetition after a while; `CancellationError`.
  func get(_ request: FileRequest, received: @escaping @Sendable (Int) -> Void) async throws -> FileAnswer
}

/// A request for a file of the store's, or for the rest of it.
public struct FileRequest: Sendable {
  /// An absolute URL, signed by the server. It expires.
  public let url: String
  /// The header fields to send: `Accept-Encoding`, `Range`, `If-Range`.
  public let fields: [(name: String, value: String)]
  /// A valid file name, the same for the same bytes of the same file, whatever the URL: it finds a transfer again that
  /// the system went on with while the app did not run.
  public let key: String
  /// Whether networks may be used that are paid by the byte.
  public let usesMetered: Bool
  /// Whether networks may be used for which the person has asked to save data.
  public let usesConstrained: Bool

  /// A request, as the library makes it; for tests of a ``FileTransport``.
  public init(
    url: String, fields: [(name: String, value: String)] = [], key: String, usesMetered: Bool = true,
    usesConstrained: Bool = true
  ) {
    (self.url, self.fields, self.key) = (url, fields, key)
    (self.usesMetered, self.usesConstrained) = (usesMetered, usesConstrained)
  }
}

/// A server's answer to a ``FileRequest``.
public struct FileAnswer: Sendable {
  /// The HTTP status.
  public let status: Int
  /// Pieces of the body, of any size. Reading may end early.
  public let body: any AsyncSequence<[UInt8], any Error> & Sendable
  private let fields: [String: String]

  /// An answer with its body still to be read.
  ///
  /// - Parameter fields: names in any case; of several with one name the first counts.
  public init(
    status: Int, fields: some Sequence<(name: String, value: String)>,
    body: any AsyncSequence<[UInt8], any Error> & Sendable
  ) {
    (self.status, self.body) = (status, body)
    self.fields = Dictionary(fields.map { ($0.name.lowercased(), $0.value) }, uniquingKeysWith: { first, _ in first })
  }

  /// The value of a header field; nil if the answer does not have it.
  public func field(_ name: String) -> String? { fields[name.lowercased()] }
}
