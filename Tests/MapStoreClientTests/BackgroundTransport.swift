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
      var answer: CheckedContinuation<FileAnswer, any Error>
      var received: @Sendable (Int) -> Void
    }

    /// A task, and all that wait for it: files with equal bytes have one key.
    private struct Transfer {
      let task: URLSessionTask
      var waiting: [Int: Waiting] = [:]
    }

    private struct State {
      /// Nil after ``invalidate()``: a task that is asked of such a session ends the app.
      var session: URLSession?
      /// Tasks that ended while nobody waited for them.
      var ended: Set<Int> = []
      var transfers: [String: Transfer] = [:]
      var nextID = 0
      /// Given by the system with the launch for events of the session.
      var whenEventsEnd: (@Sendable () -> Void)?
    }

    /// The fields of an answer that transfers look at.
    private static let fieldNames = [
      "Content-Encoding", "Content-Length", "Content-Range", "Content-Type", "ETag", "Retry-After",
    ]
    private let folder: URL
    private let state = Mutex(State())

    /// Opens the session, and creates the folder if it is missing.
    ///
    /// - Parameters:
    ///   - configuration: of the session, with an identifier that is the same at every start.
    ///   - folder: for files that have arrived. Its own, on the volume of the regions.
    /// - Throws: Foundation's error when the folder cannot be created.
    public init(_ configuration: URLSessionConfiguration, folder: URL) throws {
      self.folder = folder
      try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
      super.init()
      state.withLock { $0.session = URLSession(configuration: configuration, delegate: self, delegateQueue: nil) }
    }

    /// Ends the session; transfers go on, and the next transport of that identifier finds them.
    public func invalidate() {
      state.withLock { state in
        state.session?.finishTasksAndInvalidate()
        state.session = nil
      }
    }

    /// For `handleEventsForBackgroundURLSession`: called when all that arrived meanwhile is in the folder.
    public func whenEventsEnd(_ completion: @escaping @Sendable () -> Void) {
      state.withLock { $0.whenEventsEnd = completion }
    }

    /// Gives what has arrived already, or waits for the transfer that runs, or starts one.
    ///
    /// Several callers with one ``FileRequest/key`` share a transfer; it is cancelled when the last of them is.
    ///
    /// - Parameter received: called on a queue of the session.
    /// - Throws: `ConnectionFault`, Foundation's errors; `CancellationError`.
    public func get(_ request: FileRequest, received: @escaping @Sendable (Int) -> Void) async throws -> FileAnswer {
      let key = request.key
      if let answer = try state.withLock({ try unclaimed(key, $0) }) { return answer }
      let session = try state.withLock { try open($0) }
      guard let url = URL(string: request.url) else { throw ConnectionFault(.notSent, "this is not an address") }
      let tasks = await session.allTasks
      try Task.checkCancellation()
      let known = tasks.filter { $0.taskDescription == key }
      let id = state.withLock { state in
        state.nextID += 1
        return state.nextID
      }
      return try await withTaskCancellationHandler {
        try await withCheckedThrowingContinuation { continuation in
          let answer = Result {
            try state.withLock { state -> FileAnswer? in
              // The tasks that were listed may have ended meanwhile, and their files may have arrived.
              if let answer = try unclaimed(key, state) { return answer }
              let running = known.first { $0.state == .running && !state.ended.contains($0.taskIdentifier) }
              let task = try state.transfers[key]?.task ?? running ?? start(request, url, in: open(state))
              state.transfers[key, default: Transfer(task: task)].waiting[id] = Waiting(
                answer: continuation, received: received)
              return nil
            }
          }
          switch answer {
          case .success(let answer?): continuation.resume(returning: answer)
          case .failure(let error): continuation.resume(throwing: error)
          case .success(nil):
            // Cancelled before it waited.
            if Task.isCancelled { leave(key, id) }
          }
        }
      } onCancel: {
        leave(key, id)
      }
    }

    /// The number of callers that wait for a transfer; for tests.
    func waitingCount(for key: String) -> Int { state.withLock { $0.transfers[key]?.waiting.count ?? 0 } }

    private func open(_ state: State) throws -> URLSession {
      guard let session = state.session else { throw ConnectionFault(.notSent, "the transport was invalidated") }
      return session
    }

    /// Callers hold the lock, so that nobody invalidates the session meanwhile.
    private func start(_ request: FileRequest, _ url: URL, in session: URLSession) -> URLSessionTask {
      var message = URLRequest(url: url)
      for field in request.fields { message.setValue(field.value, forHTTPHeaderField: field.name) }
      message.allowsExpensiveNetworkAccess = request.usesMetered
      message.allowsConstrainedNetworkAccess = request.usesConstrained
      let task = session.downloadTask(with: message)
      task.taskDescription = request.key
      task.resume()
      return task
    }

    /// Gives all that wait for a task the answer that has arrived, or the error.
    private func end(_ key: String, _ task: URLSessionTask, _ result: Result<Void, any Error>) {
      let (waiting, answers) = state.withLock { state -> ([Waiting], Result<[FileAnswer], any Error>) in
        // A task that was cancelled may end after another one of its key has begun.
        guard state.transfers[key]?.task.taskIdentifier == task.taskIdentifier,
          let waiting = state.transfers.removeValue(forKey: key)?.waiting.values
        else {
          state.ended.insert(task.taskIdentifier)
          return ([], .success([]))
        }
        let answers = result.flatMap { _ in
          Result {
            guard let answers = try arrived(key, readers: waiting.count) else { throw URLError(.cannotOpenFile) }
            return answers
          }
        }
        return (Array(waiting), answers)
      }
      for (index, one) in waiting.enumerated() { one.answer.resume(with: answers.map { $0[index] }) }
    }

    /// Ends a cancelled wait; the last one ends the task.
    private func leave(_ key: String, _ id: Int) {
      let waiting = state.withLock { state in
        let waiting = state.transfers[key]?.waiting.removeValue(forKey: id)
        if waiting != nil, state.transfers[key]?.waiting.isEmpty == true {
          // Under the lock: otherwise the next request would wait for this task.
          state.transfers.removeValue(forKey: key)?.task.cancel()
        }
        return waiting
      }
      waiting?.answer.resume(throwing: CancellationError())
    }

    // MARK: What has arrived

    /// Status and fields of an answer, beside its body.
    private struct Head: Codable {
      var status: Int
      var fields: [String: String]
    }

    private func file(_ key: String, _ suffix: String) -> URL { folder.appendingPathComponent("\(key).\(suffix)") }

    /// What has arrived while nobody waited. Those who wait for a transfer share what it brings. Callers hold the lock.
    private func unclaimed(_ key: String, _ state: State) throws -> FileAnswer? {
      state.transfers[key] == nil ? try arrived(key, readers: 1)?.first : nil
    }

    /// The answer of a complete transfer for each of its readers; nil when there is none. Deletes its files, which the
    /// readers have open. Callers hold the lock.
    private func arrived(_ key: String, readers: Int) throws -> [FileAnswer]? {
      guard FileManager.default.fileExists(atPath: file(key, "head").path) else { return nil }
      let head = try JSONDecoder().decode(Head.self, from: Data(contentsOf: file(key, "head")))
      let bodies = try (0..<readers).map { _ in try FileHandle(forReadingFrom: file(key, "body")) }
      for suffix in ["head", "body"] { try FileManager.default.removeItem(at: file(key, suffix)) }
      return bodies.map { body in
        FileAnswer(
          status: head.status, fields: head.fields.map { ($0.key, $0.value) },
          body: AsyncThrowingStream(unfolding: {
            guard let bytes = try body.read(upToCount: 256 << 10), !bytes.isEmpty else { return nil }
            return [UInt8](bytes)
          }))
      }
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
        try state.withLock { _ in
          try? FileManager.default.removeItem(at: file(key, "body"))
          try FileManager.default.moveItem(at: location, to: file(key, "body"))
          try JSONEncoder().encode(head).write(to: file(key, "head"), options: .atomic)
        }
      } catch {
        end(key, task, .failure(error))
      }
    }

    /// Ends the wait for a transfer.
    public func urlSession(_ session: URLSession, task: URLSessionTask, didCompleteWithError error: (any Error)?) {
      guard let key = task.taskDescription else { return }
      end(key, task, error.map { .failure(URLSessionConnections.fault($0)) } ?? .success(()))
    }

    /// Passes the progress on.
    public func urlSession(
      _ session: URLSession, downloadTask: URLSessionDownloadTask, didWriteData bytesWritten: Int64,
      totalBytesWritten: Int64, totalBytesExpectedToWrite: Int64
    ) {
      guard let key = downloadTask.taskDescription else { return }
      let waiting = state.withLock { $0.transfers[key].map { Array($0.waiting.values) } ?? [] }
      for one in waiting { one.received(Int(totalBytesWritten)) }
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
