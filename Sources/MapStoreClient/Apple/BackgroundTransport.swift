#if canImport(Darwin) || URL_SESSION_TESTS
  public import Foundation
  import Synchronization

  #if URL_SESSION_TESTS
    import Dispatch
    public import FoundationNetworking
    public import MapStoreClient
  #endif

  /// Downloads of a background `URLSession`: the system goes on with them while the app is suspended, and starts it
  /// again when they are done.
  ///
  /// ```swift
  /// let session = URLSessionConfiguration.background(withIdentifier: "org.example.maps.regions")
  /// options.transport = try BackgroundTransport(session, folder: caches)
  /// ```
  ///
  /// A file arrives as a whole, or the rest of one. What arrived while the app did not run is kept in the folder under
  /// its key, until an install asks for it: after a start call `sync`, which continues interrupted downloads.
  public final class BackgroundTransport: NSObject, FileTransport, URLSessionDownloadDelegate {
    private struct Waiting {
      var answer: CheckedContinuation<Void, any Error>
      var received: @Sendable (Int) -> Void
    }

    private struct State {
      var waiting: [String: Waiting] = [:]
      /// Given by the system with the launch for events of the session.
      var whenEventsEnd: (@Sendable () -> Void)?
    }

    /// The fields of an answer that transfers look at.
    private static let fieldNames = ["Content-Encoding", "Content-Length", "Content-Range", "ETag", "Retry-After"]
    private let folder: URL
    private let state = Mutex(State())
    private let session = Mutex<URLSession?>(nil)

    /// - Parameters:
    ///   - configuration: of the session, with an identifier that is the same at every start.
    ///   - folder: for files that have arrived; created if missing. Its own, on the volume of the regions.
    /// - Throws: Foundation's error when the folder cannot be created.
    public init(_ configuration: URLSessionConfiguration, folder: URL) throws {
      self.folder = folder
      try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
      super.init()
      session.withLock { $0 = URLSession(configuration: configuration, delegate: self, delegateQueue: nil) }
    }

    /// Ends the session; transfers go on, and the next transport of that identifier finds them.
    public func invalidate() {
      session.withLock { session in
        session?.finishTasksAndInvalidate()
        // It takes no more tasks: asking it would end the app.
        session = nil
      }
    }

    /// For `handleEventsForBackgroundURLSession`: called when all that arrived meanwhile is in the folder.
    public func whenEventsEnd(_ completion: @escaping @Sendable () -> Void) {
      state.withLock { $0.whenEventsEnd = completion }
    }

    /// Gives what has arrived already, or waits for the transfer that runs, or starts one.
    public func get(_ request: FileRequest, received: @escaping @Sendable (Int) -> Void) async throws -> FileAnswer {
      if let answer = try kept(request.key) { return answer }
      guard let session = session.withLock({ $0 }) else {
        throw ConnectionFault(.notSent, "the transport was invalidated")
      }
      guard let url = URL(string: request.url) else { throw ConnectionFault(.notSent, "this is not an address") }
      let tasks = await session.allTasks
      try Task.checkCancellation()
      let known = tasks.first { $0.taskDescription == request.key && $0.state == .running }
      let task = known ?? start(request, url, in: session)
      try await withTaskCancellationHandler {
        try await withCheckedThrowingContinuation { continuation in
          state.withLock { $0.waiting[request.key] = Waiting(answer: continuation, received: received) }
          if known == nil {
            task.resume()
          } else if task.state == .completed || isKept(request.key) {
            // It has ended since the tasks were listed.
            end(request.key, .success(()))
          }
          // Cancelled before anyone waited: the delegate may have been called already, and is not called again.
          if task.state == .canceling || Task.isCancelled { end(request.key, .failure(CancellationError())) }
        }
      } onCancel: {
        task.cancel()
      }
      guard let answer = try kept(request.key) else {
        try Task.checkCancellation()
        throw URLError(.cannotOpenFile)
      }
      return answer
    }

    private func start(_ request: FileRequest, _ url: URL, in session: URLSession) -> URLSessionTask {
      var message = URLRequest(url: url)
      for field in request.fields { message.setValue(field.value, forHTTPHeaderField: field.name) }
      message.allowsExpensiveNetworkAccess = request.usesMetered
      message.allowsConstrainedNetworkAccess = request.usesConstrained
      let task = session.downloadTask(with: message)
      task.taskDescription = request.key
      return task
    }

    private func end(_ key: String, _ result: Result<Void, any Error>) {
      state.withLock { $0.waiting.removeValue(forKey: key) }?.answer.resume(with: result)
    }

    // MARK: What has arrived

    /// Status and fields of an answer, beside its body.
    private struct Head: Codable {
      var status: Int
      var fields: [String: String]
    }

    private func file(_ key: String, _ suffix: String) -> URL { folder.appendingPathComponent("\(key).\(suffix)") }
    private func isKept(_ key: String) -> Bool { FileManager.default.fileExists(atPath: file(key, "head").path) }

    /// The answer of a transfer that is complete; nil when there is none. Its files are deleted when it is read.
    private func kept(_ key: String) throws -> FileAnswer? {
      guard isKept(key) else { return nil }
      let head = try JSONDecoder().decode(Head.self, from: Data(contentsOf: file(key, "head")))
      let body = try FileHandle(forReadingFrom: file(key, "body"))
      for suffix in ["head", "body"] { try FileManager.default.removeItem(at: file(key, suffix)) }
      return FileAnswer(
        status: head.status, fields: head.fields.map { ($0.key, $0.value) },
        body: AsyncThrowingStream(unfolding: {
          guard let bytes = try body.read(upToCount: 256 << 10), !bytes.isEmpty else { return nil }
          return [UInt8](bytes)
        }))
    }

    // MARK: URLSessionDownloadDelegate

    /// Keeps a complete answer: the head last, since it says that the body is there.
    public func urlSession(
      _ session: URLSession, downloadTask task: URLSessionDownloadTask, didFinishDownloadingTo location: URL
    ) {
      guard let key = task.taskDescription, let response = task.response as? HTTPURLResponse else { return }
      let fields = Self.fieldNames.compactMap { name in response.value(forHTTPHeaderField: name).map { (name, $0) } }
      let head = Head(status: response.statusCode, fields: Dictionary(fields, uniquingKeysWith: { $1 }))
      do {
        try? FileManager.default.removeItem(at: file(key, "body"))
        try FileManager.default.moveItem(at: location, to: file(key, "body"))
        try JSONEncoder().encode(head).write(to: file(key, "head"), options: .atomic)
      } catch {
        end(key, .failure(error))
      }
    }

    /// Ends the wait for a transfer.
    public func urlSession(_ session: URLSession, task: URLSessionTask, didCompleteWithError error: (any Error)?) {
      guard let key = task.taskDescription else { return }
      end(key, error.map { .failure(URLSessionConnections.fault($0)) } ?? .success(()))
    }

    /// Passes the progress on.
    public func urlSession(
      _ session: URLSession, downloadTask: URLSessionDownloadTask, didWriteData bytesWritten: Int64,
      totalBytesWritten: Int64, totalBytesExpectedToWrite: Int64
    ) {
      guard let key = downloadTask.taskDescription else { return }
      state.withLock { $0.waiting[key]?.received }?(Int(totalBytesWritten))
    }

    /// Tells the system that the app may be suspended again.
    public func urlSessionDidFinishEvents(forBackgroundURLSession session: URLSession) {
      let completion = state.withLock { state in
        defer { state.whenEventsEnd = nil }
        return state.whenEventsEnd
      }
      // The system wants it on the main thread.
      if let completion { DispatchQueue.main.async(execute: completion) }
    }
  }
#endif
