import ArgumentParser
import Support
import Synchronization

#if canImport(Darwin)
  import Darwin
#elseif canImport(Musl)
  import Musl
#else
  import Glibc
#endif

/// How progress is shown, on standard error.
package enum ProgressStyle: String, ExpressibleByArgument, CaseIterable, Sendable {
  /// A bar on a terminal, nothing elsewhere.
  case auto
  /// One line that is redrawn.
  case bar
  /// A line every few seconds.
  case plain
  /// One JSON object per line.
  case json
  case none

  /// The help of `--progress`, the same in all commands.
  package static let help = "How progress is shown: auto (a bar on a terminal), bar, plain lines, json or none."
}

/// Shows the progress of one operation on standard error. Callers report every step; the printer limits the rate.
package final class ProgressPrinter: Sendable {
  private struct State {
    var lastShown: Double
    var barIsDrawn = false
  }

  /// Never `auto`.
  package let style: ProgressStyle
  private let start = ContinuousClock.now
  private let state: Mutex<State>

  /// - Parameter unseen: what `auto` is where standard error is no terminal.
  package init(style: ProgressStyle, unseen: ProgressStyle = .none) {
    self.style = style == .auto ? (isatty(STDERR_FILENO) == 1 ? .bar : unseen) : style
    // Work of less than one interval prints no plain line.
    state = Mutex(State(lastShown: self.style == .plain ? 0 : -.infinity))
  }

  /// Seconds since the printer was made.
  package var seconds: Double { (ContinuousClock.now - start) / .seconds(1) }

  /// Shows a step if the interval has passed.
  ///
  /// - Parameters:
  ///   - seconds: since the work began; since the printer was made unless given.
  ///   - fraction: of the whole; nil when that is not known.
  ///   - text: for a bar or a plain line.
  ///   - json: one line.
  package func show(
    seconds: Double? = nil, fraction: Double?, text: @autoclosure () -> String, json: @autoclosure () -> String
  ) {
    let seconds = seconds ?? self.seconds
    state.withLock { state in
      guard
        seconds - state.lastShown >= Self.interval(of: style) || (style == .json && (fraction ?? 0) >= 1)
      else { return }
      state.lastShown = seconds
      switch style {
      case .bar:
        let width = 24
        let filled = Int(Double(width) * min(max(fraction ?? 0, 0), 1))
        let bar = String(repeating: "#", count: filled) + String(repeating: "-", count: width - filled)
        Self.draw("[\(bar)] \(text())", &state)
      case .json: StandardStreams.writeError(json().escapedForTerminal() + "\n")
      case .plain: StandardStreams.writeError(text().escapedForTerminal() + "\n")
      case .auto, .none: break
      }
    }
  }

  /// Redraws the bar if the interval has passed, or always. Does nothing in other styles.
  package func showStatus(_ text: @autoclosure () -> String, always: Bool = false) {
    guard style == .bar else { return }
    let seconds = seconds
    state.withLock { state in
      guard always || seconds - state.lastShown >= Self.interval(of: .bar) else { return }
      state.lastShown = seconds
      Self.draw(text(), &state)
    }
  }

  /// Removes the bar from the terminal: at the end, or before a line that stays.
  package func finish() {
    state.withLock { state in
      if state.barIsDrawn { StandardStreams.writeError("\r\u{1b}[K") }
      state.barIsDrawn = false
    }
  }

  private static func draw(_ line: String, _ state: inout State) {
    StandardStreams.writeError("\r\u{1b}[K\(line.escapedForTerminal())")
    state.barIsDrawn = true
  }

  private static func interval(of style: ProgressStyle) -> Double {
    switch style {
    case .bar: 0.1
    case .plain: 5
    case .json: 0.5
    case .auto, .none: .infinity
    }
  }
}
