import Foundation
import Synchronization

/// Lets a command handle SIGINT (Ctrl-C), SIGTERM and SIGHUP.
///
/// Until ``whenStopped(_:)`` a signal kills as usual; afterwards the first one calls back and the second one kills.
/// SIGHUP stays ignored if it was ignored when the process began (`nohup`). SIGPIPE is ignored as long as the watch
/// lasts: the work goes on when the reader of its progress ends.
package final class SignalWatch: Sendable {
  /// The watch of a process whose commands share one. To be made first, as ``init()`` says.
  package static let process = SignalWatch()

  private struct State {
    var action: (@Sendable () -> Void)?
    var received: Int32?
  }

  private let state = Mutex(State())
  private let ignoresPipes = SignalWatch.isIgnored(SIGPIPE)

  /// The first signal that came after ``whenStopped(_:)``.
  package var received: Int32? { state.withLock { $0.received } }

  /// To be made before there are other threads: they inherit that the signals are blocked, and only the thread made
  /// here takes them. So no signal is lost, as it could be between ignoring it and listening for it with Dispatch.
  package init() {
    signal(SIGPIPE, SIG_IGN)
    var signals = sigset_t()
    sigemptyset(&signals)
    for number in [SIGINT, SIGTERM] {
      // A shell starts background jobs with SIGINT ignored. One that is sent to such a job is meant for it.
      signal(number, SIG_DFL)
      sigaddset(&signals, number)
    }
    if !Self.isIgnored(SIGHUP) { sigaddset(&signals, SIGHUP) }
    pthread_sigmask(SIG_BLOCK, &signals, nil)
    Thread.detachNewThread { [signals, weak self] in
      var signals = signals
      var number: Int32 = 0
      while sigwait(&signals, &number) == 0 {
        if let self, self.take(number) { continue }
        signal(number, SIG_DFL)
        pthread_sigmask(SIG_UNBLOCK, &signals, nil)
        raise(number)
      }
    }
  }

  /// Sets what the first signal does.
  package func whenStopped(_ action: @escaping @Sendable () -> Void) {
    state.withLock { $0.action = action }
  }

  /// Signals kill again.
  package func stop() {
    state.withLock { $0.action = nil }
    if !ignoresPipes { signal(SIGPIPE, SIG_DFL) }
  }

  /// False when the signal must kill.
  private func take(_ number: Int32) -> Bool {
    let action = state.withLock { state in
      defer { state.action = nil }
      if state.action != nil { state.received = number }
      return state.action
    }
    action?()
    return action != nil
  }

  private static func isIgnored(_ number: Int32) -> Bool {
    var action = sigaction()
    guard sigaction(number, nil, &action) == 0 else { return false }
    #if canImport(Darwin)
      let handler = action.__sigaction_u.__sa_handler
    #else
      let handler = action.__sigaction_handler.sa_handler
    #endif
    return unsafeBitCast(handler, to: Int.self) == unsafeBitCast(SIG_IGN, to: Int.self)
  }
}
