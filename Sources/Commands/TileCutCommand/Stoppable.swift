import CommandSupport
import Foundation
import TileIndex

/// Runs what writes one file in one go. A signal ends the process with 128 and its number, and takes the unfinished file along.
func stoppable<Result>(_ body: () throws -> Result) rethrows -> Result {
  let signals = SignalWatch()
  defer { signals.stop() }
  signals.whenStopped { [unowned signals] in
    // The work goes on beside this thread until the very end, so nothing is flushed and nobody waited for.
    OutputFile.abandonAll { _exit(128 + (signals.received ?? SIGTERM)) }
  }
  return try body()
}
