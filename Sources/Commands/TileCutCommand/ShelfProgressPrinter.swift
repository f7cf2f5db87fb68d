import CommandSupport
import Foundation
import Synchronization
import TileCut

/// Shows a build's progress on standard error: a line for each region that is done, and on a terminal one that tells which are under way.
final class ShelfProgressPrinter: Sendable {
  private struct State {
    /// Regions under way, in the order in which they were begun, with the part that is done.
    var running: [(id: String, part: Double)] = []
    var total = 0
    var done = 0
    var barIsDrawn = false
    var lastShown = ContinuousClock.now
  }

  private let style: ProgressStyle
  private let state = Mutex(State())

  init(style: ProgressStyle) {
    let isTerminal = isatty(STDERR_FILENO) == 1
    self.style = style == .auto ? (isTerminal ? .bar : .plain) : style
  }

  func show(_ progress: ShelfProgress) {
    state.withLock { state in
      switch progress {
      case .started(let id):
        state.running.append((id, 0))
      case .cutting(let id, let cut):
        if let index = state.running.firstIndex(where: { $0.id == id }), cut.tilesTotal > 0 {
          state.running[index].part = Double(cut.tilesDone) / Double(cut.tilesTotal)
        }
        guard style == .bar, ContinuousClock.now - state.lastShown > .milliseconds(100) else { return }
        draw(&state)
      case .finished(let region, let done, let total):
        state.running.removeAll { $0.id == region.id }
        (state.done, state.total) = (done, total)
        erase(&state)
        switch style {
        case .bar, .plain:
          for warning in region.warnings { printError("tilecut: warning: \(warning)") }
          printError("[\(done)/\(total)] \(Self.text(region))")
          if style == .bar { draw(&state) }
        case .json: printError(Self.json(region, done: done, total: total))
        case .auto, .none:
          // What went wrong is no progress.
          if region.error != nil { printError("tilecut: \(Self.text(region))") }
        }
      }
    }
  }

  /// Takes the line of what is under way off the terminal.
  func finish() { state.withLock { erase(&$0) } }

  private func draw(_ state: inout State) {
    guard !state.running.isEmpty else { return }
    let regions = state.running.map { "\($0.id) \(Int($0.part * 100))%" }.joined(separator: ", ")
    let line = state.total > 0 ? "\(state.done) of \(state.total) done; \(regions)" : regions
    StandardStreams.writeError("\r\u{1b}[K\(line.prefix(100))")
    state.barIsDrawn = true
    state.lastShown = .now
  }

  private func erase(_ state: inout State) {
    if state.barIsDrawn { StandardStreams.writeError("\r\u{1b}[K") }
    state.barIsDrawn = false
  }

  private static func text(_ region: RegionReport) -> String {
    if let error = region.error { return "\(region.id): failed: \(error)" }
    var facts = ["\(region.id) \(region.edition): \(region.outcome.rawValue)", counted(region.tileCount, "tile")]
    facts.append(formatted(bytes: region.bytes))
    if region.parcelCount > 0 { facts.append(counted(region.parcelCount, "parcel")) }
    if region.patchCount > 0 { facts.append(region.patchCount == 1 ? "1 patch" : "\(region.patchCount) patches") }
    if region.outcome != .unchanged { facts.append(formatted(seconds: region.seconds)) }
    return facts.joined(separator: ", ")
  }

  private static func json(_ region: RegionReport, done: Int, total: Int) -> String {
    struct Line: Encodable {
      let done: Int
      let total: Int
      let region: RegionReport
    }
    let encoder = JSONEncoder()
    encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
    let bytes = (try? encoder.encode(Line(done: done, total: total, region: region))) ?? Data()
    return String(decoding: bytes, as: UTF8.self)
  }
}
