import CommandSupport
import Foundation
import TileCut

/// Shows a cut's progress. Called by one thread at a time.
final class ProgressPrinter {
  private var line: ProgressLine

  init(style: ProgressStyle) { line = ProgressLine(style: style) }

  func show(_ progress: CutProgress) {
    let fraction = progress.tilesTotal > 0 ? Double(progress.tilesDone) / Double(progress.tilesTotal) : 1
    line.show(seconds: progress.seconds, fraction: fraction, text: text(progress), json: json(progress))
  }

  /// Takes the bar away.
  func finish() { line.finish() }

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
