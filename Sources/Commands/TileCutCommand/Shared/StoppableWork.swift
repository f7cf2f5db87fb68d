import ArgumentParser
import CommandSupport
import LibC
import Support
import Synchronization
import TileCut
import TileIndex

/// Runs work that can be cancelled. A signal cancels it, and the process ends with 128 and its number.
///
/// Libraries cannot be interrupted in a call, and some take minutes for one, such as a block of a picture. Where the
/// work has not ended after ``secondsToStop``, the process ends as that of ``stoppable(_:)`` does.
///
/// - Parameter body: calls `begin` before it writes anything; until then a signal ends the process at once.
func cancellable<Result>(_ body: (_ begin: () -> CutCancellation) throws -> Result) throws -> Result {
  let signals = SignalWatch()
  let hasEnded = WorkEnd()
  defer {
    signals.stop()
    hasEnded.flag.store(true, ordering: .relaxed)
  }
  do {
    return try body {
      let cancellation = CutCancellation()
      signals.whenStopped { [unowned signals] in
        cancellation.cancel()
        let signal = signals.received ?? SIGTERM
        WorkerThread.start {
          sleep(secondsToStop)
          guard !hasEnded.flag.load(ordering: .relaxed) else { return }
          OutputFile.abandonAll { _exit(128 + signal) }
        }?.detach()
      }
      return cancellation
    }
  } catch {
    if let signal = signals.received { throw ExitCode(.signal(signal)) }
    throw error
  }
}

private final class WorkEnd: Sendable {
  let flag = Atomic(false)
}

/// How long work may take to stop.
private let secondsToStop: UInt32 = 4

/// Runs work that writes one file. A signal ends the process with 128 and its number, and removes the unfinished file.
func stoppable<Result>(_ body: () throws -> Result) rethrows -> Result {
  let signals = SignalWatch()
  defer { signals.stop() }
  signals.whenStopped { [unowned signals] in
    // The body is still running, so the process ends at once: nothing is flushed and no thread is joined.
    OutputFile.abandonAll { _exit(128 + (signals.received ?? SIGTERM)) }
  }
  return try body()
}
