import ArgumentParser
import CommandSupport
import Foundation
import PurchaseLedger
import Support
import Synchronization

struct ProgressOption: ParsableArguments {
  @Option(help: "auto, bar, plain, json or none.")
  var progress: ProgressStyle = .auto

  func printer(_ noun: String) -> ProgressPrinter { ProgressPrinter(style: progress, noun: noun) }
}

/// Shows how far work has come.
final class ProgressPrinter: Sendable {
  private let noun: String
  private let start = ContinuousClock.now
  private let line: Mutex<ProgressLine>

  init(style: ProgressStyle, noun: String) {
    self.noun = noun
    line = Mutex(ProgressLine(style: style))
  }

  /// - Parameters:
  ///   - done: How many `noun` are done.
  ///   - fraction: Of the whole; nil when that is not known.
  func show(_ done: Int, fraction: Double?) {
    let seconds = (ContinuousClock.now - start) / .seconds(1)
    line.withLock { line in
      line.show(
        seconds: seconds, fraction: fraction, text: text(done, fraction, seconds), json: json(done, fraction, seconds))
    }
  }

  func show(_ done: Int, of total: Int) { show(done, fraction: total > 0 ? Double(done) / Double(total) : nil) }

  /// Takes the bar away.
  func finish() { line.withLock { $0.finish() } }

  private func json(_ done: Int, _ fraction: Double?, _ seconds: Double) -> String {
    JSONValue.fields([
      ("done", .init(done)), ("of", .string(noun)),
      ("fraction", fraction.map { .number(String(format: "%.4f", $0)) } ?? .null),
      ("seconds", .number(String(format: "%.3f", seconds))),
    ]).text
  }

  private func text(_ done: Int, _ fraction: Double?, _ seconds: Double) -> String {
    let share = fraction.map { " (\(Int(min($0, 1) * 100)) %)" } ?? ""
    return "\(done) \(noun)\(share), \(Int(Double(done) / max(seconds, 0.001)))/s"
  }
}
