import CommandSupport
import MapStoreClient
import MapStoreWire
import PurchaseLedger
import RegionCatalog
import StoreSimulators
import Support
import Synchronization
import TileIndex

/// Regions as a table: id, status, edition, size, remarks.
enum RegionTable {
  static func lines(_ regions: [OfflineRegion]) -> [String] {
    let rows = regions.map { [$0.id, status($0), $0.edition ?? "-", $0.bytes.map(size) ?? "-", remarks($0)] }
    let widths = (0..<4).map { column in rows.map { $0[column].count }.max() ?? 0 }
    return rows.map { row in
      let cells = zip(row.prefix(4), widths).map { $0 + String(repeating: " ", count: $1 - $0.count) } + [row[4]]
      return String(cells.joined(separator: "  ").reversed().drop { $0 == " " }.reversed())
    }
  }

  static func status(_ region: OfflineRegion) -> String {
    switch region.status {
    case .forSale: "for sale"
    case .pendingApproval: "pending approval"
    case .ownedNotInstalled: "owned, not installed"
    case .ownedInstalled: "installed"
    case .updateAvailable: "update available"
    case .revoked: "revoked"
    case nil: region.installed == nil ? "not asked yet" : "installed"
    }
  }

  private static func remarks(_ region: OfflineRegion) -> String {
    var remarks: [String] = []
    if let installed = region.installed, installed.edition != region.edition {
      remarks.append("has \(installed.edition)")
    }
    if let patch = region.patchBytes, region.status == .updateAvailable { remarks.append("patch of \(size(patch))") }
    if !region.packs.isEmpty { remarks.append("\(region.packs.count) packs") }
    for way in region.downloads {
      let part = way.bytesTotal > 0 ? way.bytesDone * 100 / way.bytesTotal : 100
      remarks.append("\(way.isPaused ? "paused" : "interrupted") at \(part)% of \(way.edition)")
    }
    return remarks.joined(separator: ", ")
  }

  static func size(_ bytes: Int) -> String {
    bytes < 1_000_000 ? "\((bytes + 999) / 1000) kB" : DecimalText.fixed(Double(bytes) / 1e6, 1) + " MB"
  }
}

/// Shows downloads on standard error: one line for all of them.
final class DownloadPrinter: Sendable {
  private struct State {
    var parts: [RegionPart: InstallProgress] = [:]
    /// What was on the disk when the work began, and seconds until then.
    var start: (bytes: Int, seconds: Double)?
  }

  private let printer: ProgressPrinter
  private let state = Mutex(State())

  init(style: ProgressStyle) { printer = ProgressPrinter(style: style) }

  func show(_ progress: InstallProgress) {
    state.withLock { state in
      state.parts[progress.part] = progress
      let parts = state.parts.values
      let done = parts.reduce(0) { $0 + $1.bytesDone }
      let total = parts.reduce(0) { $0 + $1.bytesTotal }
      let going = parts.filter { $0.phase != .installed }.sorted { $0.part.region < $1.part.region }
      let start = state.start ?? (done, printer.seconds)
      state.start = start
      let rest = total - start.bytes
      let pace = WorkPace(
        done: done - start.bytes, fraction: rest > 0 ? Double(done - start.bytes) / Double(rest) : nil,
        seconds: printer.seconds - start.seconds)
      let step = WorkProgress(
        done: done, of: total, unit: WorkProgress.bytes, seconds: printer.seconds, pace: pace,
        more: [.init("regions", .array((going.isEmpty ? [progress] : going).map(Self.json)))])
      printer.show(step) {
        """
        \(RegionTable.size($0.done)) of \(RegionTable.size(total)), \(RegionTable.size(Int($0.pace.perSecond)))/s\
        \($0.pace.leftText)  \(going.map(Self.text).joined(separator: ", "))
        """
      }
    }
  }

  /// Removes the line from the terminal.
  func finish() { printer.finish() }

  private static func text(_ progress: InstallProgress) -> String {
    let what = progress.phase == .downloading ? "\(Int(progress.fraction * 100))%" : progress.phase.rawValue
    return "\(progress.part.region) \(what)\(progress.complaint.map { " (\($0))" } ?? "")"
  }

  private static func json(_ progress: InstallProgress) -> JSONValue {
    let members: [(String, JSONValue?)] = [
      ("region", .string(progress.part.region)), ("pack", progress.part.pack.map { .string($0) }),
      ("edition", .string(progress.edition)), ("phase", .string(progress.phase.rawValue)),
      ("done", .number(progress.bytesDone)), ("total", .number(progress.bytesTotal)),
      ("complaint", progress.complaint.map { .string($0) }),
    ]
    return .object(members.compactMap { name, value in value.map { .init(name, $0) } })
  }
}

/// Prints a value as one line of JSON.
func printJSON(_ value: some Encodable) { printLine(jsonLine(value)) }

private func jsonLine(_ value: some Encodable) -> String {
  guard let bytes = try? WireJSON.encode(value) else { return "{}" }
  return String(decoding: bytes, as: UTF8.self)
}

extension ExitStatus {
  /// The exit code for an error of the client's; nil for others. `mapstore client --help` has the table.
  init?(ofClient error: any Error) {
    switch error {
    case let error as MapStoreError:
      switch error.code {
      case .damaged, .grant: self = .badInput
      case .unknown: self = .unreadableInput
      case .unreachable: self = .unavailable
      case .invalidAddress: self = .unusableOption
      case .noSpace, .overQuota, .overBudget: self = .cannotCreate
      case .storage: self = .outputFailed
      case .busy: self = .busy
      case .refused, .editionGone: self = .refused
      case .signedOut, .notOwned: self = .notPermitted
      case .paused: self = .leftUndone
      default: self = .internalError
      }
    case let error as BundleError:
      self = [.notFound, .readFailed].contains(error.code) ? .unreadableInput : .outputFailed
    case let error as TrackError: self = error.code == .unreadable ? .unreadableInput : .badInput
    case let error as FakeStoreFileError:
      switch error.code {
      case .unreadable: self = .unreadableInput
      case .damaged: self = .badInput
      case .unwritable: self = .outputFailed
      }
    default: return nil
    }
  }
}
