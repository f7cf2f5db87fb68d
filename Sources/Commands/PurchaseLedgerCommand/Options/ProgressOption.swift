import ArgumentParser
import CommandSupport
import Foundation
import PurchaseLedger
import Synchronization

/// How progress is shown, on standard error.
enum ProgressStyle: String, ExpressibleByArgument, CaseIterable {
  /// A bar on a terminal, plain lines elsewhere.
  case auto
  case bar
  /// A line every few seconds.
  case plain
  /// A JSON object a line.
  case json
  case none
}

struct ProgressOption: ParsableArguments {
  @Option(help: "auto, bar, plain, json or none.")
  var progress: ProgressStyle = .auto

  func printer(_ noun: String) -> ProgressPrinter { ProgressPrinter(style: progress, noun: noun) }
}

/// Shows how far work has come.
final class ProgressPrinter: Sendable {
  private struct State {
    var lastShown: Double
    var barIsDrawn = false
  }

  private let style: ProgressStyle
  private let noun: String
  private let start = ContinuousClock.now
  private let state: Mutex<State>

  init(style: ProgressStyle, noun: String) {
    let style = style == .auto ? (isatty(STDERR_FILENO) == 1 ? .bar : .plain) : style
    self.style = style
    self.noun = noun
    // Work that is over in a moment needs no line.
    state = Mutex(State(lastShown: style == .plain ? 0 : -.infinity))
  }

  /// - Parameters:
  ///   - done: How many `noun` are done.
  ///   - fraction: Of the whole; nil when that is not known.
  func show(_ done: Int, fraction: Double?) {
    let seconds = (ContinuousClock.now - start) / .seconds(1)
    let intervals: [ProgressStyle: Double] = [.bar: 0.1, .plain: 5, .json: 0.5]
    guard let interval = intervals[style] else { return }
    state.withLock { state in
      guard seconds - state.lastShown >= interval || (style == .json && fraction == 1) else { return }
      state.lastShown = seconds
      let text = text(done, fraction, seconds)
      switch style {
      case .bar:
        let width = 24
        let filled = Int(Double(width) * min(max(fraction ?? 0, 0), 1))
        let bar = String(repeating: "#", count: filled) + String(repeating: "-", count: width - filled)
        StandardStreams.writeError("\r\u{1b}[K[\(bar)] \(text)")
        state.barIsDrawn = true
      case .json:
        let value = JSONValue.fields([
          ("done", .init(done)), ("of", .string(noun)),
          ("fraction", fraction.map { .number(String(format: "%.4f", $0)) } ?? .null),
          ("seconds", .number(String(format: "%.3f", seconds))),
        ])
        StandardStreams.writeError(value.text + "\n")
      default: StandardStreams.writeError(text + "\n")
      }
    }
  }

  func show(_ done: Int, of total: Int) { show(done, fraction: total > 0 ? Double(done) / Double(total) : nil) }

  /// Takes the bar away.
  func finish() {
    state.withLock { state in
      if state.barIsDrawn { StandardStreams.writeError("\r\u{1b}[K") }
      state.barIsDrawn = false
    }
  }

  private func text(_ done: Int, _ fraction: Double?, _ seconds: Double) -> String {
    let share = fraction.map { " (\(Int(min($0, 1) * 100)) %)" } ?? ""
    return "\(done) \(noun)\(share), \(Int(Double(done) / max(seconds, 0.001)))/s"
  }
}
