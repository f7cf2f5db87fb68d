import Support
import Synchronization

#if canImport(Darwin)
  import Darwin
#elseif canImport(Musl)
  import Musl
#else
  import Glibc
#endif

/// Asks for a password. A terminal does not show what is typed.
package enum PasswordPrompt {
  /// The settings of the terminal before it was told to hide what is typed; nil while it shows it.
  private static let settings = Mutex<termios?>(nil)

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
    settings.withLock { settings in
      var before = termios()
      guard tcgetattr(STDIN_FILENO, &before) == 0 else { return }
      var hidden = before
      hidden.c_lflag &= ~tcflag_t(ECHO)
      if tcsetattr(STDIN_FILENO, TCSANOW, &hidden) == 0 { settings = before }
    }
  }

  /// Makes the terminal show what is typed if a prompt hides it. Any thread may call this.
  static func restoreTerminal() {
    settings.withLock { settings in
      guard var before = settings else { return }
      tcsetattr(STDIN_FILENO, TCSANOW, &before)
      settings = nil
    }
  }
}
