import LibC
import Support
import Synchronization

/// Lets a command handle SIGINT (Ctrl-C), SIGTERM and SIGHUP.
///
/// Until ``whenStopped(_:)`` a signal ends the process as usual; afterwards the first one calls back and a later one
/// ends the process. What comes within ``repeatTime`` of the first belongs to it: `timeout` of coreutils signals the
/// process and then its group. SIGHUP stays ignored if it was ignored when the process started (`nohup`).
/// SIGPIPE is ignored while the watch exists, so that the work continues when the reader of its progress exits.
package final class SignalWatch: Sendable {
  /// The watch that all commands of a process share. Must be created first, see ``init()``.
  package static let process = SignalWatch()

  private struct State {
    var action: (@Sendable () -> Void)?
    var hangupAction: (@Sendable () -> Void)?
    var received: Int32?
    /// When the action for the first signal had returned.
    var handled: ContinuousClock.Instant?
  }

  /// Signals that come sooner after the first one belong to it.
  private static let repeatTime = Duration.milliseconds(200)

  private let state = Mutex(State())
  private let ignoresPipes = SignalWatch.isIgnored(SIGPIPE)

  /// The first signal that came after ``whenStopped(_:)``.
  package var received: Int32? { state.withLock { $0.received } }

  /// Must be called before other threads start: they inherit that the signals are blocked, and only the thread created
  /// here receives them. With Dispatch a signal could be lost between ignoring it and listening for it.
  package init() {
    signal(SIGPIPE, SIG_IGN)
    var signals = sigset_t()
    sigemptyset(&signals)
    for number in [SIGINT, SIGTERM] {
      // A shell starts background jobs with SIGINT ignored. A SIGINT sent to such a job is handled all the same.
      signal(number, SIG_DFL)
      sigaddset(&signals, number)
    }
    if !Self.isIgnored(SIGHUP) { sigaddset(&signals, SIGHUP) }
    pthread_sigmask(SIG_BLOCK, &signals, nil)
    let thread = WorkerThread.start { [signals, weak self] in
      var signals = signals
      var number: Int32 = 0
      while sigwait(&signals, &number) == 0 {
        PasswordPrompt.restoreTerminal(isEnding: true)
        if let self, self.take(number) { continue }
        signal(number, SIG_DFL)
        pthread_sigmask(SIG_UNBLOCK, &signals, nil)
        raise(number)
      }
    }
    thread?.detach()
  }

  /// Sets what the first signal does.
  package func whenStopped(_ action: @escaping @Sendable () -> Void) {
    state.withLock { $0.action = action }
  }

  /// Sets what each SIGHUP does, instead of what other signals do.
  package func whenHungUp(_ action: @escaping @Sendable () -> Void) {
    state.withLock { $0.hangupAction = action }
  }

  /// Restores the default: signals end the process.
  package func stop() {
    state.withLock { ($0.action, $0.hangupAction) = (nil, nil) }
    if !ignoresPipes { signal(SIGPIPE, SIG_DFL) }
  }

  /// False when the signal must end the process.
  private func take(_ number: Int32) -> Bool {
    if number == SIGHUP, let action = state.withLock({ $0.hangupAction }) {
      action()
      return true
    }
    let action = state.withLock { state in
      defer { state.action = nil }
      if state.action != nil { state.received = number }
      return state.action
    }
    if let action {
      action()
      // A repetition waits while the action runs.
      state.withLock { $0.handled = .now }
      return true
    }
    return state.withLock { state in state.handled.map { ContinuousClock.now - $0 < Self.repeatTime } ?? false }
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
