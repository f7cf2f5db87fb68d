import CommandSupport
import MapStoreClient
import Synchronization

/// Shows downloads on standard error: one line for all that are under way.
final class DownloadPrinter: Sendable {
  private struct State {
    var line: ProgressLine
    var parts: [ShelfPart: InstallProgress] = [:]
  }

  private let state: Mutex<State>
  private let start = ContinuousClock.now

  init(style: ProgressStyle) { state = Mutex(State(line: ProgressLine(style: style))) }

  func show(_ progress: InstallProgress) {
    let seconds = (ContinuousClock.now - start) / .seconds(1)
    state.withLock { state in
      state.parts[progress.part] = progress
      let done = state.parts.values.reduce(0) { $0 + $1.bytesDone }
      let total = state.parts.values.reduce(0) { $0 + $1.bytesTotal }
      let going = state.parts.values.filter { $0.phase != .installed }.sorted { $0.part.region < $1.part.region }
      state.line.show(
        seconds: seconds, fraction: total > 0 ? Double(done) / Double(total) : nil,
        text:
          "\(RegionTable.size(done)) of \(RegionTable.size(total))  \(going.map(Self.text).joined(separator: ", "))",
        json: Self.json(progress))
    }
  }

  /// Takes the line off the terminal.
  func finish() { state.withLock { $0.line.finish() } }

  private static func text(_ progress: InstallProgress) -> String {
    let what = progress.phase == .downloading ? "\(Int(progress.fraction * 100))%" : progress.phase.rawValue
    return "\(progress.part.region) \(what)\(progress.complaint.map { " (\($0))" } ?? "")"
  }

  private struct Line: Encodable {
    let region: String
    let parcel: String?
    let edition: String
    let phase: InstallProgress.Phase
    let bytesDone, bytesTotal: Int
    let complaint: String?
  }

  private static func json(_ progress: InstallProgress) -> String {
    let line = Line(
      region: progress.part.region, parcel: progress.part.parcel, edition: progress.edition, phase: progress.phase,
      bytesDone: progress.bytesDone, bytesTotal: progress.bytesTotal, complaint: progress.complaint)
    return JSONLine.text(line)
  }
}
