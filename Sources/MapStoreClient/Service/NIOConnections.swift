#if AsyncHTTPClient && !canImport(Darwin)
  import AsyncHTTPClient
  import LibC
  import NIOCore
  import NIOHTTP1
  import NIOPosix
  import NIOSSL
  import Support
  import TileIndex

  /// Connections of AsyncHTTPClient, on the event loops that all of a process's clients share.
  struct NIOConnections: HTTPConnections {
    private let http: HTTPClient

    init(_ retry: RetryRule) {
      var configuration = HTTPClient.Configuration()
      configuration.timeout.connect = .milliseconds(Int64(retry.connectMax * 1000))
      configuration.timeout.read = .milliseconds(Int64(retry.idleMax * 1000))
      configuration.redirectConfiguration = .disallow
      // Retries are the caller's: those of AsyncHTTPClient are not counted, and hide the error.
      configuration.connectionPool.retryConnectionEstablishment = false
      http = HTTPClient(eventLoopGroupProvider: .singleton, configuration: configuration)
    }

    func close() async { try? await http.shutdown() }
    func abandon() { _ = http.shutdown() }

    func send(_ request: HTTPMessage) async throws -> FileAnswer {
      var message = HTTPClientRequest(url: request.url.text)
      message.method = .init(rawValue: request.method)
      for field in request.fields { message.headers.add(name: field.name, value: field.value) }
      if let body = request.body { message.body = .bytes(body) }
      do {
        let response = try await http.execute(message, deadline: .distantFuture)
        return FileAnswer(
          status: Int(response.status.code), fields: response.headers.map { ($0.name, $0.value) },
          body: Body(response: response.body))
      } catch {
        try Task.checkCancellation()
        throw Self.fault(error)
      }
    }

    /// A body whose errors are those of ``HTTPConnections``.
    private struct Body: AsyncSequence, Sendable {
      let response: HTTPClientResponse.Body

      struct AsyncIterator: AsyncIteratorProtocol {
        var response: HTTPClientResponse.Body.AsyncIterator

        mutating func next() async throws -> [UInt8]? {
          do {
            return try await response.next().map { Array($0.readableBytesView) }
          } catch {
            try Task.checkCancellation()
            throw NIOConnections.fault(error)
          }
        }
      }

      func makeAsyncIterator() -> AsyncIterator { AsyncIterator(response: response.makeAsyncIterator()) }
    }

    private static func fault(_ error: any Error) -> ConnectionFault {
      if let error = error as? HTTPParserError, error != .invalidEOFState {
        return ConnectionFault(.notHTTP, "the answer is not HTTP")
      }
      return ConnectionFault(
        isNoConnection(error) ? .notSent : .interrupted, text(error), isRefused: isRefused(error))
    }

    /// True when every address of the host refuses.
    private static func isRefused(_ error: any Error) -> Bool {
      if let error = error as? IOError { return error.errnoCode == ECONNREFUSED }
      guard let errors = (error as? NIOConnectionError)?.connectionErrors, !errors.isEmpty else { return false }
      return errors.allSatisfy { isRefused($0.error) }
    }

    private static func isNoConnection(_ error: any Error) -> Bool {
      if let error = error as? HTTPClientError { return error == .connectTimeout || error == .invalidURL }
      // For an IP address the system's error is thrown; for a host name, one error for all its addresses.
      if let error = error as? IOError { return ![ECONNRESET, EPIPE, ENOTCONN].contains(error.errnoCode) }
      return error is NIOConnectionError || tlsReason(error) != nil
    }

    private static func text(_ error: any Error) -> String {
      if let error = error as? HTTPClientError {
        return switch error {
        case .readTimeout: "the server has stopped sending"
        case .connectTimeout: "the attempt to connect timed out"
        case .remoteConnectionClosed: "the connection was cut off"
        case .invalidURL: "this is not an address"
        default: "\(error.shortDescription)"
        }
      }
      if let error = error as? NIOConnectionError {
        let reason = error.connectionErrors.first.map { text($0.error) } ?? "the host is unknown"
        return "no connection to \(error.host):\(error.port): \(reason)"
      }
      // The system's text, without the name of the call.
      if let error = error as? IOError { return "\(FileSystem.SystemError(number: error.errnoCode))" }
      if let reason = tlsReason(error) { return "no secure connection: \(reason)" }
      return error is HTTPParserError ? "the answer ended in its header" : "\(error)"
    }

    /// BoringSSL's reason in words; nil for errors of other layers. Its own text has paths of the machine that built
    /// it.
    private static func tlsReason(_ error: any Error) -> String? {
      let isTLS =
        (error as? NIOSSLError).map { $0 != .uncleanShutdown } ?? (error is NIOSSLExtraError || error is BoringSSLError)
      guard isTLS else { return nil }
      let text = "\(error)"
      guard let mark = text.firstRange(of: "OPENSSL_internal:") else { return "the handshake failed" }
      return text[mark.upperBound...].prefix { $0.isLetter || $0 == "_" }.lowercased().replacing("_", with: " ")
    }
  }
#endif
