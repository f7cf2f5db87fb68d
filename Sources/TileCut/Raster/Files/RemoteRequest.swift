import CCurlShim
import Support

/// One connection to HTTP servers, for one thread at a time.
///
/// Unchecked `Sendable`: ``RemoteSourceFile`` lends it to one thread.
final class RemoteConnection: @unchecked Sendable {
  private let handle: OpaquePointer

  /// - Throws: ``CutError`` if libcurl is missing or memory is short.
  init() throws {
    try LazyLibrary.curl.require()
    guard let handle = ccurl_new() else { throw CutError(.unreadableSource, "there is no memory for a connection") }
    self.handle = handle
  }

  deinit { ccurl_free(handle) }

  /// Passes the body of a successful response to `sink`, which returns false to stop.
  func get(
    _ url: String, range: Range<Int>?, condition: String?, cache: RemoteCache,
    sink: (UnsafeRawBufferPointer) -> Bool
  ) -> RemoteResponse {
    let limits = cache.limits
    var result = ccurl_result()
    withoutActuallyEscaping(sink) { sink in
      var box = SinkBox(take: sink, isCancelled: { cache.isCancelled })
      withUnsafeMutablePointer(to: &box) { box in
        func perform(_ condition: UnsafePointer<CChar>?, _ caFile: UnsafePointer<CChar>?) {
          "tilecut".withCString { agent in
            var request = ccurl_request(
              offset: Int64(range?.lowerBound ?? 0), count: range.map { Int64($0.count) } ?? -1, condition: condition,
              user_agent: agent, ca_file: caFile, connect_ms: Int(limits.connectSeconds * 1000),
              stall_seconds: limits.stallSeconds)
            ccurl_get(
              handle, url, &request,
              { context, bytes, count in
                let box = context!.assumingMemoryBound(to: SinkBox.self)
                return box.pointee.take(UnsafeRawBufferPointer(start: bytes, count: count)) ? 0 : 1
              }, { $0!.assumingMemoryBound(to: SinkBox.self).pointee.isCancelled() ? 1 : 0 }, box, &result)
          }
        }
        func withOptional(_ text: String?, _ body: (UnsafePointer<CChar>?) -> Void) {
          if let text { text.withCString(body) } else { body(nil) }
        }
        withOptional(condition) { condition in withOptional(limits.caFile) { perform(condition, $0) } }
      }
    }
    return RemoteResponse(result)
  }

  private struct SinkBox {
    let take: (UnsafeRawBufferPointer) -> Bool
    let isCancelled: () -> Bool
  }
}

/// How patient a connection is.
struct RemoteLimits: Sendable {
  var connectSeconds = 15.0
  /// A transfer slower than 1 kB/s for this long is tried again.
  var stallSeconds = 30
  /// Tries of one request.
  var tries = 6
  /// The wait before the second try; it doubles for each further one.
  var backoffSeconds = 0.5
  /// The longest wait that a server may ask for.
  var waitSecondsMax = 60.0
  /// A file of trusted certificates in place of the system's.
  var caFile = FileSystem.environment("SSL_CERT_FILE")
}

/// What a server answered, besides the body.
struct RemoteResponse: Sendable {
  /// HTTP's status; 0 if none came.
  let status: Int
  /// libcurl's words if the transfer failed; nil if it went through.
  let failure: String?
  let isTransient: Bool
  let isTLS: Bool
  let isUnreachable: Bool
  /// The sink stopped the transfer.
  let isStopped: Bool
  /// The first byte of the range and the size of the whole, as far as the server says.
  let rangeFirst: Int?
  let total: Int?
  let length: Int?
  let received: Int
  let etag: String?
  let lastModified: String?
  let encoding: String?
  let retryAfterSeconds: Double?

  init(_ result: ccurl_result) {
    func text<Tuple>(_ tuple: Tuple) -> String? {
      withUnsafeBytes(of: tuple) { bytes in
        let text = String(decoding: bytes.prefix { $0 != 0 }, as: UTF8.self)
        return text.isEmpty ? nil : text
      }
    }
    func known(_ number: Int64) -> Int? { number >= 0 ? Int(number) : nil }
    status = result.status
    failure = result.code == 0 ? nil : text(result.message) ?? "error \(result.code)"
    isTransient = result.is_transient != 0
    isTLS = result.is_tls != 0
    isUnreachable = result.is_unreachable != 0
    isStopped = result.is_stopped != 0
    (rangeFirst, total) = (known(result.range_first), known(result.range_total))
    (length, received) = (known(result.length), Int(result.received))
    (etag, lastModified, encoding) = (text(result.etag), text(result.last_modified), text(result.encoding))
    retryAfterSeconds = result.retry_after >= 0 ? Double(result.retry_after) : nil
  }

  /// Whether another try may succeed.
  var isWorthAnotherTry: Bool {
    if isStopped { return false }
    if failure != nil { return isTransient }
    return [408, 425, 429, 500, 502, 503, 504].contains(status)
  }
}
