import LibC
import Support
import Synchronization

/// Asks for a password. A terminal does not show what is typed.
package enum PasswordPrompt {
  private struct State {
    /// The settings of the terminal before it was told to hide what is typed; nil while it shows it.
    var before: termios?
    /// Whether the process received a signal that ends it: nothing is hidden any more.
    var isEnding = false
  }

  private static let state = Mutex(State())

  package static var isPossible: Bool { isatty(STDIN_FILENO) == 1 }

  /// One line of standard input without its end, or nil at the end of the input. On a terminal the login is asked for
  /// its password first, on standard error.
  ///
  /// Waits for the line. A signal that ``SignalWatch`` receives meanwhile makes the terminal show again what is typed.
  package static func line(login: String) -> String? {
    guard isPossible else { return readLine() }
    StandardStreams.writeError("Password for \(login.escapedForTerminal()): ")
    hide()
    defer {
      restoreTerminal()
      StandardStreams.writeError("\n")
    }
    return readLine()
  }

  private static func hide() {
    state.withLock { state in
      var before = termios()
      guard !state.isEnding, tcgetattr(STDIN_FILENO, &before) == 0 else { return }
      var hidden = before
      hidden.c_lflag &= ~tcflag_t(ECHO)
      if tcsetattr(STDIN_FILENO, TCSANOW, &hidden) == 0 { state.before = before }
    }
  }

  /// Makes the terminal show what is typed if a prompt hides it. Any thread may call this.
  ///
  /// - Parameter isEnding: whether the process received a signal, so that a prompt which was about to hide does not.
  static func restoreTerminal(isEnding: Bool = false) {
    state.withLock { state in
      if isEnding { state.isEnding = true }
      guard var before = state.before else { return }
      state.before = nil
      // Setting it from the background would stop the process; the shell has set its own by then. Other terminals than
      // the process's own have no foreground (-1) and can be set.
      let foreground = tcgetpgrp(STDIN_FILENO)
      guard foreground == -1 || foreground == getpgrp() else { return }
      tcsetattr(STDIN_FILENO, TCSANOW, &before)
    }
  }
}
