package import ArgumentParser
import Support

/// The progress option of long-running subcommands that count what they do.
package struct ProgressOption: ParsableArguments {
  @Option(help: "\(ProgressStyle.help)")
  package var progress: ProgressStyle = .auto

  package init() {}

  /// - Parameter noun: what is counted, in the plural.
  package func printer(_ noun: String) -> CountPrinter { CountPrinter(style: progress, noun: noun) }

  /// Shows the count that `body` reports while it runs.
  ///
  /// - Parameter total: counted only if it is shown; nil when it is not known: then no time is left.
  package func showing<Result>(
    _ noun: String = "tiles", of total: @autoclosure () -> Int?,
    _ body: (@escaping @Sendable (Int) -> Void) throws -> Result
  ) rethrows -> Result {
    let printer = printer(noun)
    defer { printer.finish() }
    let total = printer.isShown ? total() : nil
    return try body { printer.show($0, of: total) }
  }
}

/// Shows the progress of a count, with its rate and the time that is left.
package final class CountPrinter: Sendable {
  private let noun: String
  private let printer: ProgressPrinter

  init(style: ProgressStyle, noun: String) {
    self.noun = noun
    printer = ProgressPrinter(style: style)
  }

  /// False where nobody sees it.
  package var isShown: Bool { printer.style != .none }

  /// - Parameters:
  ///   - done: how many `noun` are done.
  ///   - fraction: of the whole; nil when that is not known.
  package func show(_ done: Int, fraction: Double?) {
    let seconds = printer.seconds
    let pace = WorkPace(done: done, fraction: fraction, seconds: seconds)
    printer.show(
      seconds: seconds, fraction: fraction, text: text(done, fraction, pace), json: json(done, fraction, seconds, pace))
  }

  package func show(_ done: Int, of total: Int?) {
    show(done, fraction: total.flatMap { $0 > 0 ? Double(done) / Double($0) : nil })
  }

  /// Removes the bar from the terminal.
  package func finish() { printer.finish() }

  private func json(_ done: Int, _ fraction: Double?, _ seconds: Double, _ pace: WorkPace) -> String {
    func number(_ value: Double?, _ digits: Int) -> JSONValue {
      value.map { .number(DecimalText.fixed($0, digits)) } ?? .null
    }
    let members: [JSONValue.Member] = [
      .init("done", .number(done)), .init("of", .string(noun)), .init("fraction", number(fraction, 4)),
      .init("seconds", number(seconds, 3)), .init("perSecond", number(pace.perSecond, 3)),
      .init("secondsLeft", number(pace.secondsLeft, 3)),
    ]
    return JSONValue.object(members).text
  }

  private func text(_ done: Int, _ fraction: Double?, _ pace: WorkPace) -> String {
    let share = fraction.map { " (\(Int(min($0, 1) * 100)) %)" } ?? ""
    return "\(done) \(noun)\(share), \(Int(pace.perSecond))/s\(pace.leftText)"
  }
}

/// The rate of work, and the time that is left of it.
package struct WorkPace: Sendable {
  package let perSecond: Double
  /// Nil when the whole is not known, or nothing is done yet.
  package let secondsLeft: Double?

  /// - Parameters:
  ///   - done: since the work began, `seconds` ago.
  ///   - fraction: of what was to do then; nil when that is not known.
  package init(done: Int, fraction: Double?, seconds: Double) {
    perSecond = Double(done) / max(seconds, 0.001)
    secondsLeft = fraction.flatMap { $0 > 0 ? seconds * (1 - min($0, 1)) / $0 : nil }
  }

  /// `, 12 s left`, or nothing.
  package var leftText: String { secondsLeft.map { ", \(formatted(seconds: $0)) left" } ?? "" }
}
