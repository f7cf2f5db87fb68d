import ArgumentParser
import LibC
import Support
import Synchronization

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

  package init(style: ProgressStyle) {
    self.style = style == .auto ? (isatty(STDERR_FILENO) == 1 ? .bar : .none) : style
    // Work of less than one interval prints no plain line.
    state = Mutex(State(lastShown: self.style == .plain ? 0 : -.infinity))
  }

  /// Seconds since the printer was made.
  package var seconds: Double { (ContinuousClock.now - start) / .seconds(1) }

  /// Shows a step if the interval has passed.
  ///
  /// - Parameters:
  ///   - text: for a bar or a plain line; the step's own unless given.
  ///   - redraws: whether a bar is drawn before its time, because another line has taken its place.
  package func show(
    _ step: @autoclosure () -> WorkProgress, text: ((WorkProgress) -> String)? = nil, redraws: Bool = false
  ) {
    guard style != .none else { return }
    let step = step()
    let seconds = seconds
    state.withLock { state in
      let isDue = seconds - state.lastShown >= Self.interval(of: style)
      guard isDue || (style == .json && (step.fraction ?? 0) >= 1) || (style == .bar && redraws) else { return }
      state.lastShown = seconds
      switch style {
      case .bar:
        let width = 24
        let filled = Int(Double(width) * min(max(step.fraction ?? 0, 0), 1))
        let bar = String(repeating: "#", count: filled) + String(repeating: "-", count: width - filled)
        Self.draw("[\(bar)] \(text?(step) ?? step.text)", &state)
      case .json: StandardStreams.writeError(step.json.text.escapedForTerminal() + "\n")
      case .plain: StandardStreams.writeError((text?(step) ?? step.text).escapedForTerminal(isMessage: true) + "\n")
      case .auto, .none: break
      }
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
    StandardStreams.writeError("\r\u{1b}[K\(line.escapedForTerminal(isMessage: true))")
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
