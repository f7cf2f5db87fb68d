import ArgumentParser
import CommandSupport
import Foundation
import TileCut

/// How progress is shown, on standard error.
enum ProgressStyle: String, ExpressibleByArgument, CaseIterable {
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

/// Shows a cut's progress. Called by one thread at a time.
final class ProgressPrinter {
  private let style: ProgressStyle
  private var lastShown = -Double.infinity
  private var barIsDrawn = false

  init(style: ProgressStyle) {
    let isTerminal = isatty(STDERR_FILENO) == 1
    self.style = style == .auto ? (isTerminal ? .bar : .plain) : style
  }

  func show(_ progress: CutProgress) {
    let interval: Double
    switch style {
    case .bar: interval = 0.1
    case .json: interval = 0.5
    // A cut that is over in a moment needs no line.
    case .plain: interval = 5
    case .auto, .none: return
    }
    if style == .plain, lastShown < 0 { lastShown = 0 }
    guard progress.seconds - lastShown >= interval || (style == .json && progress.tilesDone == progress.tilesTotal)
    else { return }
    lastShown = progress.seconds
    switch style {
    case .bar:
      let width = 24
      let filled = progress.tilesTotal > 0 ? width * progress.tilesDone / progress.tilesTotal : width
      let bar = String(repeating: "#", count: filled) + String(repeating: "-", count: width - filled)
      write("\r\u{1b}[K[\(bar)] \(text(progress))")
      barIsDrawn = true
    case .plain: write("\(text(progress))\n")
    case .json: write(json(progress) + "\n")
    case .auto, .none: break
    }
  }

  /// Takes the bar away.
  func finish() {
    if barIsDrawn { write("\r\u{1b}[K") }
    barIsDrawn = false
  }

  private func text(_ progress: CutProgress) -> String {
    let left = progress.secondsLeft.map { ", \(formatted(seconds: $0)) left" } ?? ""
    return "\(progress.tilesDone) of \(progress.tilesTotal) tiles, \(Int(progress.tilesPerSecond)) tiles/s, "
      + "\(formatted(bytes: progress.bytesStored))\(left)"
  }

  private func json(_ progress: CutProgress) -> String {
    func rounded(_ value: Double) -> String { String(format: "%.3f", value) }
    let left = progress.secondsLeft.map(rounded) ?? "null"
    return "{\"tilesDone\":\(progress.tilesDone),\"tilesTotal\":\(progress.tilesTotal),"
      + "\"tilesStored\":\(progress.tilesStored),\"bytesStored\":\(progress.bytesStored),"
      + "\"seconds\":\(rounded(progress.seconds)),\"tilesPerSecond\":\(rounded(progress.tilesPerSecond)),"
      + "\"secondsLeft\":\(left)}"
  }

  private func write(_ text: String) { StandardStreams.writeError(text) }
}

/// `1 tile`, `2 tiles`.
func counted(_ number: Int, _ noun: String) -> String { "\(number) \(noun)\(number == 1 ? "" : "s")" }

/// `12.3 MB`; powers of ten.
func formatted(bytes: Int) -> String {
  let value = Double(bytes)
  switch value {
  case ..<1e3: return "\(bytes) B"
  case ..<1e6: return String(format: "%.1f kB", value / 1e3)
  case ..<1e9: return String(format: "%.1f MB", value / 1e6)
  default: return String(format: "%.2f GB", value / 1e9)
  }
}

/// `0.4 s`, `12 s`, `3 min 05 s`, `2 h 10 min`.
func formatted(seconds: Double) -> String {
  switch seconds {
  case ..<10: return String(format: "%.1f s", seconds)
  case ..<60: return String(format: "%.0f s", seconds)
  case ..<3600: return String(format: "%d min %02d s", Int(seconds) / 60, Int(seconds) % 60)
  default: return String(format: "%d h %02d min", Int(seconds) / 3600, Int(seconds) / 60 % 60)
  }
}
