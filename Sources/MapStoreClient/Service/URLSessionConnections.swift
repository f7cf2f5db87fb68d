#if !AsyncHTTPClient || canImport(Darwin) || URL_SESSION_TESTS
  import Foundation
  import Support
  import Synchronization

  #if canImport(FoundationNetworking)
    import FoundationNetworking
  #endif
  #if URL_SESSION_TESTS
    import MapStoreClient
  #endif

  /// Connections of a `URLSession` in the foreground, without cookies, caches and stored passwords.
  ///
  /// A connection that is not made and one that sends nothing end after ``RetryRule/idleMax``: `URLSession` has one
  /// limit for both.
  final class URLSessionConnections: NSObject, HTTPConnections, URLSessionDataDelegate {
    private struct State {
      /// Nil when the connections are closed: a session takes no task then.
      var session: URLSession?
      /// By task.
      var bodies: [Int: AnswerBody] = [:]
    }

    private let state = Mutex(State())
    private let idleMax: Double

    init(_ retry: RetryRule) {
      // Foundation on Linux takes whole seconds.
      idleMax = max(retry.idleMax.rounded(.up), 1)
      super.init()
      let configuration = URLSessionConfiguration.ephemeral
      configuration.urlCache = nil
      configuration.httpCookieStorage = nil
      configuration.urlCredentialStorage = nil
      configuration.timeoutIntervalForRequest = idleMax
      // The session keeps its delegate until it is closed.
      state.withLock { $0.session = URLSession(configuration: configuration, delegate: self, delegateQueue: nil) }
    }

    func close() async { abandon() }

    func abandon() {
      let session = state.withLock { state in
        defer { state.session = nil }
        return state.session
      }
      session?.invalidateAndCancel()
    }

    func send(_ request: HTTPMessage) async throws -> FileAnswer {
      guard let url = URL(string: request.url.text) else {
        throw ConnectionFault(.notSent, "this is not an address")
      }
      var message = URLRequest(url: url, cachePolicy: .reloadIgnoringLocalCacheData, timeoutInterval: idleMax)
      message.httpMethod = request.method
      for field in request.fields { message.setValue(field.value, forHTTPHeaderField: field.name) }
      if let body = request.body { message.httpBody = Data(body) }
      #if !canImport(FoundationNetworking)
        message.allowsExpensiveNetworkAccess = request.usesMetered
        message.allowsConstrainedNetworkAccess = request.usesConstrained
      #endif
      let body: AnswerBody? = state.withLock { state in
        guard let task = state.session?.dataTask(with: message) else { return nil }
        let body = AnswerBody(task)
        state.bodies[task.taskIdentifier] = body
        return body
      }
      guard let body else { throw ConnectionFault(.notSent, "the client was shut down") }
      let reader = AnswerReader(body)
      let first = try await reader.start()
      // None without an error: a transfer that ended before its answer, which is worth another attempt.
      guard let response = body.task.response as? HTTPURLResponse else {
        throw body.task.response == nil
          ? ConnectionFault(.interrupted, "the connection was cut off")
          : ConnectionFault(.notHTTP, "the answer is not HTTP")
      }
      return FileAnswer(
        status: response.statusCode, fields: response.allHeaderFields.map { ("\($0.key)", "\($0.value)") },
        body: Body(first: first, reader: reader))
    }

    /// Unlike a stream of closures, it throws when the reading task is cancelled, and does not end as if it were whole.
    private struct Body: AsyncSequence, Sendable {
      let first: [UInt8]?
      let reader: AnswerReader

      struct AsyncIterator: AsyncIteratorProtocol {
        var first: [UInt8]?
        let reader: AnswerReader

        mutating func next() async throws -> [UInt8]? {
          guard let bytes = first else { return try await reader.next() }
          first = nil
          return bytes
        }
      }

      func makeAsyncIterator() -> AsyncIterator { AsyncIterator(first: first, reader: reader) }
    }

    // MARK: URLSessionDataDelegate

    /// Gives the redirect itself as the answer.
    func urlSession(
      _ session: URLSession, task: URLSessionTask, willPerformHTTPRedirection response: HTTPURLResponse,
      newRequest request: URLRequest, completionHandler: @escaping (URLRequest?) -> Void
    ) {
      completionHandler(nil)
    }

    func urlSession(_ session: URLSession, dataTask: URLSessionDataTask, didReceive data: Data) {
      state.withLock { $0.bodies[dataTask.taskIdentifier] }?.add([UInt8](data))
    }

    func urlSession(_ session: URLSession, task: URLSessionTask, didCompleteWithError error: (any Error)?) {
      let body = state.withLock { $0.bodies.removeValue(forKey: task.taskIdentifier) }
      body?.end(error.map { .failure(Self.fault($0)) } ?? .success(()))
    }

    // MARK: Errors

    static func fault(_ error: any Error) -> ConnectionFault {
      guard let error = error as? URLError else { return ConnectionFault(.interrupted, error.localizedDescription) }
      switch error.code {
      case .badURL: return ConnectionFault(.notSent, "this is not an address")
      case .cannotFindHost, .dnsLookupFailed: return ConnectionFault(.notSent, "the host is unknown")
      case .cannotConnectToHost: return ConnectionFault(.notSent, "no connection is accepted there", isRefused: true)
      case .notConnectedToInternet, .dataNotAllowed, .internationalRoamingOff, .callIsActive:
        return ConnectionFault(.notSent, "there is no network")
      case .appTransportSecurityRequiresSecureConnection:
        return ConnectionFault(.notSent, "the system allows https only")
      case .secureConnectionFailed: return ConnectionFault(.notSent, "no secure connection: the handshake failed")
      case .serverCertificateUntrusted, .serverCertificateHasUnknownRoot, .serverCertificateHasBadDate,
        .serverCertificateNotYetValid:
        return ConnectionFault(.notSent, "no secure connection: the server's certificate does not verify")
      case .timedOut: return ConnectionFault(.interrupted, "the server has stopped sending")
      case .networkConnectionLost: return ConnectionFault(.interrupted, "the connection was cut off")
      case .cannotParseResponse: return ConnectionFault(.notHTTP, "the answer is not HTTP")
      #if canImport(FoundationNetworking)
        // Its names for an answer of HTTP 0.9, and for none at all.
        case .unsupportedURL: return ConnectionFault(.notHTTP, "the answer is not HTTP")
        case .badServerResponse: return ConnectionFault(.interrupted, "the connection was cut off")
        case .unknown where isHandshake(error.localizedDescription):
          let reason = error.localizedDescription.split(separator: ":").last ?? "the handshake failed"
          return ConnectionFault(.notSent, "no secure connection: \(reason.drop { $0 == " " })")
      #else
        case .badServerResponse: return ConnectionFault(.notHTTP, "the answer is not HTTP")
      #endif
      default: return ConnectionFault(.interrupted, error.localizedDescription)
      }
    }

    #if canImport(FoundationNetworking)
      /// Whether a text of curl's, for which Foundation has no code, is about TLS before the first byte of HTTP.
      private static func isHandshake(_ text: String) -> Bool {
        text.contains("SSL") && !text.contains("SSL_read") && !text.contains("SSL_write")
      }
    #endif
  }

  /// The bytes of an answer between the session, which delivers them, and the one reader, who may be slower.
  private final class AnswerBody: Sendable {
    private struct State {
      var pieces: [[UInt8]] = []
      var byteCount = 0
      var end: Result<Void, any Error>?
      var reader: CheckedContinuation<[UInt8]?, any Error>?
      var isSuspended = false
    }

    /// With more bytes than that waiting, the task rests. Not on Linux, where a task may not go on after it.
    #if canImport(FoundationNetworking)
      private static let bytesMax = Int.max
    #else
      private static let bytesMax = 1 << 20
    #endif

    let task: URLSessionDataTask
    private let state = Mutex(State())

    init(_ task: URLSessionDataTask) { self.task = task }

    func add(_ bytes: [UInt8]) {
      let reader = state.withLock { state in
        if state.reader == nil {
          state.pieces.append(bytes)
          state.byteCount += bytes.count
          if state.byteCount > Self.bytesMax, !state.isSuspended {
            state.isSuspended = true
            task.suspend()
          }
        }
        defer { state.reader = nil }
        return state.reader
      }
      reader?.resume(returning: bytes)
    }

    func end(_ result: Result<Void, any Error>) {
      let reader = state.withLock { state in
        state.end = result
        defer { state.reader = nil }
        return state.reader
      }
      reader?.resume(with: result.map { nil })
    }

    /// The next bytes; nil at the end.
    func next() async throws -> [UInt8]? {
      try await withCheckedThrowingContinuation { continuation in
        let result: Result<[UInt8]?, any Error>? = state.withLock { state in
          guard state.pieces.isEmpty else {
            let bytes = state.pieces.removeFirst()
            state.byteCount -= bytes.count
            if state.isSuspended, state.byteCount < Self.bytesMax / 2 {
              state.isSuspended = false
              task.resume()
            }
            return .success(bytes)
          }
          if state.end == nil { state.reader = continuation }
          return state.end?.map { nil }
        }
        if let result { continuation.resume(with: result) }
      }
    }
  }

  /// Reads a body to its end, or ends the transfer with the last reference.
  private final class AnswerReader: Sendable {
    private let body: AnswerBody

    init(_ body: AnswerBody) { self.body = body }

    deinit { body.task.cancel() }

    /// Sends the request, and waits for the first bytes of the body; nil when there are none.
    func start() async throws -> [UInt8]? {
      body.task.resume()
      return try await next()
    }

    func next() async throws -> [UInt8]? {
      do {
        return try await withTaskCancellationHandler {
          try await body.next()
        } onCancel: {
          body.task.cancel()
        }
      } catch {
        try Task.checkCancellation()
        throw error
      }
    }
  }
#endif
