import ArgumentParser
import CommandSupport
import TileCut
import TileIndex

#if canImport(Darwin)
  import Darwin
#elseif canImport(Musl)
  import Musl
#else
  import Glibc
#endif

/// Runs work that can be cancelled. A signal cancels it, and the process ends with 128 and its number.
///
/// - Parameter body: calls `begin` before it writes anything; until then a signal ends the process at once.
func cancellable<Result>(_ body: (_ begin: () -> CutCancellation) throws -> Result) throws -> Result {
  let signals = SignalWatch()
  defer { signals.stop() }
  do {
    return try body {
      let cancellation = CutCancellation()
      signals.whenStopped { cancellation.cancel() }
      return cancellation
    }
  } catch {
    if let signal = signals.received { throw ExitCode(.signal(signal)) }
    throw error
  }
}

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
