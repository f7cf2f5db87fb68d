package import ArgumentParser
package import Support

/// The options of subcommands that run long.
package struct ProgressOption: ParsableArguments, Sendable {
  @Option(help: "\(ProgressStyle.help)")
  package var progress: ProgressStyle = .auto
  @Flag(name: [.short, .long], help: "Show no progress: the same as --progress none.")
  package var quiet = false

  package var style: ProgressStyle { quiet ? .none : progress }

  package init() {}

  /// Shows the count that `body` reports while it runs.
  ///
  /// - Parameter total: counted only if it is shown; nil when it is not known: then no time is left.
  package func showing<Result>(
    _ unit: String = "tiles", of total: @autoclosure () -> Int?,
    _ body: (@escaping @Sendable (Int) -> Void) throws -> Result
  ) rethrows -> Result {
    let printer = CountPrinter(style: style, unit: unit)
    defer { printer.finish() }
    let total = printer.isShown ? total() : nil
    return try body { printer.show($0, of: total) }
  }

  /// Gives `body` the printer of its count. The bar is gone when it returns or throws.
  package func showing<Result>(
    _ unit: String, _ body: (CountPrinter) async throws -> Result
  ) async rethrows -> Result {
    let printer = CountPrinter(style: style, unit: unit)
    defer { printer.finish() }
    return try await body(printer)
  }
}

/// Shows the progress of a count, with its rate and the time that is left.
package final class CountPrinter: Sendable {
  private let unit: String
  private let printer: ProgressPrinter

  init(style: ProgressStyle, unit: String) {
    self.unit = unit
    printer = ProgressPrinter(style: style)
  }

  /// False where nobody sees it.
  package var isShown: Bool { printer.style != .none }

  /// - Parameter total: nil when it is not known.
  package func show(_ done: Int, of total: Int?) {
    printer.show(WorkProgress(done: done, of: total, unit: unit, seconds: printer.seconds))
  }

  /// A count whose whole is not known, of a file whose bytes are; nil for a stream.
  package func show(_ done: Int, bytes: Int, of bytesTotal: Int?) {
    printer.show(
      WorkProgress(
        done: done, of: nil, unit: unit, seconds: printer.seconds,
        fraction: bytesTotal.map { $0 > 0 ? Double(bytes) / Double($0) : 1 },
        more: [.init("bytes", .number(bytes))] + (bytesTotal.map { [.init("bytesTotal", .number($0))] } ?? [])))
  }

  /// Removes the bar from the terminal: at the end, or before a line that stays.
  package func finish() { printer.finish() }
}

/// How far work is. Every command prints it with these members (docs/reference/output.md).
package struct WorkProgress: Sendable {
  package let done: Int
  /// Nil when it is not known.
  package let total: Int?
  /// What is counted, in the plural.
  package let unit: String
  /// Since the work began.
  package let seconds: Double
  /// Of the whole; nil when that is not known.
  package let fraction: Double?
  package let pace: WorkPace
  /// What a command has beside the members of all.
  private let more: [JSONValue.Member]

  /// - Parameters:
  ///   - fraction: `done` of `total` unless given.
  ///   - pace: that of all that is done unless given.
  package init(
    done: Int, of total: Int?, unit: String, seconds: Double, fraction: Double? = nil, pace: WorkPace? = nil,
    more: [JSONValue.Member] = []
  ) {
    let fraction = fraction ?? total.flatMap { $0 > 0 ? Double(done) / Double($0) : nil }
    (self.done, self.total, self.unit, self.seconds, self.fraction) = (done, total, unit, seconds, fraction)
    self.pace = pace ?? WorkPace(done: done, fraction: fraction, seconds: seconds)
    self.more = more
  }

  package var json: JSONValue {
    func number(_ value: Double) -> JSONValue { .number(DecimalText.fixed(value, 3)) }
    var members: [JSONValue.Member] = [.init("done", .number(done))]
    if let total { members.append(.init("total", .number(total))) }
    members += [
      .init("unit", .string(unit)), .init("perSecond", number(pace.perSecond)), .init("seconds", number(seconds)),
    ]
    if let left = pace.secondsLeft { members.append(.init("secondsLeft", number(left))) }
    return .object(members + more)
  }

  /// `120 tiles (12 %), 40/s, 22 s left`
  package var text: String {
    let share = fraction.map { " (\(Int(min(max($0, 0), 1) * 100)) %)" } ?? ""
    guard unit == Self.bytes else { return "\(done) \(unit)\(share), \(Int(pace.perSecond))/s\(pace.leftText)" }
    return "\(formatted(bytes: done))\(share), \(formatted(bytes: Int(pace.perSecond)))/s\(pace.leftText)"
  }

  /// The unit of what is read, compared or downloaded.
  package static let bytes = "bytes"
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
