import Support

extension Cutter {
  /// Cuts into a new bundle, as ``cut(to:replacing:checkpoints:cancellation:onProgress:)``, on a thread of its own:
  /// none of Swift's tasks waits for it. Cancelling the task stops the cut.
  ///
  /// - Parameter onProgress: called after each subtree, by one thread at a time.
  /// - Throws: as that; `CancellationError` when the task was cancelled: no other file is left behind then but what
  ///   `checkpoints` keeps.
  public func cut(
    to path: String, replacing: Bool = false, checkpoints: CutCheckpoints? = nil,
    onProgress: (@Sendable (CutProgress) -> Void)? = nil
  ) async throws -> CutSummary {
    let cancellation = CutCancellation()
    return try await withTaskCancellationHandler {
      try Task.checkCancellation()
      return try await withCheckedThrowingContinuation { continuation in
        let work: @Sendable () -> Void = {
          do {
            continuation.resume(
              returning: try cut(
                to: path, replacing: replacing, checkpoints: checkpoints, cancellation: cancellation,
                onProgress: onProgress))
          } catch let error as CutError where error.code == .cancelled {
            continuation.resume(throwing: CancellationError())
          } catch {
            continuation.resume(throwing: error)
          }
        }
        // Where the system allows no more threads, this one has to wait.
        if let thread = WorkerThread.start(work) { thread.detach() } else { work() }
      }
    } onCancel: {
      cancellation.cancel()
    }
  }
}
