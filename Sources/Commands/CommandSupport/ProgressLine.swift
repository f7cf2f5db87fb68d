import ArgumentParser
import Foundation
import Support

/// How progress is shown, on standard error.
package enum ProgressStyle: String, ExpressibleByArgument, CaseIterable {
  /// A bar on a terminal, plain lines elsewhere.
  case auto
  /// One line that is drawn again and again.
  case bar
  /// A line every few seconds.
  case plain
  /// A JSON object a line.
  case json
  case none
}

/// Decides when progress is shown, and shows it. Used by one thread at a time.
package struct ProgressLine {
  private let style: ProgressStyle
  private var lastShown: Double
  private var barIsDrawn = false

  package init(style: ProgressStyle) {
    self.style = style == .auto ? (isatty(STDERR_FILENO) == 1 ? .bar : .plain) : style
    // Work that is over in a moment needs no line.
    lastShown = self.style == .plain ? 0 : -.infinity
  }

  /// - Parameters:
  ///   - seconds: Since the work began.
  ///   - fraction: Of the whole; nil when that is not known.
  package mutating func show(
    seconds: Double, fraction: Double?, text: @autoclosure () -> String, json: @autoclosure () -> String
  ) {
    let intervals: [ProgressStyle: Double] = [.bar: 0.1, .plain: 5, .json: 0.5]
    guard let interval = intervals[style],
      seconds - lastShown >= interval || (style == .json && (fraction ?? 0) >= 1)
    else { return }
    lastShown = seconds
    switch style {
    case .bar:
      let width = 24
      let filled = Int(Double(width) * min(max(fraction ?? 0, 0), 1))
      let bar = String(repeating: "#", count: filled) + String(repeating: "-", count: width - filled)
      StandardStreams.writeError("\r\u{1b}[K[\(bar)] \(text().escapedForTerminal())")
      barIsDrawn = true
    case .json: StandardStreams.writeError(json().escapedForTerminal() + "\n")
    default: StandardStreams.writeError(text().escapedForTerminal() + "\n")
    }
  }

  /// Takes the bar away.
  package mutating func finish() {
    if barIsDrawn { StandardStreams.writeError("\r\u{1b}[K") }
    barIsDrawn = false
  }
}
